"""Every bound at its last allowed value and one beyond."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from bridge.account import Account
from bridge.core import HELD_LIMIT
from bridge.host import EVENTS_WAITING, EventFeed
from bridge.link import Link
from bridge.pending import CALLS_WAITING, PendingTable
from tests.bridge.rig import MemoryWire
from tests.kit.frames import message_event
from tests.kit.protocol_end import ProtocolEnd


async def test_the_feed_of_the_host_holds_its_limit_and_counts_the_next() -> None:
    async def take(_: Any) -> None:
        raise AssertionError("the feed is not running")

    counts: Counter[str] = Counter()
    feed = EventFeed(take, (), counts)
    for _ in range(EVENTS_WAITING):
        feed.offer(b"{}", Account("1"), 0.0)
    assert counts == {}
    feed.offer(b"{}", Account("1"), 0.0)
    assert counts == {"host_events_dropped": 1}


class Asker:
    """A caller that only remembers its failures."""

    linger = 0.0

    def __init__(self) -> None:
        self.failures: list[tuple[str, bool]] = []

    def answered(self, frame: bytes, envelope: Any) -> None:
        raise AssertionError("nothing answers here")

    def failed(self, failure: str, *, written: bool) -> None:
        self.failures.append((failure, written))


async def test_the_table_of_calls_holds_its_limit_and_drains_when_the_link_is_lost() -> None:
    table, link, asker = PendingTable(), Link(MemoryWire(), "x", frames=CALLS_WAITING + 1), Asker()
    for _ in range(CALLS_WAITING):
        table.place(link, str.encode, asker, 60)
    assert (len(table), asker.failures) == (CALLS_WAITING, [])
    table.place(link, str.encode, asker, 60)
    assert asker.failures == [("full", False)]
    table.lose(link)
    assert (len(table), len(asker.failures)) == (0, CALLS_WAITING + 1)
    assert set(asker.failures[1:]) == {("gone", False)}


async def test_a_core_may_hold_its_limit_of_questions_and_the_next_is_refused_at_once(rig: Any) -> None:
    async with ProtocolEnd() as end, rig() as r:
        core = await r.core(greeted=False)
        for number in range(HELD_LIMIT + 1):
            await core.socket.send(json.dumps({"action": "get_login_info", "echo": number}))
        refused = await core.frame()
        assert (refused["echo"], refused["retcode"]) == (HELD_LIMIT, 1429)
        await end.connect_reverse(r.url("/ob11"))
        await core.frame()
        answers = [await core.frame() for _ in range(HELD_LIMIT)]
        assert sorted(answer["echo"] for answer in answers) == list(range(HELD_LIMIT))


@pytest.mark.parametrize(("over", "whole"), [(0, True), (1, False)])
async def test_a_frame_of_exactly_the_limit_of_a_core_passes_whole(rig: Any, over: int, whole: bool) -> None:
    event = {**message_event("10001", "2001", "x"), "message_type": "group", "group_id": 1, "message_id": 1, "time": 1}
    padding = 4096 + over - len(json.dumps({**event, "pad": ""}))
    frame = json.dumps({**event, "pad": "p" * padding})
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}], cores=[{"frame_limit": 4096}]) as r:
        await end.wait_connected()
        core = await r.core()
        assert len(frame) == 4096 + over
        await end.frame(frame)
        await end.group_message(1, 2001, "next")
        assert (await core.raw() == frame) is whole
        assert r.bridge.health()["cores"][0]["guarded"] == over
