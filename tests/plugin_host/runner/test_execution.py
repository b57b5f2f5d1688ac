"""Execution: every way in which a plugin's function can end, and what is said of it."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.errors import CallError, PermissionDeniedError, UnitOverrunError
from plugin_host.runner.execution import Ran, execute, failed
from plugin_host.store.journal import TERMINAL
from plugin_host.watch.daemon import Interrupted
from tests.kit.host_room import HostRoom, until


class OwnError(BaseException):
    """What a plugin may raise to get past ``except Exception``."""


class MuteError(SystemExit):
    """Ends the program also when somebody asks what it says."""

    def __str__(self) -> str:
        raise SystemExit(4)

    __repr__ = __str__


class MuteCallError(CallError):
    """A refusal that ends the program when somebody asks what it says."""

    def __init__(self) -> None:
        super().__init__("")

    def __str__(self) -> str:
        raise SystemExit(4)


class Awkward:
    """A value that ends the program as soon as somebody looks at it."""

    @property
    def __class__(self) -> Any:
        raise SystemExit(5)

    def __repr__(self) -> str:
        raise SystemExit(5)

    __str__ = __repr__


async def run(
    function: Callable[..., Any], limit: float = 5.0, cancel: asyncio.Event | None = None, **arguments: Any
) -> Ran:
    async with asyncio.timeout(10):
        return await execute(
            function, arguments, limit=limit, cancel=cancel or asyncio.Event(), name="工具", plugin="p"
        )


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Lets abandoned threads of the test end with it."""
    opened = threading.Event()
    yield opened
    opened.set()


async def test_a_plain_function_runs_off_the_loop_and_its_value_comes_back() -> None:
    def plain(a: int) -> tuple[int, bool]:
        return a + 1, threading.current_thread() is threading.main_thread()

    ran = await run(plain, a=1)
    assert (ran.status, ran.value, ran.ok) == ("ok", (2, False), True)


async def test_a_coroutine_function_runs_on_the_loop() -> None:
    async def on_loop(a: int) -> tuple[int, bool]:
        return a, threading.current_thread() is threading.main_thread()

    assert (await run(on_loop, a=1)).value == (1, True)


async def test_a_plain_function_may_return_an_awaitable() -> None:
    async def later() -> str:
        return "later"

    assert (await run(lambda: later())).value == "later"


@pytest.mark.parametrize("kind", ["async", "plain"])
@pytest.mark.parametrize(
    ("error", "status", "code", "sentence"),
    [
        (CallError("没有这张卡", code="no_card"), "error", "no_card", "没有这张卡"),
        (PermissionDeniedError("权限不足"), "denied", "permission_denied", "权限不足"),
        (ValueError("secret"), "error", "failed", "工具 执行失败（详情见日志）"),
        (SystemExit(3), "error", "failed", "工具 执行失败（详情见日志）"),
        (KeyboardInterrupt(), "error", "failed", "工具 执行失败（详情见日志）"),
        (GeneratorExit(), "error", "failed", "工具 执行失败（详情见日志）"),
        (OwnError("secret"), "error", "failed", "工具 执行失败（详情见日志）"),
        (MuteError(), "error", "failed", "工具 执行失败（详情见日志）"),
        (MuteCallError(), "error", "call_refused", "工具 执行失败（详情见日志）"),
        (asyncio.CancelledError(), "cancelled", "cancelled", "工具 已被停止"),
    ],
)
async def test_what_a_function_raises_becomes_a_sentence(
    kind: str, error: BaseException, status: str, code: str, sentence: str
) -> None:
    async def asynchronous() -> None:
        raise error

    def plain() -> None:
        raise error

    if kind == "plain" and isinstance(error, asyncio.CancelledError):
        status, code, sentence = "error", "failed", "工具 执行失败（详情见日志）"
    ran = await run(asynchronous if kind == "async" else plain)
    assert (ran.status, ran.error_code, ran.sentence) == (status, code, sentence)
    assert "secret" not in ran.sentence


async def test_a_stray_exception_is_logged_with_the_plugins_name_and_its_traceback(logs: list[str]) -> None:
    async def explode() -> None:
        raise ValueError("secret detail")

    await run(explode)
    [line] = [line for line in logs if "plugin p failed in 工具" in line]
    assert "secret detail" in line
    assert "in explode" in line


async def test_a_coroutine_that_exits_the_program_does_not_end_the_loop() -> None:
    async def leave() -> None:
        sys.exit(3)

    assert (await run(leave)).status == "error"
    assert (await run(lambda: leave())).status == "error"


async def test_a_value_is_handed_on_without_a_look_at_it() -> None:
    class Quiet:
        def __repr__(self) -> str:
            raise SystemExit(5)

        __str__ = __repr__

    value = Quiet()

    async def asynchronous() -> Any:
        return value

    assert (await run(asynchronous)).value is value
    assert (await run(lambda: value)).value is value
    assert (await run(lambda: Awkward())).sentence == "工具 执行失败（详情见日志）"


async def test_a_coroutine_that_sleeps_for_ever_times_out_and_is_really_cancelled() -> None:
    ended = asyncio.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    ran = await run(forever, limit=0.05)
    assert (ran.status, ran.error_code, ran.sentence) == ("timeout", "timeout", "工具 超过 0.05 秒没有结果，已停止")
    assert ended.is_set()
    assert not ran.abandoned


async def test_a_coroutine_that_swallows_its_cancellation_is_abandoned_with_an_unknown_outcome(
    logs: list[str],
) -> None:
    gate = asyncio.Event()

    async def stubborn() -> None:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError("nobody hears this")

    ran = await run(stubborn, limit=0.05)
    gate.set()
    assert (ran.status, ran.error_code, ran.abandoned) == ("unknown_outcome", "abandoned", True)
    assert ran.sentence == "工具 没有在 0.05 秒内结束，也停不下来；它是否生效不清楚"
    assert any("swallowed its cancellation" in line for line in logs)


async def test_a_plain_function_over_its_limit_has_an_unknown_outcome_and_says_where_it_hangs(
    gate: threading.Event, logs: list[str]
) -> None:
    ran = await run(lambda: gate.wait(10), limit=0.05)
    assert (ran.status, ran.error_code, ran.abandoned) == ("unknown_outcome", "abandoned", True)
    assert ran.sentence == "工具 没有在 0.05 秒内返回；它是否生效不清楚"
    assert any("plugin p: 工具 did not return within 0.05 s at" in line for line in logs)


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_cancel_signal_ends_the_call_at_once(kind: str, gate: threading.Event) -> None:
    cancel, started = asyncio.Event(), threading.Event()

    async def asynchronous() -> None:
        started.set()
        await asyncio.Event().wait()

    def plain() -> None:
        started.set()
        gate.wait(10)

    calling = asyncio.create_task(run(asynchronous if kind == "async" else plain, cancel=cancel))
    await until(started.is_set)
    begun = time.monotonic()
    cancel.set()
    ran = await calling
    assert (ran.status, ran.error_code, ran.sentence) == ("cancelled", "cancelled", "工具 已被停止")
    assert time.monotonic() - begun < 1


async def test_the_others_go_on_while_a_plain_function_blocks_its_thread(gate: threading.Event) -> None:
    blocked = asyncio.create_task(run(lambda: gate.wait(10)))
    assert [(await run(lambda n=n: n)).value for n in range(5)] == list(range(5))
    assert not blocked.done()
    gate.set()
    assert (await blocked).value is True


async def test_cancelling_the_caller_cancels_the_function() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def forever() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    calling = asyncio.create_task(run(forever))
    async with asyncio.timeout(5):
        await started.wait()
        calling.cancel()
        await ended.wait()
    assert (await asyncio.wait({calling}, timeout=1))[0] == {calling}
    assert calling.cancelled()


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (Interrupted(), "interrupted", "工具 占住了程序，已被打断"),
        (UnitOverrunError("too long"), "unit_overrun", "工具 写数据太久，已撤销"),
    ],
)
def test_what_the_watchdog_ended_is_said_in_words(error: BaseException, code: str, sentence: str) -> None:
    ran = failed(error, "工具", "p")
    assert (ran.status, ran.error_code, ran.sentence) == ("error", code, sentence)


async def add(a: int) -> str:
    """Adds one."""
    return str(a + 1)


async def test_time_limits_end_each_kind_of_tool_while_others_answer(tmp_path: Path, gate: threading.Event) -> None:
    async with HostRoom(tmp_path) as room:
        released = asyncio.Event()

        async def sleeps() -> str:
            """Sleeps."""
            await asyncio.Event().wait()
            return ""

        async def stubborn() -> str:
            """Swallows its cancellation."""
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            return ""

        def blocks() -> str:
            """Blocks its thread."""
            gate.wait(10)
            return ""

        room.offer(sleeps, stubborn, blocks, timeout=0.5)
        room.offer(add, owner="other")
        calls = [asyncio.create_task(room.call(name, room.ctx())) for name in ("sleeps", "stubborn", "blocks")]
        async with asyncio.timeout(10):
            for number in range(5):
                other = await room.call("add", room.ctx(session="group:2"), a=number)
                assert other.ok
            assert not all(call.done() for call in calls)
            results = await asyncio.gather(*calls)
        released.set()
        assert [(result.status, result.error_code) for result in results] == [
            ("timeout", "timeout"), ("unknown_outcome", "abandoned"), ("unknown_outcome", "abandoned"),
        ]  # fmt: skip
        lines = [line.entry for line in await room.journal(*TERMINAL)]
        ended = sorted(line.payload["status"] for line in lines if line.name != "add")
        assert ended == ["timeout", "unknown_outcome", "unknown_outcome"]


async def test_the_limit_of_the_settings_is_the_longest_a_tool_may_take(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, tools={"timeout": 0.1}) as room:

        async def sleeps() -> str:
            """Sleeps."""
            await asyncio.Event().wait()
            return ""

        room.offer(sleeps, timeout=60)
        assert (await room.call("sleeps")).text == "sleeps 超过 0.1 秒没有结果，已停止"
