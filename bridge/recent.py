"""A bounded memory of keys seen lately."""

from __future__ import annotations

import time
from collections import OrderedDict


class RecentKeys:
    """Remembers at most ``limit`` keys for ``seconds`` (None: until pushed out)."""

    def __init__(self, limit: int, seconds: float | None = None) -> None:
        self._limit = limit
        self._seconds = seconds
        self._keys: OrderedDict[object, float] = OrderedDict()

    def __contains__(self, key: object) -> bool:
        seen = self._keys.get(key)
        return seen is not None and (self._seconds is None or time.monotonic() - seen < self._seconds)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: object) -> bool:
        """Remember a key; False when it is remembered already (then its time is left as it was)."""
        if key in self:
            return False
        self._keys[key] = time.monotonic()
        self._keys.move_to_end(key)
        if len(self._keys) > self._limit:
            self._keys.popitem(last=False)
        return True
