"""The one source of time: UTC unix seconds for what is stored, monotonic seconds for waiting."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """Real time; tests hand in a subclass."""

    def now(self) -> float:
        """Unix seconds, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never jump, for waits and durations."""
        return time.monotonic()


def iso(seconds: float) -> str:
    """Unix seconds as an ISO 8601 UTC time ending in Z, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
