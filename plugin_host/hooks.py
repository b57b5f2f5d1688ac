"""Hooks: the only caller of hooks at run time; one implementation after another, none can hurt another.

A plain implementation runs on the event loop (the watchdog interrupts one that never returns); a plain ``startup`` or
``shutdown`` runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from loguru import logger

from plugin_host.calls import ToolCall, ToolResult
from plugin_host.values import Event, Reply
from plugin_host.watch.daemon import AbandonedError, Interrupted, Place, places_of, run_in_daemon, where
from plugin_host.watch.tasks import contained, ended_by_host, log_failure, said

HOOK_LIMIT = 2.0
STARTUP_LIMIT = 5.0
GRACE = 0.2
SLOW_LIMIT = 3
FAILED: Any = object()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Implementation:
    """One plugin's implementation of one hook; ``accepts`` are the arguments it wants; ``owns`` knows its files."""

    plugin: str
    hook: str
    function: Callable[..., Any]
    accepts: tuple[str, ...]
    owns: Callable[[str], bool]

    def call(self, values: dict[str, Any]) -> Any:
        """Call it with those of the values that it accepts."""
        return self.function(*[values[name] for name in self.accepts])

    def place(self, stack: Iterable[Place]) -> tuple[str, int]:
        """The innermost (file, line) of the stack in the plugin's own files, else where the function begins."""
        own = next((place for place in stack if self.owns(place.file)), None)
        if own is not None:
            return own.file, own.line
        return where(self.function)


@dataclass(frozen=True, slots=True)
class HookFailure:
    """An implementation that raised, hung or answered what its hook does not allow."""

    plugin: str
    hook: str
    file: str
    line: int
    reason: str


class Implementations(Protocol):
    """Where Hooks finds what to call."""

    def implementations(self, hook: str) -> list[Implementation]:
        """The implementations of a hook, in load order."""
        ...


class Hooks:
    """One typed method per run-time hook. Nothing that a plugin raises escapes from here.

    An implementation that did not return in time three times in a row is left out until its plugin is loaded anew.
    """

    def __init__(
        self, plugins: Implementations, *, limit: float = HOOK_LIMIT, start_limit: float = STARTUP_LIMIT
    ) -> None:
        self._plugins = plugins
        self._limit = limit
        self._start_limit = start_limit
        self._abandoned: set[asyncio.Task[Any]] = set()
        self._slow: weakref.WeakKeyDictionary[Implementation, int] = weakref.WeakKeyDictionary()
        self.failures: Counter[str] = Counter()

    async def startup(self, host: Any, plugins: Sequence[Implementation] | None = None) -> list[HookFailure]:
        """Start all plugins (or run the given implementations) in load order; returns what failed."""
        found = self._plugins.implementations("startup") if plugins is None else plugins
        return [failure for one in found if (failure := await self._lifecycle(one, host))]

    async def shutdown(self, host: Any, plugins: Sequence[Implementation] | None = None) -> list[HookFailure]:
        """Stop all plugins (or run the given implementations) in reverse load order; returns what failed."""
        found = self._plugins.implementations("shutdown") if plugins is None else plugins
        return [failure for one in reversed(found) if (failure := await self._lifecycle(one, host))]

    def should_handle(self, event: Event) -> bool:
        """The first answer that is not None; True when nobody has an opinion."""
        for one in self._plugins.implementations("should_handle"):
            answer = self._plain(one, {"event": event})
            if isinstance(answer, bool):
                return answer
            if answer is not None and answer is not FAILED:
                self._wrong_answer(one, answer, "True, False or None")
        return True

    async def on_event(self, event: Event) -> None:
        """Show the event to every plugin."""
        for one in self._plugins.implementations("on_event"):
            await self._run(one, {"event": event})

    async def prompt_sections(self, event: Event) -> list[str]:
        """The paragraphs of all plugins, in load order, without empty ones."""
        sections: list[str] = []
        for one in self._plugins.implementations("prompt_sections"):
            answer = await self._run(one, {"event": event})
            if answer is None or answer is FAILED:
                continue
            listed = [answer] if isinstance(answer, str) else answer
            if isinstance(listed, list | tuple) and all(isinstance(section, str) for section in listed):
                sections.extend(section for section in listed if section.strip())
            else:
                self._wrong_answer(one, answer, "str, list of str or None")
        return sections

    async def before_send(self, reply: Reply) -> Reply | None:
        """The reply as the plugins left it; None when one of them dropped it."""
        for one in self._plugins.implementations("before_send"):
            answer = await self._run(one, {"reply": reply})
            if answer is False:
                return None
            if isinstance(answer, Reply) and _same_address(reply, answer):
                reply = answer
            elif answer is not None and answer is not FAILED:
                self._wrong_answer(one, answer, "a Reply to the same addressee, as hidden as before, False or None")
        return reply

    async def call_finished(self, call: ToolCall, result: ToolResult) -> None:
        """Show a finished call to every plugin."""
        for one in self._plugins.implementations("call_finished"):
            await self._run(one, {"call": call, "result": result})

    async def _run(self, one: Implementation, values: dict[str, Any]) -> Any:
        if self._slow.get(one, 0) >= SLOW_LIMIT:
            return None
        answer = self._plain(one, values)
        if not inspect.iscoroutine(answer):
            return answer
        value, failure = await self._awaited(one, answer, self._limit)
        return FAILED if failure else value

    def _was_slow(self, one: Implementation, slow: bool) -> None:
        self._slow[one] = self._slow.get(one, 0) + 1 if slow else 0
        if self._slow[one] == SLOW_LIMIT:
            logger.error(
                "plugin {}: {} was too slow {} times in a row and is left out until it is loaded anew",
                one.plugin, one.hook, SLOW_LIMIT,
            )  # fmt: skip

    def _plain(self, one: Implementation, values: dict[str, Any]) -> Any:
        begun = time.monotonic()
        try:
            return one.call(values)
        except BaseException as error:
            if ended_by_host(error, asyncio.current_task()):
                raise
            self._failed(one, error)
            return FAILED
        finally:
            if (took := time.monotonic() - begun) > self._limit:
                file, line = one.place(())
                logger.warning(
                    "plugin {} held the loop for {:.1f} s in {} ({}:{})", one.plugin, took, one.hook, file, line
                )

    async def _lifecycle(self, one: Implementation, host: Any) -> HookFailure | None:
        if inspect.iscoroutinefunction(one.function):
            return (await self._awaited(one, one.call({"host": host}), self._start_limit))[1]
        name = f"{one.plugin}.{one.hook}"
        try:
            answer = await run_in_daemon(one.call, {"host": host}, limit=self._start_limit, name=name, interrupt=True)
        except AbandonedError as error:
            return self._hung(one, error.stack, self._start_limit)
        except Exception as error:
            return self._failed(one, error)
        if inspect.iscoroutine(answer):
            return (await self._awaited(one, answer, self._start_limit))[1]
        return None

    async def _awaited(
        self, one: Implementation, coroutine: Coroutine[Any, Any, Any], limit: float
    ) -> tuple[Any, HookFailure | None]:
        task: asyncio.Task[Any] = asyncio.ensure_future(contained(coroutine))
        try:
            await asyncio.wait({task}, timeout=limit)
        except asyncio.CancelledError:
            task.cancel()
            raise
        self._was_slow(one, not task.done())
        if not task.done():
            stack = task_stack(task)
            await self._abandon(task)
            return None, self._hung(one, stack, limit)
        error = asyncio.CancelledError("cancelled itself") if task.cancelled() else task.exception()
        return (None, self._failed(one, error)) if error else (task.result(), None)

    async def _abandon(self, task: asyncio.Task[Any]) -> None:
        # asyncio.wait_for would wait for ever for code that swallows its cancellation.
        self._abandoned.add(task)
        task.add_done_callback(self._forget)
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled():
            task.exception()

    def _failed(self, one: Implementation, error: BaseException) -> HookFailure:
        stack = places_of(traceback.extract_tb(error.__traceback__))
        reason = "ran past its limit" if isinstance(error, Interrupted) else said(error)
        return self._note(one, one.place(stack), reason, error)

    def _hung(self, one: Implementation, stack: tuple[Place, ...], limit: float) -> HookFailure:
        return self._note(one, one.place(stack), f"did not return within {limit:g} s")

    def _wrong_answer(self, one: Implementation, answer: Any, expected: str) -> None:
        if inspect.iscoroutine(answer):
            answer.close()
        self._note(one, one.place(()), f"answered {type(answer).__name__}, expected {expected}")

    def _note(
        self, one: Implementation, place: tuple[str, int], reason: str, error: BaseException | None = None
    ) -> HookFailure:
        self.failures[one.plugin] += 1
        failure = HookFailure(one.plugin, one.hook, *place, reason)
        log_failure(error, "plugin {} failed in {} ({}:{}): {}", one.plugin, one.hook, *place, reason)
        return failure


def task_stack(task: asyncio.Task[Any]) -> tuple[Place, ...]:
    """Where a suspended task waits, innermost first, through every coroutine that it awaits."""
    places: list[Place] = []
    waiting: Any = task.get_coro()
    while getattr(waiting, "cr_frame", None) is not None:
        frame = waiting.cr_frame
        places.append(Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        waiting = waiting.cr_await
    return tuple(reversed(places))


def _same_address(old: Reply, new: Reply) -> bool:
    same = (old.session, old.to, old.user_id) == (new.session, new.to, new.user_id)
    return same and (new.hidden or not old.hidden)
