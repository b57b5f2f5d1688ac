"""Execution: one plugin function under a time limit and a cancel signal; it never raises for what the function does."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loguru import logger

from plugin_host.calls import Status
from plugin_host.errors import CallError, PermissionDeniedError, UnitOverrunError
from plugin_host.watch.daemon import AbandonedError, Interrupted, run_in_daemon
from plugin_host.watch.tasks import log_failure, refused

GRACE = 0.2


@dataclass(frozen=True, slots=True)
class Ran:
    """How it ended: ``value`` when ok, else ``error_code`` and a Chinese ``sentence`` that may be shown."""

    status: Status
    ms: float
    value: Any = None
    error_code: str = ""
    sentence: str = ""
    abandoned: bool = False

    @property
    def ok(self) -> bool:
        """True when the function returned."""
        return self.status == "ok"


async def execute(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    limit: float,
    cancel: asyncio.Event,
    name: str,
    plugin: str,
) -> Ran:
    """Call ``function(**arguments)``: on the loop when it is async, on a daemon thread of its own otherwise.

    At ``limit`` seconds an async function is cancelled; one that swallows that, and any plain function, is abandoned.
    """
    started = time.monotonic()
    task = asyncio.ensure_future(_call(function, arguments, limit, name))
    stop = asyncio.ensure_future(cancel.wait())
    # A plain function has its own limit on its thread; the margin lets it report where it hangs.
    margin = 0.0 if inspect.iscoroutinefunction(function) else GRACE
    try:
        await asyncio.wait({task, stop}, timeout=limit + margin, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            status: Status = "cancelled" if cancel.is_set() else "timeout"
            return await _give_up(task, status, limit, name, started)
    except asyncio.CancelledError:
        task.cancel()
        raise
    finally:
        stop.cancel()
    return _ended(task, limit, name, plugin, (time.monotonic() - started) * 1000)


async def _call(function: Callable[..., Any], arguments: Mapping[str, Any], limit: float, name: str) -> Any:
    try:
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        value = await run_in_daemon(lambda: function(**arguments), limit=limit, name=name)
        return await value if inspect.isawaitable(value) else value
    except (SystemExit, KeyboardInterrupt) as error:  # out of a task they would end the whole event loop
        raise refused(error) from error


async def _give_up(task: asyncio.Future[Any], status: Status, limit: float, name: str, started: float) -> Ran:
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE)
    ms = (time.monotonic() - started) * 1000
    if not task.done():
        task.add_done_callback(_forget)
        # Nobody holds it any more: that it may be collected while it still waits is no news to anybody.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        logger.error("{} swallowed its cancellation after {:g} s and is abandoned", name, limit)
        sentence = f"{name} 没有在 {_seconds(limit)} 秒内结束，也停不下来；它是否生效不清楚"
        return Ran("unknown_outcome", ms, error_code="abandoned", sentence=sentence, abandoned=True)
    if not task.cancelled():
        task.exception()
    if status == "cancelled":
        return Ran("cancelled", ms, error_code="cancelled", sentence=f"{name} 已被停止")
    return Ran("timeout", ms, error_code="timeout", sentence=f"{name} 超过 {_seconds(limit)} 秒没有结果，已停止")


def _ended(task: asyncio.Future[Any], limit: float, name: str, plugin: str, ms: float) -> Ran:
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is None:
        return Ran("ok", ms, task.result())
    if isinstance(error, AbandonedError):
        logger.error("plugin {}: {}", plugin, error)
        sentence = f"{name} 没有在 {_seconds(limit)} 秒内返回；它是否生效不清楚"
        return Ran("unknown_outcome", ms, error_code="abandoned", sentence=sentence, abandoned=not error.ended)
    return failed(error, name, plugin, ms)


def failed(error: BaseException, name: str, plugin: str, ms: float = 0.0) -> Ran:
    """What an exception of a plugin means: a CallError's sentence is shown, of anything else only that it failed."""
    if isinstance(error, PermissionDeniedError):
        return Ran("denied", ms, error_code=error.code, sentence=_sentence(error, name))
    if isinstance(error, CallError):
        return Ran("error", ms, error_code=error.code, sentence=_sentence(error, name))
    if isinstance(error, Interrupted):
        return Ran("error", ms, error_code="interrupted", sentence=f"{name} 占住了程序，已被打断")
    if isinstance(error, UnitOverrunError):
        logger.error("plugin {}: {}", plugin, error)
        return Ran("error", ms, error_code="unit_overrun", sentence=f"{name} 写数据太久，已撤销")
    if isinstance(error, asyncio.CancelledError):
        return Ran("cancelled", ms, error_code="cancelled", sentence=f"{name} 已被停止")
    log_failure(error, "plugin {} failed in {}", plugin, name)
    return Ran("error", ms, error_code="failed", sentence=_failure(name))


def _failure(name: str) -> str:
    return f"{name} 执行失败（详情见日志）"


def _sentence(error: CallError, name: str) -> str:
    try:
        return str(error)
    except BaseException:  # a plugin's own kind of CallError may raise anything when asked
        return _failure(name)


def _seconds(limit: float) -> str:
    """What is left of a deadline, as a person reads it: 299.998 is 300."""
    return f"{round(limit, 2):g}"


def _forget(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()
