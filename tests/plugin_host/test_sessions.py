"""Sessions and lanes: order, who goes on off the lane, what is read once and kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plugin_host import sessions as sessions_module
from plugin_host.sessions import Lane, Sessions
from plugin_host.store.sessions import write_session
from tests.kit.host_room import Store, until


async def test_jobs_run_one_after_another_in_the_order_in_which_they_were_posted() -> None:
    lane = Lane("x", lambda: 5.0)
    seen: list[str] = []

    def job(number: int):
        async def run() -> int:
            seen.append(f"begin {number}")
            # Later jobs are quicker: without a lane they would overtake.
            for _ in range(10 - number):
                await asyncio.sleep(0)
            seen.append(f"end {number}")
            return number

        return run

    async with asyncio.timeout(5):
        assert await asyncio.gather(*(lane.post(job(number)) for number in range(10))) == list(range(10))
    assert seen == [f"{what} {number}" for number in range(10) for what in ("begin", "end")]


async def test_a_job_over_the_limit_goes_on_off_the_lane_and_the_next_one_starts(logs: list[str]) -> None:
    lane = Lane("group:1", lambda: 0.05)
    gate = asyncio.Event()

    async def slow() -> str:
        await gate.wait()
        return "slow"

    async def quick() -> str:
        return "quick"

    first, second = lane.post(slow), lane.post(quick)
    async with asyncio.timeout(5):
        assert await second == "quick"
        assert not first.done()
        assert not lane.idle
        gate.set()
        assert await first == "slow"
        assert await lane.post(quick) == "quick"
        await until(lambda: lane.idle)
    assert any("group:1 goes on off its lane" in line for line in logs)


async def test_a_job_within_the_limit_holds_the_lane() -> None:
    lane = Lane("x", lambda: 5.0)
    gate, seen = asyncio.Event(), []

    async def first() -> None:
        await gate.wait()
        seen.append("first")

    async def second() -> None:
        seen.append("second")

    lane.post(first)
    last = lane.post(second)
    await asyncio.sleep(0)
    assert lane.waiting == 1
    assert seen == []
    gate.set()
    async with asyncio.timeout(5):
        await last
    assert seen == ["first", "second"]


async def test_a_job_that_raises_tells_its_poster_and_stops_nobody() -> None:
    lane = Lane("x", lambda: 5.0)

    async def bad() -> None:
        raise ValueError("boom")

    async def good() -> str:
        return "good"

    first, second = lane.post(bad), lane.post(good)
    async with asyncio.timeout(5):
        with pytest.raises(ValueError, match="boom"):
            await first
        assert await second == "good"


async def test_closing_a_lane_cancels_what_runs_and_what_waits() -> None:
    lane = Lane("x", lambda: 5.0)
    never = asyncio.Event()

    async def wait() -> None:
        await never.wait()

    running, waiting = lane.post(wait), lane.post(wait)
    await asyncio.sleep(0)
    await lane.close()
    done, _ = await asyncio.wait({running, waiting}, timeout=1)
    assert [future.cancelled() for future in done] == [True, True]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path) as opened:
        yield opened


async def test_a_session_is_read_once_and_changed_by_what_commits(store: Store) -> None:
    await store.database.unit(lambda tx: write_session(tx, "group:1", {"level": 1}, {"luck": False}))
    sessions = Sessions(store.database, lambda: 1.0)
    first, second = await asyncio.gather(sessions.get("group:1"), sessions.get("group:1"))
    assert first is second is sessions.awake("group:1")
    assert (first.flags, first.switches) == ({"level": 1}, {"luck": False})
    sessions.committed("group:1", {"ai": True, "level": None}, {"luck": None, "dice": False})
    assert (first.flags, first.switches) == ({"ai": True}, {"dice": False})
    sessions.committed("group:2", {"ai": True}, {})
    assert sessions.awake("group:2") is None


async def test_sessions_of_different_chats_share_nothing(store: Store) -> None:
    sessions = Sessions(store.database, lambda: 1.0)
    one, two = await sessions.get("group:1"), await sessions.get("private:1")
    sessions.committed("group:1", {"ai": True}, {"luck": False})
    assert (two.flags, two.switches) == ({}, {})
    assert one.lane is not two.lane


async def test_over_the_limit_the_longest_unused_idle_session_goes_to_sleep(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions_module, "SESSION_LIMIT", 2)
    sessions = Sessions(store.database, lambda: 1.0)
    for name in ("a", "b"):
        await sessions.get(name)
    assert {session.id for session in sessions} == {"a", "b"}
    await sessions.get("a")
    await sessions.get("c")
    assert {session.id for session in sessions} == {"a", "c"}


@pytest.mark.parametrize("reason", ["turn", "waiting", "pending"])
async def test_a_busy_session_stays_awake(store: Store, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    monkeypatch.setattr(sessions_module, "SESSION_LIMIT", 1)
    sessions = Sessions(store.database, lambda: 1.0)
    busy = await sessions.get("busy")
    setattr(busy, reason, {"turn": object(), "waiting": [object()], "pending": 1}[reason])
    await sessions.get("other")
    assert sessions.awake("busy") is busy
