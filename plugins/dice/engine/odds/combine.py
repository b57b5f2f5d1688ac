"""Owns the combination of independent distributions: sums, comparisons, and any operation pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from plugins.dice.engine.arithmetic import ARITHMETIC, COMPARISONS, mixed
from plugins.dice.engine.errors import Span
from plugins.dice.engine.odds.polynomial import product
from plugins.dice.engine.odds.weights import STEPS_PER_VALUE, Weights, complete, cut, integers, listed, mapped
from plugins.dice.engine.odds.work import Work, digits, refusal
from plugins.dice.engine.values import Scalar

Operation = Callable[[Scalar, Scalar], Scalar]

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def operation(sign: str, bits: int, blamed: Span, span: Span) -> Operation:
    """What `sign` does to two values, checked as in a roll."""
    combine = ARITHMETIC[sign]

    def run(left: Scalar, right: Scalar) -> Scalar:
        if isinstance(left, int) and isinstance(right, int):
            return combine(left, right, bits, span)
        return mixed(sign, left, right, blamed, span)

    return run


def combined(sign: str, left: Weights, right: Weights, act: Operation, work: Work) -> Weights:
    """The distribution of `left` `sign` `right`, which are independent."""
    if right.constant:
        return _with_constant(sign, left, next(iter(right.counts)), act, work)
    if left.constant:
        return _from_constant(sign, next(iter(left.counts)), right, act, work)
    if _whole(left) and _whole(right):
        if sign == "+":
            return added(left, right, work)
        if sign == "-":
            return added(left, mapped(right, _negated, work), work)
        if sign in _MIRRORED:
            return _compared(sign, complete(left), complete(right), work)
    return paired(complete(left), complete(right), act, work)


def _whole(weights: Weights) -> bool:
    return all(isinstance(value, int) for value in weights.counts)


def _negated(value: Scalar) -> Scalar:
    assert isinstance(value, int)
    return -value


def _with_constant(sign: str, left: Weights, constant: Scalar, act: Operation, work: Work) -> Weights:
    positive = isinstance(constant, int) and constant > 0
    rising = isinstance(constant, int) and (sign in "+-" or (positive and sign in ("*", "/", "//")))
    settled = _settled(sign, left, constant)
    return mapped(left, lambda value: act(value, constant), work, rising=rising, settled=settled)


def _from_constant(sign: str, constant: Scalar, right: Weights, act: Operation, work: Work) -> Weights:
    rising = isinstance(constant, int) and (sign == "+" or (sign == "*" and constant > 0))
    settled = _settled(sign, right, constant)
    return mapped(right, lambda value: act(constant, value), work, rising=rising, settled=settled)


def _settled(sign: str, weights: Weights, constant: Scalar) -> bool:
    """Whether a comparison with `constant` comes out the same for the whole tail."""
    if not weights.tail or sign not in COMPARISONS or not isinstance(constant, int):
        return False
    top = max(integers(weights))
    if constant > top:
        raise refusal(f"超过 {top} 的可能性极小，没有逐个算出")
    return True


def paired(left: Weights, right: Weights, act: Operation, work: Work) -> Weights:
    """The distribution of `act`, one pair of values after the other."""
    large = digits(max(left.total.bit_length(), right.total.bit_length()))
    work.charge(len(left.counts) * len(right.counts) * (20 + large / 10))
    counts: dict[Scalar, int] = {}
    for value, count in left.counts.items():
        for other, times in right.counts.items():
            to = act(value, other)
            counts[to] = counts.get(to, 0) + count * times
    work.check_values(len(counts))
    return Weights(counts, left.total * right.total)


def added(left: Weights, right: Weights, work: Work) -> Weights:
    """The sum of two independent integers; with tails, as far as it is complete."""
    one, other = integers(left), integers(right)
    low, high, base, top = min(one), max(one), min(other), max(other)
    width = high - low + top - base + 1
    total = left.total * right.total
    if len(one) * len(other) < 2 * width:
        found = paired(left, right, lambda value, more: _sum(value, more), work)
    else:
        work.check_values(width)
        dense = product(_dense(one, low, high), _dense(other, base, top), work)
        found = listed(low + base, dense, total)
    limits = [high + base] * bool(left.tail) + [top + low] * bool(right.tail)
    return cut(found, min(limits)) if limits else found


def _sum(value: Scalar, more: Scalar) -> Scalar:
    assert isinstance(value, int)
    assert isinstance(more, int)
    return value + more


def _dense(counts: dict[int, int], low: int, high: int) -> list[int]:
    return [counts.get(value, 0) for value in range(low, high + 1)]


def repeated(weights: Weights, times: int, work: Work) -> Weights:
    """The sum of `times` independent draws, by squaring."""
    found: Weights | None = None
    square = weights
    while True:
        if times & 1:
            found = square if found is None else added(found, square, work)
        times >>= 1
        if not times:
            assert found is not None
            return found
        square = added(square, square, work)


def _compared(sign: str, left: Weights, right: Weights, work: Work) -> Weights:
    """A comparison of two independent integers by cumulative counts: one pass over both."""
    work.charge((len(left.counts) + len(right.counts)) * 2 * STEPS_PER_VALUE)
    if sign in (">", ">="):
        left, right, sign = right, left, _MIRRORED[sign]
    # Now: how often is left below (or equal to) right?
    ordered = sorted(integers(left).items())
    sums = [0, *accumulate(count for _, count in ordered)]
    true = at = 0
    for value, count in sorted(integers(right).items()):
        while at < len(ordered) and (ordered[at][0] < value or (sign == "<=" and ordered[at][0] == value)):
            at += 1
        true += count * sums[at]
    total = left.total * right.total
    return Weights({value: count for value, count in ((0, total - true), (1, true)) if count}, total)
