"""LoopWatch: a plugin that holds the event loop is named, interrupted, and switched off at the third time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugin_host.watch.daemon import Interrupted
from plugin_host.watch.loopwatch import REPEAT, LoopWatch
from plugin_host.watch.watchdog import Watchdog
from tests.kit.host_room import HostRoom, until

SPINNER = """
async def spin(ctx: CallContext) -> str:
    "转个不停。"
    while True:
        pass

async def stubborn(ctx: CallContext) -> str:
    "打断一次还不够。"
    for _ in range(2):
        try:
            while True:
                pass
        except BaseException:
            pass
    return "终于"

@hookimpl
def register_commands(register):
    register(spin, words=("spin",))
    register(stubborn, words=("stubborn",))

@hookimpl
def register_tools(register):
    register(spin)
"""
LINES = {5, 6}


async def hi() -> str:
    """Answers."""
    return "好"


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    dog = Watchdog()
    dog.start()
    yield dog
    dog.stop()


def spin_for(seconds: float, source: str = "plugin.py") -> None:
    """Hold the loop in code whose file is ``source``."""
    code = compile("while time.monotonic() < end: pass", source, "exec")
    exec(code, {"time": time, "end": time.monotonic() + seconds})


class Told:
    """What the watch reported."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []

    def __call__(self, plugin: str, file: str, line: int) -> None:
        self.calls.append((plugin, file, line))


def watch(told: Told, limit: float = 0.3) -> LoopWatch:
    return LoopWatch(lambda file: "p" if file == "plugin.py" else None, told, limit)


async def test_code_of_a_plugin_is_interrupted_past_the_limit_and_told_once(
    watchdog: Watchdog, logs: list[str]
) -> None:
    told = Told()
    loopwatch = watch(told)
    loopwatch.start()
    watchdog.add(loopwatch.check)
    begun = time.monotonic()
    with pytest.raises(Interrupted):
        spin_for(5)
    loopwatch.stop()
    assert 0.3 <= time.monotonic() - begun < 2
    await until(lambda: told.calls)
    assert told.calls == [("p", "plugin.py", 1)]
    assert any("plugin p holds the event loop at plugin.py:1 for 0." in line for line in logs)


async def test_within_the_limit_nothing_happens(watchdog: Watchdog) -> None:
    told = Told()
    loopwatch = watch(told, limit=1.0)
    loopwatch.start()
    watchdog.add(loopwatch.check)
    spin_for(0.3)
    loopwatch.stop()
    assert told.calls == []


async def test_code_that_belongs_to_no_plugin_is_left_alone(watchdog: Watchdog) -> None:
    told = Told()
    loopwatch = watch(told, limit=0.1)
    loopwatch.start()
    watchdog.add(loopwatch.check)
    spin_for(0.4, "host.py")
    loopwatch.stop()
    assert told.calls == []


async def test_a_loop_that_beats_is_never_stalled() -> None:
    told = Told()
    loopwatch = watch(told, limit=0.0)
    loopwatch.start()
    await asyncio.sleep(0)
    loopwatch.stop()
    loopwatch.check(time.monotonic() + 1e6)
    assert told.calls == []


async def test_a_second_interrupt_of_the_same_stall_waits_its_turn() -> None:
    assert REPEAT == 0.5
    told = Told()
    loopwatch = watch(told)
    loopwatch.start()
    now = time.monotonic()
    loopwatch._fired = now + 1.0
    loopwatch.check(now + 1.0 + REPEAT - 0.01)
    loopwatch.stop()
    assert told.calls == []


async def test_an_endless_loop_in_a_plugin_ends_within_three_seconds_and_others_answer_again(
    tmp_path: Path, logs: list[str]
) -> None:
    async with HostRoom(tmp_path, plugins={"spinner": SPINNER}) as room:
        room.command(hi, "hi")
        begun = time.monotonic()
        assert await room.say(".spin") == [".spin 占住了程序，已被打断"]
        assert time.monotonic() - begun < 3
        assert await room.say(".hi") == ["好"]
        assert await room.say(".hi", session="group:2") == ["好"]
        [line] = [line for line in logs if "plugin spinner holds the event loop at" in line]
        file, number = line.partition(" at ")[2].partition(" for ")[0].rsplit(":", 1)
        assert (Path(file).name, int(number) in LINES) == ("spinner.py", True)
        assert "spinner" in room.host.plugins.loader.running


async def test_the_third_time_switches_the_plugin_off(tmp_path: Path, logs: list[str]) -> None:
    async with HostRoom(tmp_path, plugins={"spinner": SPINNER}) as room:
        room.command(hi, "hi")
        room.host.plugins._loopwatch._limit = 0.2
        for _ in range(2):
            assert await room.say(".spin") == [".spin 占住了程序，已被打断"]
        assert "spinner" in room.host.plugins.loader.running
        result = await room.call("spin")
        assert (result.status, result.error_code) == ("error", "interrupted")
        await until(lambda: "spinner" not in room.host.plugins.loader.running)
        assert any("spinner held the event loop three times and is switched off" in line for line in logs)
        assert await room.say(".spin") == []
        assert (await room.call("spin")).error_code == "unknown_tool"
        assert await room.say(".hi") == ["好"]


async def test_code_that_swallows_an_interrupt_is_interrupted_again(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, plugins={"spinner": SPINNER}) as room:
        room.host.plugins._loopwatch._limit = 0.2
        assert await room.say(".stubborn") == ["终于"]


async def test_an_endless_loop_in_a_hook_hurts_only_itself(tmp_path: Path) -> None:
    plugin = """
    @hookimpl
    def on_event(event):
        while "转" in event.text:
            pass
    """
    async with HostRoom(tmp_path, plugins={"hook": plugin}) as room:
        room.command(hi, "hi")
        room.host.plugins._loopwatch._limit = 0.2
        assert await room.say(".hi 转") == ["好"]
        assert room.host.plugins.hooks.failures == {"hook": 1}
