"""LoopWatch: notices a stalled event loop, names the plugin that stalls it, and interrupts its Python code."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable

from loguru import logger

from plugin_host.watch.daemon import Interrupted
from plugin_host.watch.watchdog import raise_in

BEAT = 0.2
STALL_LIMIT = 2.0
REPEAT = 0.5


class LoopWatch:
    """A check for the watchdog. ``owner_of(file)`` names the plugin that a source file belongs to, or None."""

    def __init__(
        self,
        owner_of: Callable[[str], str | None],
        interrupted: Callable[[str, str, int], None],
        limit: float = STALL_LIMIT,
    ) -> None:
        self._owner_of = owner_of
        self._interrupted = interrupted
        self._limit = limit
        self._beat = time.monotonic()
        self._fired = 0.0
        self._told = 0.0
        self._thread_id = threading.get_ident()
        self._handle: asyncio.TimerHandle | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to beat on the running loop."""
        self._thread_id = threading.get_ident()
        self.loop = asyncio.get_running_loop()
        self._pulse()

    def stop(self) -> None:
        """Stop beating; checks find nothing any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._beat = float("inf")

    def check(self, now: float) -> None:
        """Called by the watchdog's thread."""
        beat = self._beat
        if now - beat <= self._limit or now - self._fired < REPEAT:
            return
        found = self._culprit()
        if found is None or self._beat != beat:
            return
        self._fired = now
        plugin, file, line = found
        raise_in(self._thread_id, Interrupted)
        if self._told != beat:
            self._told = beat
            logger.error("plugin {} holds the event loop at {}:{} for {:.1f} s", plugin, file, line, now - beat)
            self._interrupted(plugin, file, line)

    def _culprit(self) -> tuple[str, str, int] | None:
        frame = sys._current_frames().get(self._thread_id)
        while frame is not None:
            plugin = self._owner_of(frame.f_code.co_filename)
            if plugin is not None:
                return plugin, frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back
        return None

    def _pulse(self) -> None:
        self._beat = time.monotonic()
        self._handle = asyncio.get_running_loop().call_later(BEAT, self._pulse)
