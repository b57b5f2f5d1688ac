"""Owns the odds over lists of independent items: sums, extremes, and keeps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from plugins.dice.engine.odds.combine import added, combined, operation
from plugins.dice.engine.odds.keeping import kept_sum
from plugins.dice.engine.odds.weights import STEPS_PER_VALUE, Weights, certain, complete, integers
from plugins.dice.engine.odds.work import Work, digits
from plugins.dice.engine.values import Scalar

Items = tuple[Weights, ...]


def summed(items: Items, bits: int, work: Work) -> Weights:
    """The sum of independent items."""
    act = operation("+", bits, (0, 0), (0, 0))
    return reduce(lambda left, right: combined("+", left, right, act, work), items)


def highest(items: Items, work: Work) -> Weights:
    """The greatest of independent integers: the product of their cumulative counts."""
    found = [complete(item) for item in items]
    bits = sum(item.total.bit_length() for item in found)
    floor = max(min(integers(item)) for item in found)
    values = sorted({value for item in found for value in integers(item) if value >= floor})
    work.charge(len(values) * len(found) * (STEPS_PER_VALUE + digits(bits) / 10))
    reached = [sum(count for value, count in integers(item).items() if value < floor) for item in found]
    counts: dict[Scalar, int] = {}
    before = 0
    for value in values:
        ways = 1
        for at, item in enumerate(found):
            reached[at] += item.counts.get(value, 0)
            ways *= reached[at]
        if ways > before:
            counts[value] = ways - before
        before = ways
    total = 1
    for item in found:
        total *= item.total
    return Weights(counts, total)


def negated(item: Weights) -> Weights:
    """The distribution of minus the value."""
    return Weights({-value: count for value, count in integers(complete(item)).items()}, item.total)


def kept_items(items: Items, keep: int, work: Work) -> Weights:
    """The sum of the `keep` highest items (the `-keep` lowest)."""
    if abs(keep) == len(items):
        return reduce(lambda left, right: added(left, right, work), items)
    if all(item.constant for item in items):
        values = sorted(next(iter(integers(item))) for item in items)
        return certain(sum(values[-keep:] if keep > 0 else values[:-keep]))
    if all(item == items[0] for item in items):
        faces = sorted((value, count) for value, count in integers(complete(items[0])).items())
        ranked = [(count, value) for value, count in (faces if keep > 0 else faces[::-1])]
        return kept_sum(len(items), abs(keep), ranked, work)
    if keep < 0:
        return negated(kept_items(tuple(negated(item) for item in items), -keep, work))
    if keep == 1:
        return highest(items, work)
    return _best_of(items, keep, work)


def _best_of(items: Sequence[Weights], keep: int, work: Work) -> Weights:
    """The sum of the `keep` highest: over all states, a state being the best values so far in order."""
    states: dict[tuple[int, ...], int] = {(): 1}
    total = 1
    for item in items:
        faces = integers(complete(item))
        work.charge(len(states) * len(faces) * (30 + 3 * keep + digits(total.bit_length()) / 10))
        following: dict[tuple[int, ...], int] = {}
        for state, ways in states.items():
            for value, count in faces.items():
                best = tuple(sorted((*state, value), reverse=True)[:keep])
                following[best] = following.get(best, 0) + ways * count
        states = following
        total *= item.total
    counts: dict[Scalar, int] = {}
    for state, ways in states.items():
        value = sum(state)
        counts[value] = counts.get(value, 0) + ways
    return Weights(counts, total)
