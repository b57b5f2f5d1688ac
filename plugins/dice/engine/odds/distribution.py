"""Owns Distribution: the exact odds of an expression, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

from plugins.dice.engine.errors import NOWHERE, DiceError
from plugins.dice.engine.odds.weights import Weights
from plugins.dice.engine.values import Number, Scalar


@dataclass(frozen=True, eq=False)
class Distribution:
    """The values of an expression and their exact probabilities.

    `expression` is the text that was read, `rest` what follows it. Exploding dice and pools have no highest
    value: all values up to `maximum` are exact, and `tail` is the exact probability of those above it
    (0 for everything else, always below 1e-6). Moments and `maximum` leave the tail out.

    Questions that need numbers raise DiceError `type` for results that are texts.
    """

    weights: Weights
    expression: str
    rest: str = ""

    @cached_property
    def probabilities(self) -> dict[Scalar, Fraction]:
        """Each value with its probability, in ascending order."""
        total = self.weights.total
        return {value: Fraction(count, total) for value, count in self.ordered.items()}

    @cached_property
    def ordered(self) -> dict[Scalar, int]:
        """Each value with its count of cases, in ascending order; texts come last."""
        counts = self.weights.counts
        return {value: counts[value] for value in sorted(counts, key=_order)}

    @property
    def tail(self) -> Fraction:
        """The probability of all values above `maximum`."""
        return Fraction(self.weights.tail, self.weights.total)

    @cached_property
    def mean(self) -> Fraction:
        """The expected value."""
        listed = self.weights.total - self.weights.tail
        return _exact(sum(_number(value) * count for value, count in self._numbers)) / listed

    @cached_property
    def variance(self) -> Fraction:
        """The expected squared distance from the mean."""
        listed = self.weights.total - self.weights.tail
        squares = _exact(sum(_number(value) ** 2 * count for value, count in self._numbers))
        return squares / listed - self.mean**2

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return sqrt(self.variance)

    @property
    def mode(self) -> Scalar:
        """The likeliest value, the lowest of several."""
        return max(self.ordered.items(), key=lambda item: item[1])[0]

    @property
    def minimum(self) -> Scalar:
        """The lowest value."""
        return next(iter(self.ordered))

    @property
    def maximum(self) -> Scalar:
        """The highest value listed; with a `tail` higher ones exist."""
        return next(reversed(self.ordered))

    def equals(self, value: Scalar) -> Fraction:
        """P(result = value); 0 for values in the tail."""
        return Fraction(self.weights.counts.get(value, 0), self.weights.total)

    def at_least(self, target: Number) -> Fraction:
        """P(result ≥ target). For a target above `maximum` it is the whole tail: an upper bound."""
        found = sum(count for value, count in self._numbers if value >= target)
        return Fraction(found + self.weights.tail, self.weights.total)

    def at_most(self, target: Number) -> Fraction:
        """P(result ≤ target), without the tail."""
        return Fraction(sum(count for value, count in self._numbers if value <= target), self.weights.total)

    def percentile(self, value: Number) -> float:
        """How good `value` is: the percentage of results that are not above it, 0 to 100."""
        return float(self.at_most(value) * 100)

    def quantile(self, share: Fraction | float) -> Number:
        """The lowest value that at least `share` (0 to 1) of all results do not exceed."""
        wanted, found = Fraction(share) * self.weights.total, 0
        for value, count in self._numbers:
            found += count
            if found >= wanted:
                return value
        return self._numbers[-1][0]

    @cached_property
    def _numbers(self) -> list[tuple[Number, int]]:
        return [(_number(value), count) for value, count in self.ordered.items()]


def _number(value: Scalar) -> Number:
    if isinstance(value, str):
        raise DiceError("type", NOWHERE, "结果是文字，没有大小可比")
    return value


def _exact(value: Number) -> Fraction:
    return Fraction(value)


def _order(value: Scalar) -> tuple[bool, Number, str]:
    return (True, 0, value) if isinstance(value, str) else (False, value, "")
