"""How long to wait before the next dial."""

from __future__ import annotations

import random


class Backoff:
    """Doubles from ``first`` to ``longest`` seconds with jitter; only ``reset`` brings it back."""

    def __init__(self, first: float, longest: float, chance: random.Random | None = None) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance or random.Random()
        self._next = first

    def next(self) -> float:
        """The seconds to wait now: a quarter more or less than planned, never above ``longest``."""
        planned = self._next
        self._next = min(planned * 2, self._longest)
        return min(planned * self._chance.uniform(0.75, 1.25), self._longest)

    def refused(self) -> float:
        """The seconds to wait after a refused token: the longest, because nothing will change by itself."""
        self._next = self._longest
        return self._longest

    def reset(self) -> None:
        """The last link was healthy."""
        self._next = self._first
