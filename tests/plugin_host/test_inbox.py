"""Inbox: accepted once, in order, up to its limits, with a visible refusal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plugin_host import CallContext
from plugin_host.inbox import SHOWN_AT_ONCE
from plugin_host.values import Sender
from tests.kit.host_room import HostRoom, MovedClock, ScriptedModel, rows, until

REFUSAL = "消息太多，来不及处理，请稍后再试。"


class Gate:
    """A command ``.wait`` that a test holds, and one ``.hi`` that answers at once."""

    def __init__(self, room: HostRoom) -> None:
        self.open = asyncio.Event()
        self.seen: list[str] = []
        room.command(self.wait, "wait")
        room.command(self.hi, "hi")

    async def wait(self, ctx: CallContext, rest: str) -> str:
        await self.open.wait()
        self.seen.append(rest)
        return f"答 {rest}"

    async def hi(self, ctx: CallContext, rest: str) -> str:
        self.seen.append(rest)
        return f"好 {rest}"


async def test_an_event_is_accepted_once_whatever_came_of_it(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        gate = Gate(room)
        event = room.event(".wait x")
        assert [await room.host.receive(event) for _ in range(2)] == ["accepted", "duplicate"]
        gate.open.set()
        await room.quiet()
        assert await room.host.receive(event) == "duplicate"
        await room.quiet()
        assert room.channel.texts == ["答 x"]
        assert dict(room.host.inbox.counts) == {"accepted": 1, "duplicate": 2}
        assert await rows(room.host.database, "select state, attempts, body is null from events") == [("done", 1, 1)]


async def test_twins_that_come_at_once_are_one(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        Gate(room)
        event = room.event(".hi x")
        said = await asyncio.gather(*(room.host.receive(event) for _ in range(10)))
        await room.quiet()
        assert sorted(said) == ["accepted"] + ["duplicate"] * 9
        assert room.channel.texts == ["好 x"]


async def test_the_session_handles_in_the_order_of_acceptance(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        gate = Gate(room)
        await asyncio.gather(*(room.host.receive(room.event(f".hi {n}")) for n in range(30)))
        await room.quiet()
        accepted = await rows(room.host.database, "select key from events order by seq")
        assert gate.seen == [str(n) for n in range(30)]
        assert room.channel.texts == [f"好 {n}" for n in range(30)]
        assert [key.rpartition(":")[2] for (key,) in accepted] == [str(n) for n in range(1, 31)]


async def test_thirty_two_wait_in_a_session_and_the_next_is_refused_visibly(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, commands={"lane_limit": 60}) as room:
        gate = Gate(room)
        taken = [await room.host.receive(room.event(f".wait {n}")) for n in range(32)]
        assert taken == ["accepted"] * 32
        assert await room.host.receive(room.event(".wait 32")) == "refused"
        assert await room.host.receive(room.event(".hi other", session="group:2")) == "accepted"
        await room.channel.wait(2)
        assert sorted(room.channel.texts) == sorted([REFUSAL, "好 other"])
        gate.open.set()
        await room.quiet()
        assert gate.seen == ["other", *(str(n) for n in range(32))]
        assert await room.say(".hi again") == ["好 again"]


async def test_one_refusal_line_a_minute_per_session_but_every_refusal_in_the_log(
    tmp_path: Path, logs: list[str]
) -> None:
    clock = MovedClock(frozen=True)
    async with HostRoom(tmp_path, clock=clock, inbox={"session_limit": 1}, commands={"lane_limit": 60}) as room:
        gate = Gate(room)
        await room.host.receive(room.event(".wait x"))
        for seconds, lines in ((0, 1), (0, 1), (59.9, 1), (60, 2)):
            clock.ahead = seconds
            assert await room.host.receive(room.event(".hi")) == "refused"
            await room.channel.wait(lines)
        await room.host.receive(room.event(".wait x", session="group:2"))
        assert await room.host.receive(room.event(".hi", session="group:2")) == "refused"
        await room.channel.wait(3)
        assert room.channel.texts == [REFUSAL] * 3
        assert sum("too many wait" in line for line in logs) == 5
        gate.open.set()
        await room.quiet()


async def test_all_sessions_together_have_a_limit(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, inbox={"limit": 3}, commands={"lane_limit": 60}) as room:
        gate = Gate(room)
        taken = [await room.host.receive(room.event(".wait x", session=f"group:{n}")) for n in range(4)]
        assert taken == ["accepted"] * 3 + ["refused"]
        gate.open.set()
        await room.quiet()
        assert await room.host.receive(room.event(".wait x", session="group:3")) == "accepted"
        await room.quiet()


async def test_messages_that_wait_for_a_turn_count_among_those_that_wait(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def slow(_: Any) -> str:
        await gate.wait()
        return "答"

    model = ScriptedModel(slow, "都答了", "都答了")
    async with HostRoom(tmp_path, model=model, inbox={"session_limit": 3}) as room:
        private = {"session": "private:1001", "addressed": True}
        await room.host.receive(room.event("第一句", **private))
        await until(lambda: model.requests)
        taken = []
        for number in range(4):
            taken.append(await room.host.receive(room.event(f"第 {number} 句", **private)))
            await asyncio.sleep(0)
        assert taken == ["accepted"] * 3 + ["refused"]
        gate.set()
        await room.quiet()
        assert await rows(room.host.database, "select distinct state from events") == [("done",)]


@pytest.mark.parametrize(
    ("fields", "acceptance"),
    [
        ({"kind": "meta"}, "dropped"),
        ({"kind": "notice"}, "dropped"),
        ({}, "dropped"),
        ({"text": ".nothing"}, "dropped"),
        ({"text": ".hi"}, "accepted"),
        ({"addressed": True}, "accepted"),
    ],
)
async def test_what_nothing_will_come_of_is_dropped_after_the_plugins_saw_it(
    tmp_path: Path, fields: dict[str, Any], acceptance: str
) -> None:
    plugin = """
    seen = []

    @hookimpl
    def on_event(event):
        seen.append(event.key)
    """
    async with HostRoom(tmp_path, plugins={"eyes": plugin}) as room:
        Gate(room)
        event = room.event(**({"text": "闲聊"} | fields))
        assert await room.host.receive(event) == acceptance
        await room.quiet()
        module = room.host.plugins.loader.running["eyes"].implementations[0].function.__globals__
        assert module["seen"] == [event.key]
        stored = await rows(room.host.database, "select count(*) from events")
        assert stored == [(1 if acceptance == "accepted" else 0,)]


async def test_what_is_only_recorded_is_kept_as_a_line_of_the_history(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, model=ScriptedModel("记得")) as room:
        room.host.sessions.committed("group:100", {}, {})
        session = await room.host.sessions.get("group:100")
        session.flags.update(level=1, ai=True)
        await room.say("红色的门", sender=Sender(name="阿强"))
        assert room.channel.texts == []
        assert await room.say("门是什么颜色", addressed=True) == ["记得"]
        last = room.host.models._links[0].model.requests[0].messages
        assert [message.text for message in last[1:]] == ["阿强（1001）：红色的门", "小明（1001）：门是什么颜色"]


SLOW_EYES = """
import asyncio
gate, seen, ended = asyncio.Event(), [], []

@hookimpl
async def on_event(event):
    seen.append(event.text)
    if event.text.startswith("闲聊"):
        await gate.wait()
    ended.append(event.text)
"""


def module_of(room: HostRoom, name: str) -> dict[str, Any]:
    found: dict[str, Any] = room.host.plugins.loader.running[name].implementations[0].function.__globals__
    return found


async def test_a_plugin_that_is_slow_to_look_delays_no_other_event(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, plugins={"eyes": SLOW_EYES}) as room:
        Gate(room)
        eyes = module_of(room, "eyes")
        async with asyncio.timeout(1.5):  # the hook would take its two seconds for each line
            for number in range(10):
                assert await room.host.receive(room.event(f"闲聊 {number}")) == "dropped"
            assert await room.host.receive(room.event(".hi x", session="group:2")) == "accepted"
            await room.channel.wait(1)
        assert room.channel.texts == ["好 x"]
        assert room.host.inbox.busy
        assert eyes["seen"][:10] == [f"闲聊 {number}" for number in range(10)]
        eyes["gate"].set()
        await room.quiet()
        assert len(eyes["ended"]) == 11


async def test_only_so_many_dropped_events_are_shown_at_once_and_the_rest_are_counted(
    tmp_path: Path, logs: list[str]
) -> None:
    async with HostRoom(tmp_path, plugins={"eyes": SLOW_EYES}) as room:
        eyes = module_of(room, "eyes")
        for number in range(SHOWN_AT_ONCE + 2):
            assert await room.host.receive(room.event(f"闲聊 {number}")) == "dropped"
        assert room.host.inbox.unseen == 2
        assert room.host.inbox.counts["dropped"] == SHOWN_AT_ONCE + 2
        eyes["gate"].set()
        await room.quiet()
        assert len(eyes["ended"]) == SHOWN_AT_ONCE
        assert sum("not shown to the plugins" in line for line in logs) == 1
        await room.host.receive(room.event("闲聊 again"))
        await room.quiet()
        assert eyes["ended"][-1] == "闲聊 again"


async def test_a_closed_inbox_shows_nothing_any_more(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, plugins={"eyes": SLOW_EYES}) as room:
        eyes = module_of(room, "eyes")
        await room.host.receive(room.event("闲聊"))
        await until(lambda: eyes["seen"])
        await room.host.inbox.close()
        assert not room.host.inbox.busy
        eyes["gate"].set()
        await room.host.receive(room.event("闲聊 late"))
        await room.quiet()
        assert eyes["ended"] == []
        assert eyes["seen"] == ["闲聊"]


class OwnError(BaseException):
    """What a plugin may raise to get past ``except Exception``."""


@pytest.mark.parametrize("error", [OwnError("x"), KeyboardInterrupt(), SystemExit(3), GeneratorExit(), None])
async def test_an_event_is_ended_whatever_its_handler_raises(
    tmp_path: Path, error: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with HostRoom(tmp_path) as room:
        Gate(room)

        async def handle(*_: Any) -> None:
            raise error or asyncio.CancelledError

        with monkeypatch.context() as patch:
            patch.setattr(room.host.dispatcher, "handle", handle)
            await room.host.receive(room.event(".hi"))
            await room.quiet()
        assert room.channel.texts == ["处理这条消息时出错了（详情见日志）。"]
        assert await rows(room.host.database, "select state from events") == [("failed",)]
        assert await room.say(".hi x") == ["好 x"]


async def test_an_event_whose_end_breaks_too_leaves_the_lane_free(
    tmp_path: Path, logs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with HostRoom(tmp_path) as room:
        Gate(room)

        async def explode(*_: Any) -> None:
            raise OwnError("x")

        with monkeypatch.context() as patch:
            patch.setattr(room.host.dispatcher, "handle", explode)
            patch.setattr(room.host.dispatcher, "fail", explode)
            await room.host.receive(room.event(".hi"))
            await room.quiet()
        assert any("could not even be ended" in line for line in logs)
        assert await room.say(".hi x") == ["好 x"]


async def test_an_event_whose_handler_the_host_cancels_stays_open_for_the_next_start(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, commands={"lane_limit": 60}) as room:
        begun = asyncio.Event()

        async def forever(ctx: CallContext) -> None:
            begun.set()
            await asyncio.Event().wait()

        room.command(forever, "forever")
        await room.host.receive(room.event(".forever"))
        session = room.host.sessions.awake("group:100")
        assert session is not None
        async with asyncio.timeout(5):
            await begun.wait()
            await session.lane.close()
        assert await rows(room.host.database, "select state from events") == [("open",)]
        assert room.channel.texts == []
        assert not room.host.inbox.busy
