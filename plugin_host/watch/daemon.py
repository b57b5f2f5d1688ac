"""Plain functions on daemon threads of their own: time limits, where they hang, interruption.

A thread that does not end is abandoned: it never blocks the event loop and never blocks the exit of the interpreter.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import inspect
import linecache
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from plugin_host.errors import HostError
from plugin_host.watch.tasks import said

T = TypeVar("T")

INTERRUPTS = 3
GRACE = 0.2
DECORATORS = 50


class Interrupted(BaseException):
    """Raised inside a thread that ran past its limit. Not an Exception, so that ``except Exception`` lets it pass."""


@dataclass(frozen=True, slots=True)
class Place:
    """One line of a running thread."""

    file: str
    line: int
    function: str


class AbandonedError(HostError):
    """A function did not return within ``limit`` seconds.

    ``stack`` is where it was, innermost first; ``ended`` says that the interruption stopped it: otherwise its thread
    still runs, and whether its effects happen is unknown.
    """

    def __init__(self, name: str, limit: float, stack: tuple[Place, ...], *, ended: bool) -> None:
        self.name = name
        self.limit = limit
        self.stack = stack
        self.ended = ended
        where = f" at {stack[0].file}:{stack[0].line}" if stack else ""
        super().__init__(f"{name} did not return within {limit:g} s{where}")


class DaemonCall(Generic[T]):
    """One call of a plain function on a fresh daemon thread; starts at once, with a copy of the context variables."""

    def __init__(self, function: Callable[..., T], *args: object, name: str) -> None:
        self.name = name
        self.done = threading.Event()
        self._function = function
        self._args = args
        self._value: T
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._listener: Callable[[], object] | None = None
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._main,), name=name, daemon=True)
        self._thread.start()

    def listen(self, listener: Callable[[], object]) -> None:
        """Call ``listener`` from the thread when the function has ended; at once when it already has."""
        with self._lock:
            self._listener = listener
            ended = self.done.is_set()
        if ended:
            listener()

    def result(self) -> T:
        """What the function returned, or its exception; only after ``done``.

        What would end the program (SystemExit, a stray CancelledError) is raised as HostError instead.
        """
        if self._error is None:
            return self._value
        if isinstance(self._error, Exception):
            raise self._error
        raise HostError(f"{self.name} raised {said(self._error)}") from self._error

    def stack(self) -> tuple[Place, ...]:
        """Where the thread is now, innermost first; empty when it has ended."""
        frame = None if self.done.is_set() else sys._current_frames().get(self._thread.ident or 0)
        return places_of(traceback.extract_stack(frame)) if frame is not None else ()

    def interrupt(self) -> None:
        """Raise Interrupted in the thread; code that waits in C sees it only when it comes back to Python."""
        with self._lock:
            if not self.done.is_set():
                interrupt_thread(self._thread.ident or 0)

    def _main(self) -> None:
        try:
            self._run()
        except Interrupted:  # it came between the function's end and here: nobody waits any more
            self._finish()

    def _run(self) -> None:
        try:
            self._value = self._function(*self._args)
        except BaseException as error:
            self._error = error
        self._finish()

    def _finish(self) -> None:
        with self._lock:
            self.done.set()
            listener = self._listener
        if listener is not None:
            listener()


def places_of(frames: traceback.StackSummary) -> tuple[Place, ...]:
    """A stack or traceback as places, innermost first."""
    return tuple(Place(frame.filename, frame.lineno or 0, frame.name) for frame in reversed(frames))


def where(function: Callable[..., object]) -> tuple[str, int]:
    """The file and the line of a function's ``def``, behind its decorators."""
    code = inspect.unwrap(function).__code__
    linecache.checkcache(code.co_filename)
    for line in range(code.co_firstlineno, code.co_firstlineno + DECORATORS):
        if linecache.getline(code.co_filename, line).lstrip().startswith(("def ", "async def ")):
            return code.co_filename, line
    return code.co_filename, code.co_firstlineno


def interrupt_thread(ident: int) -> bool:
    """Raise Interrupted in the thread with that identity at its next Python instruction; False when it is gone."""
    reached: int = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(Interrupted))
    return reached == 1


async def run_in_daemon(
    function: Callable[..., T], *args: object, limit: float | None, name: str, interrupt: bool = False
) -> T:
    """Run a plain function on its own daemon thread and wait for it without holding the event loop.

    ``limit`` is in seconds (None = none). Raises what the function raises, AbandonedError at the limit. When the wait
    is cancelled the thread is abandoned (and interrupted when ``interrupt`` is set).
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    call = DaemonCall(function, *args, name=name)
    call.listen(lambda: _tell(loop, ended))
    try:
        if await _set_within(ended, limit):
            return call.result()
    except asyncio.CancelledError:
        if interrupt:
            call.interrupt()
        raise
    stack = call.stack()
    for _ in range(INTERRUPTS if interrupt else 0):
        call.interrupt()
        if await _set_within(ended, GRACE):
            break
    raise AbandonedError(name, limit or 0.0, stack, ended=call.done.is_set())


def call_with_limit(function: Callable[..., T], *args: object, limit: float, name: str) -> T:
    """As ``run_in_daemon`` with ``interrupt``, but waits without an event loop (it blocks the calling thread)."""
    call = DaemonCall(function, *args, name=name)
    if call.done.wait(limit):
        return call.result()
    stack = call.stack()
    for _ in range(INTERRUPTS):
        call.interrupt()
        if call.done.wait(GRACE):
            break
    raise AbandonedError(name, limit, stack, ended=call.done.is_set())


def _tell(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(ended.set)
    except RuntimeError:  # the loop has closed: nobody waits any more
        return


async def _set_within(event: asyncio.Event, limit: float | None) -> bool:
    try:
        async with asyncio.timeout(limit):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True
