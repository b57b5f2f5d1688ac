"""Tasks that plugins spawn: none of them ends the event loop."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plugin_host.errors import HostError
from plugin_host.watch.tasks import Contained, contain_tasks, log_failure, said

PLUGIN = """
import asyncio
gate = asyncio.Event()

async def ends(error):
    raise error

async def later(error):
    await asyncio.sleep(0)
    raise error

async def value():
    await asyncio.sleep(0)
    return 7

async def forever():
    await gate.wait()

async def inner():
    return asyncio.create_task(later(SystemExit(9)))

async def waits(error):
    return await asyncio.wait_for(later(error), 5)
"""


class Plugin:
    """A compiled plugin file; ``owner_of`` knows it while it runs."""

    def __init__(self, folder: Path) -> None:
        self.file = str(folder / "evil.py")
        self.runs = True
        self.code: dict[str, Any] = {}
        exec(compile(textwrap.dedent(PLUGIN), self.file, "exec"), self.code)

    def owner_of(self, file: str) -> str | None:
        return "evil" if self.runs and file == self.file else None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = self.code[name]
        return found


@pytest.fixture
async def plugin(tmp_path: Path) -> Any:
    made = Plugin(tmp_path)
    loop = asyncio.get_running_loop()
    contain_tasks(loop, made.owner_of)
    yield made
    loop.set_task_factory(None)


@pytest.mark.parametrize("function", ["ends", "later", "waits"])
@pytest.mark.parametrize("error", [SystemExit(9), KeyboardInterrupt("x")])
async def test_a_task_that_would_end_the_program_fails_and_is_named(
    plugin: Any, function: str, error: BaseException, logs: list[str]
) -> None:
    task = asyncio.create_task(getattr(plugin, function)(error), name="its name")
    async with asyncio.timeout(5):
        with pytest.raises(HostError, match="plugin evil tried to end the program") as caught:
            await task
    assert isinstance(caught.value.__cause__, type(error))
    assert task.get_name() == "its name"
    assert any(f"plugin evil tried to end the program ({type(error).__name__}" in line for line in logs)


async def test_a_task_spawned_by_a_task_and_left_alone_does_not_end_the_loop(plugin: Any, logs: list[str]) -> None:
    async with asyncio.timeout(5):
        spawned = await asyncio.create_task(plugin.inner())
        await asyncio.wait({spawned})
    assert isinstance(spawned.exception(), HostError)


async def test_a_plugin_that_was_dropped_is_still_contained(plugin: Any) -> None:
    task = asyncio.create_task(plugin.later(SystemExit(9)))
    plugin.runs = False
    async with asyncio.timeout(5):
        with pytest.raises(HostError, match="plugin evil"):
            await task
        with pytest.raises(HostError, match="plugin evil"):
            await asyncio.create_task(plugin.later(SystemExit(9)))


async def test_foreign_code_that_runs_plugin_code_is_contained(plugin: Any) -> None:
    library: dict[str, Any] = {}
    exec(compile("async def calls(f, e):\n    return await f(e)\n", "/lib/library.py", "exec"), library)
    async with asyncio.timeout(5):
        with pytest.raises(HostError, match="plugin evil"):
            await asyncio.create_task(library["calls"](plugin.later, SystemExit(1)))


async def test_results_errors_and_cancellation_pass_through(plugin: Any) -> None:
    async with asyncio.timeout(5):
        assert await asyncio.create_task(plugin.value()) == 7
        with pytest.raises(ValueError, match="x"):
            await asyncio.create_task(plugin.later(ValueError("x")))
        for early in (True, False):
            task = asyncio.create_task(plugin.forever())
            if not early:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


async def test_an_error_that_cannot_be_read_is_contained_too(plugin: Any) -> None:
    class MuteError(SystemExit):
        def __str__(self) -> str:
            raise SystemExit(4)

    async with asyncio.timeout(5):
        with pytest.raises(HostError, match="MuteError"):
            await asyncio.create_task(plugin.later(MuteError()))


async def test_the_tasks_of_the_host_are_not_wrapped(plugin: Any) -> None:
    from plugin_host.watch.daemon import run_in_daemon

    task = asyncio.create_task(run_in_daemon(lambda: 3, limit=5, name="x"))
    assert not isinstance(task.get_coro(), Contained)
    async with asyncio.timeout(5):
        assert await task == 3
    theirs = asyncio.create_task(plugin.value())
    assert isinstance(theirs.get_coro(), Contained)
    assert await theirs == 7


async def test_a_contained_coroutine_shows_where_it_waits(plugin: Any) -> None:
    task = asyncio.create_task(plugin.forever())
    await asyncio.sleep(0)
    [frame] = task.get_stack()
    assert frame.f_code.co_name == "forever"
    assert "forever" in repr(task)
    plugin.code["gate"].set()
    await task


def test_what_an_error_says_never_raises() -> None:
    class BadError(Exception):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    assert said(ValueError("x")) == "ValueError: x"
    assert said(BadError()) == "BadError"


def test_an_exception_that_cannot_be_written_out_is_logged_without_its_traceback(logs: list[str]) -> None:
    class MuteError(SystemExit):
        def __repr__(self) -> str:
            raise SystemExit(4)

    error = MuteError()
    try:
        raise error
    except MuteError:
        log_failure(error, "plugin {} failed", "p")  # the test's log writes out the value of every variable
    assert any("plugin p failed" in line for line in logs)
