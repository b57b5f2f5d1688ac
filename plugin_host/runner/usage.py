"""MinuteUse: how often each tool was called in a session within the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from plugin_host.clock import Clock

WINDOW = 60.0
CALL_LIMIT = 2_000


class MinuteUse:
    """A bounded sliding window per session."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: dict[str, deque[tuple[float, str]]] = {}

    def add(self, session: str, tool: str) -> None:
        """A call happens now."""
        self._calls.setdefault(session, deque(maxlen=CALL_LIMIT)).append((self._clock.monotonic(), tool))

    def of(self, session: str) -> Mapping[str, int]:
        """Calls by tool name in the last 60 seconds."""
        calls = self._calls.get(session)
        if not calls:
            return {}
        horizon = self._clock.monotonic() - WINDOW
        while calls and calls[0][0] < horizon:
            calls.popleft()
        if not calls:
            del self._calls[session]
        counts: dict[str, int] = {}
        for _, tool in calls:
            counts[tool] = counts.get(tool, 0) + 1
        return counts
