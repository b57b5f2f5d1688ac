"""Watchdog: one thread that notices work which holds a thread too long, names it, and interrupts pure-Python code."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

from plugin_host.watch.daemon import Interrupted

TICK = 0.05
REPEAT = 0.25


def raise_in(thread_id: int, exception: type[BaseException] | None) -> None:
    """Make ``exception`` surface in another thread at its next bytecode; None withdraws one that has not surfaced."""
    target = ctypes.py_object(exception) if exception is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), target)


class Watch:
    """One watched thread: ``begin`` and ``end`` bracket a piece of work that must not last longer than ``limit`` s.

    ``on_overrun(owner)`` is called once per piece of work; the interrupt is repeated while the work goes on, because
    code that it meets in a finalizer or in a bare ``except`` swallows it.
    """

    def __init__(self, thread_id: int, limit: float, on_overrun: Callable[[str], None]) -> None:
        self._thread_id = thread_id
        self._limit = limit
        self._on_overrun = on_overrun
        self._lock = threading.Lock()
        self._started: float | None = None
        self._fired_at = 0.0
        self.fired = False
        self._owner = ""

    def begin(self, owner: str) -> None:
        """The work of ``owner`` starts now."""
        self.fired = False
        self._owner = owner
        self._started = time.monotonic()

    def end(self) -> None:
        """The work is over; an interrupt that has not surfaced yet is withdrawn. May be called twice."""
        with self._lock:
            self._started = None
            if self.fired:
                raise_in(self._thread_id, None)

    @property
    def overdue(self) -> bool:
        """True from the first interrupt until the work ends."""
        return self.fired and self._started is not None

    def check(self, now: float) -> None:
        """Called by the watchdog's thread."""
        with self._lock:
            if self._started is None or now - self._started <= self._limit:
                return
            told = self.fired
            if told and now - self._fired_at < REPEAT:
                return
            self.fired, self._fired_at = True, now
            raise_in(self._thread_id, Interrupted)
        if not told:
            self._on_overrun(self._owner)


class Watchdog:
    """The thread itself; ``add`` takes anything with a ``check(now)``."""

    def __init__(self) -> None:
        self._checks: list[Callable[[float], None]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, check: Callable[[float], None]) -> None:
        """Call ``check(monotonic seconds)`` about twenty times a second."""
        self._checks.append(check)

    def start(self) -> None:
        """Start the thread; does nothing when it runs."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _run(self) -> None:
        while not self._stop.wait(TICK):
            now = time.monotonic()
            for check in tuple(self._checks):
                check(now)
