"""Owns Weights: a distribution as integer counts over one total, and how values are mapped and mixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import lcm

from plugins.dice.engine.odds.work import Work, digits, refusal
from plugins.dice.engine.values import Scalar

# Counts of this many bits cost as much to scale and add as the dictionary they are kept in.
STEPS_PER_VALUE = 6


@dataclass(frozen=True, slots=True)
class Weights:
    """`counts` holds how many of `total` equally likely cases give each value; none is 0.

    `tail` is the rest of the cases: their values are integers above every counted one.
    """

    counts: dict[Scalar, int]
    total: int
    tail: int = 0

    @property
    def constant(self) -> bool:
        """Whether only one value is possible."""
        return len(self.counts) == 1 and not self.tail


def certain(value: Scalar) -> Weights:
    """The distribution of a constant."""
    return Weights({value: 1}, 1)


def listed(start: int, counts: Sequence[int], total: int, tail: int = 0) -> Weights:
    """The distribution that gives the values from `start` on these counts."""
    return Weights({value: count for value, count in enumerate(counts, start) if count}, total, tail)


def integers(weights: Weights) -> dict[int, int]:
    """The counts, whose values must be integers; DiceError `odds` otherwise."""
    if not all(isinstance(value, int) for value in weights.counts):
        raise refusal("这里的结果不都是整数，无法计算概率")
    return weights.counts  # type: ignore[return-value]


def complete(weights: Weights) -> Weights:
    """`weights` unless it has a tail; DiceError `odds` then."""
    if weights.tail:
        raise refusal("会爆骰或加骰的结果没有上限，不能用在这里")
    return weights


def mapped(
    weights: Weights, change: Callable[[Scalar], Scalar], work: Work, *, rising: bool = False, settled: bool = False
) -> Weights:
    """The distribution of `change` of the value.

    A tail stays one if `change` is `rising` (never falls), and is one more value if it is `settled`: if all
    integers above the highest value are changed to the same. Raises DiceError `odds` for other tails.
    """
    work.charge(STEPS_PER_VALUE * len(weights.counts))
    counts: dict[Scalar, int] = {}
    for value, count in weights.counts.items():
        to = change(value)
        counts[to] = counts.get(to, 0) + count
    if not weights.tail:
        return Weights(counts, weights.total)
    first = change(max(integers(weights)) + 1)
    if settled:
        counts[first] = counts.get(first, 0) + weights.tail
        return Weights(counts, weights.total)
    if rising and isinstance(first, int):
        return cut(Weights(counts, weights.total, weights.tail), first - 1)
    return complete(weights)


def cut(weights: Weights, highest: int) -> Weights:
    """`weights` with all values above `highest` in the tail."""
    counts: dict[Scalar, int] = {value: count for value, count in integers(weights).items() if value <= highest}
    if not counts:
        raise refusal("会爆骰或加骰的结果没有上限，不能用在这里")
    return Weights(counts, weights.total, weights.total - sum(counts.values()))


def mixture(parts: Iterable[tuple[int, Weights]], work: Work) -> Weights:
    """The distribution that is each part in `weight` of all weights' cases."""
    found = list(parts)
    if len(found) == 1:
        return found[0][1]
    common = lcm(*(part.total for _, part in found))
    limits = [max(integers(part)) for _, part in found if part.tail]
    counts: dict[Scalar, int] = {}
    tail = 0
    for weight, part in found:
        scale = weight * (common // part.total)
        work.charge(len(part.counts) * (STEPS_PER_VALUE + digits(common.bit_length()) / 20))
        for value, count in part.counts.items():
            counts[value] = counts.get(value, 0) + scale * count
        tail += scale * part.tail
    work.check_values(len(counts))
    mixed = Weights(counts, sum(weight for weight, _ in found) * common, tail)
    return cut(mixed, min(limits)) if limits else mixed
