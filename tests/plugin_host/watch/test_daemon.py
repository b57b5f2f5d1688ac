"""Daemon threads: values, exceptions, limits, interruption, exit."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest

from plugin_host.errors import HostError
from plugin_host.watch.daemon import AbandonedError, Interrupted, call_with_limit, interrupt_thread, run_in_daemon

NAME = contextvars.ContextVar("NAME", default="nobody")


def spin() -> None:
    while True:
        pass


def fail(error: BaseException) -> None:
    raise error


async def test_the_value_comes_back() -> None:
    assert await run_in_daemon(lambda a, b: a + b, 1, 2, limit=5, name="sum") == 3


async def test_the_function_sees_the_context_variables_of_its_caller() -> None:
    NAME.set("alice")
    assert await run_in_daemon(NAME.get, limit=5, name="get") == "alice"


async def test_it_runs_on_a_daemon_thread_with_the_name() -> None:
    thread: Any = await run_in_daemon(threading.current_thread, limit=5, name="a name")
    assert (thread.daemon, thread.name) == (True, "a name")


async def test_the_exception_comes_back() -> None:
    with pytest.raises(KeyError, match="x"):
        await run_in_daemon(fail, KeyError("x"), limit=5, name="fail")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), Interrupted()])
async def test_what_would_end_the_program_comes_back_as_a_host_error(error: BaseException) -> None:
    with pytest.raises(HostError, match=type(error).__name__):
        await run_in_daemon(fail, error, limit=5, name="fail")


async def test_a_sleeping_thread_is_abandoned_at_the_limit_and_named_with_its_line() -> None:
    release = threading.Event()
    with pytest.raises(AbandonedError) as caught:
        await run_in_daemon(release.wait, 30, limit=0.05, name="sleeper")
    release.set()
    assert caught.value.ended is False
    assert any(place.file == threading.__file__ and place.line > 0 for place in caught.value.stack)


async def test_the_loop_goes_on_while_a_thread_computes() -> None:
    ticks = 0
    running = asyncio.ensure_future(run_in_daemon(spin, limit=0.3, name="spin", interrupt=True))
    while not running.done():
        ticks += 1
        await asyncio.sleep(0.01)
    assert ticks > 5
    assert isinstance(running.exception(), AbandonedError)


async def test_an_endless_loop_is_interrupted_and_its_line_is_known() -> None:
    with pytest.raises(AbandonedError) as caught:
        await run_in_daemon(spin, limit=0.1, name="spin", interrupt=True)
    assert caught.value.ended
    first = spin.__code__.co_firstlineno
    assert caught.value.stack[0].file == __file__
    assert caught.value.stack[0].line in (first + 1, first + 2)


async def test_without_interrupt_the_thread_goes_on() -> None:
    stop = threading.Event()
    ended = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            pass
        ended.set()

    with pytest.raises(AbandonedError):
        await run_in_daemon(busy, limit=0.05, name="busy")
    assert not ended.is_set()
    stop.set()
    assert ended.wait(5)


async def test_cancelling_the_wait_interrupts_the_thread() -> None:
    ended = threading.Event()

    def busy() -> None:
        try:
            spin()
        finally:
            ended.set()

    task = asyncio.ensure_future(run_in_daemon(busy, limit=None, name="busy", interrupt=True))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.wait(5)


def test_the_plain_form_returns_raises_and_limits() -> None:
    assert call_with_limit(len, "abc", limit=5, name="len") == 3
    with pytest.raises(ValueError, match="no"):
        call_with_limit(fail, ValueError("no"), limit=5, name="fail")
    begun = time.monotonic()
    with pytest.raises(AbandonedError) as caught:
        call_with_limit(spin, limit=0.1, name="spin")
    assert caught.value.ended
    assert time.monotonic() - begun < 5


def test_code_that_swallows_the_interruption_is_abandoned() -> None:
    stop = threading.Event()

    def stubborn() -> None:
        while not stop.is_set():
            try:
                spin_until(stop)
            except BaseException:
                continue

    with pytest.raises(AbandonedError) as caught:
        call_with_limit(stubborn, limit=0.05, name="stubborn")
    stop.set()
    assert caught.value.ended is False


def spin_until(stop: threading.Event) -> None:
    while not stop.is_set():
        pass


def test_interrupting_a_thread_that_has_gone_says_so() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join(5)
    assert interrupt_thread(thread.ident or 0) is False


def test_an_abandoned_thread_does_not_block_the_exit() -> None:
    code = """
        import time
        from plugin_host.watch.daemon import AbandonedError, call_with_limit
        try:
            call_with_limit(time.sleep, 60, limit=0.05, name="sleeper")
        except AbandonedError:
            print("left")
    """
    shown = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=20
    )
    assert shown.stdout.strip() == "left"
