"""Strikes: the third one counts, and loading anew forgives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugin_host.runner.strikes import Strikes
from tests.kit.host_room import HostRoom


def test_the_third_abandoned_call_shuts_a_plugin_and_no_other() -> None:
    strikes = Strikes()
    for _ in range(2):
        strikes.abandoned("bad")
    strikes.abandoned("other")
    assert strikes.shut == frozenset()
    strikes.abandoned("bad")
    assert strikes.shut == {"bad"}


def test_the_third_interruption_is_one_too_many() -> None:
    strikes = Strikes()
    assert [strikes.interrupted("bad") for _ in range(3)] == [False, False, True]
    assert not strikes.interrupted("other")
    assert strikes.shut == frozenset()


def test_loading_anew_forgives_both() -> None:
    strikes = Strikes()
    for _ in range(3):
        strikes.abandoned("bad")
        strikes.interrupted("bad")
    strikes.clear("bad")
    strikes.clear("never heard of")
    assert strikes.shut == frozenset()
    assert not strikes.interrupted("bad")


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


async def add(a: int) -> str:
    """Adds one."""
    return str(a + 1)


async def test_three_abandoned_calls_shut_the_plain_functions_of_a_plugin_until_it_is_loaded_anew(
    tmp_path: Path, gate: threading.Event
) -> None:
    async with HostRoom(tmp_path) as room:

        def blocks(number: int) -> str:
            """Blocks its thread."""
            gate.wait(10)
            return ""

        room.offer(blocks, timeout=0.05)
        room.offer(add)
        room.offer(lambda: "", name="plain", description="Plain.", owner="other")
        found = [(await room.call("blocks", room.ctx(), number=n)).error_code for n in range(4)]
        assert found == ["abandoned", "abandoned", "abandoned", "source_shut"]
        assert (await room.call("add", a=1)).ok
        assert (await room.call("plain")).ok
        room.host.plugins.strikes.clear("test")
        gate.set()
        assert (await room.call("blocks", room.ctx(), number=9)).ok
