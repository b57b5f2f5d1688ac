"""Post: events of the host's own making — their rate, their door, their rights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plugin_host.context import CallContext, Effects
from plugin_host.errors import CallError
from plugin_host.post import EARLY_LIMIT, RATE, WINDOW, PluginPost
from plugin_host.units import Unit
from plugin_host.values import Outcome, Private
from tests.kit.host_room import DOOR, Capture, HostRoom, MovedClock, ScriptedModel, native, rows


def face(room: HostRoom) -> PluginPost:
    """What one plugin is handed, with a rate of its own each time."""
    return room.host.post.of("p")


async def test_a_line_is_said_in_its_session(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        assert await face(room).post("group:7", "到点了") == "accepted"
        assert await face(room).post("private:1001", "到点了") == "accepted"
        await room.quiet()
        sent = [(action.action, action.params.get("group_id"), action.source) for action in room.channel.actions]
        assert ("send_group_msg", "7", "notice") in sent
        assert {action.params.get("user_id") for action in room.channel.actions} == {None, "1001"}


async def test_a_key_makes_it_happen_once(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        said = [await face(room).post("group:7", "一次", key="timer:1") for _ in range(2)]
        await room.quiet()
        assert (said, room.channel.texts) == (["accepted", "duplicate"], ["一次"])


async def test_so_many_a_minute_and_not_one_more(tmp_path: Path) -> None:
    clock = MovedClock(frozen=True)
    async with HostRoom(tmp_path, clock=clock) as room:
        mine = face(room)
        with pytest.raises(CallError, match="会话应写成"):
            await mine.post("somewhere", "x")
        for number in range(RATE):
            await mine.post(f"group:{number}", "x")
        with pytest.raises(CallError, match="每分钟最多 20 条") as refused:
            await mine.post("group:7", "x")
        assert refused.value.code == "post_rate"
        assert await face(room).post("group:7", "x") == "accepted"
        clock.ahead = WINDOW
        assert await mine.post("group:7", "x") == "accepted"


async def test_it_leaves_by_the_door_where_the_session_was_last_heard(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        other = Capture("QQ:2")
        room.host.open_door(other)
        await room.say("hi", door="QQ:2", addressed=True)
        await face(room).post("group:100", "到点了")
        await room.quiet()
        assert (room.channel.texts, other.texts) == ([], ["到点了"])
        with pytest.raises(CallError, match="不知道从哪个账号向 group:7 发送"):
            await face(room).post("group:7", "x")


async def test_what_is_posted_before_the_first_door_opens_waits_for_it(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        room.host.shut_door(room.channel.door)
        mine = face(room)
        assert await mine.post("group:7", "早") == "waiting"
        room.host.open_door(room.channel)
        await room.channel.wait(1)
        assert room.channel.texts == ["早"]


async def test_no_more_than_a_hundred_wait_for_the_first_door(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        room.host.shut_door(room.channel.door)
        for _ in range(EARLY_LIMIT):
            await face(room).post("group:7", "早")
        with pytest.raises(CallError) as refused:
            await face(room).post("group:7", "早")
        assert refused.value.code == "no_door"


async def test_a_session_is_reached_by_the_door_where_it_was_heard_before_a_restart(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        other = Capture("QQ:2")
        room.host.open_door(other)
        await room.say("hi", door="QQ:2", addressed=True)
        room.host.sessions._awake.clear()
        await face(room).post("group:100", "到点了")
        await room.quiet()
        assert (room.channel.texts, other.texts) == ([], ["到点了"])


async def test_a_plugin_may_post_while_it_starts(tmp_path: Path) -> None:
    plugin = """
    @hookimpl
    async def startup(host):
        await host.post("group:7", "我来了")
    """
    async with HostRoom(tmp_path, plugins={"early": plugin}) as room:
        await room.channel.wait(1)
        assert room.channel.texts == ["我来了"]
        [(payload,)] = await rows(room.host.database, "select payload from journal where type = 'event.accepted'")
        assert '"from": "plugin:early"' in payload


async def test_a_prompt_starts_a_turn_without_an_asker(tmp_path: Path) -> None:
    model = ScriptedModel([native("who")], "早上好")
    async with HostRoom(tmp_path, model=model, ai={"open_groups": "all"}, masters=["9001"]) as room:
        asked: list[Any] = []

        async def who(ctx: CallContext) -> str:
            """Says who asks."""
            asked.append((ctx.user_id, ctx.level))
            return "nobody"

        room.offer(who)
        await room.host.units.commit(Unit("group:7", DOOR, "setup", 0, Effects(flags={"ai": True})))
        await face(room).post("group:7", prompt="问早")
        await room.quiet()
        assert room.channel.texts == ["早上好"]
        assert "问早" in model.requests[0].messages[-1].text
        assert asked == [(None, 0)]


async def test_a_prompt_for_a_silent_session_is_ended_without_a_word(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, model=ScriptedModel()) as room:
        await face(room).post("group:7", prompt="问早", key="k")
        await room.quiet()
        assert room.channel.texts == []
        assert await rows(room.host.database, "select state from events where key = 'plugin:p:k'") == [("done",)]


async def test_a_refused_private_message_comes_back_as_one_line_in_the_group(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        room.channel.answer = lambda a: Outcome("failed" if a.action == "send_private_msg" else "sent")

        async def whisper() -> Private:
            return Private("1D100=42", notice="已私聊", refused="没能私聊送达")

        room.command(whisper, "rh")
        await room.say(".rh")
        await room.channel.wait(3)
        await room.quiet()
        assert room.channel.texts == ["已私聊", "1D100=42", "没能私聊送达"]
        assert room.channel.actions[2].action == "send_group_msg"
        [hidden] = [action for action in room.channel.actions if action.hidden]
        key = hidden.key
        events = await rows(room.host.database, f"select state from events where key = '{key}:failed'")
        assert events == [("done",)]


async def test_a_plugin_reaches_another_session_by_posting_only(tmp_path: Path) -> None:
    plugin = """
    kept = []

    @hookimpl
    def startup(host):
        kept.append(host)

    async def tell(ctx: CallContext, rest: str) -> str:
        await kept[0].post("group:7", rest)
        return "转达了"

    @hookimpl
    def register_commands(register):
        register(tell, words=("tell",))
    """
    async with HostRoom(tmp_path, plugins={"teller": plugin}) as room:
        await room.say(".tell 开团了")
        told = {
            action.params["group_id"]: text
            for action, text in zip(room.channel.actions, room.channel.texts, strict=True)
        }
        assert told == {"100": "转达了", "7": "开团了"}
        sessions = await rows(room.host.database, "select distinct session from outbox order by session")
        assert sessions == [("group:100",), ("group:7",)]


async def test_masters_are_told_privately(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        await room.host.post.to_masters(["9001", "9002"], room.channel.door, "出事了")
        await room.quiet()
        told = sorted((action.params["user_id"], action.action) for action in room.channel.actions)
        assert told == [("9001", "send_private_msg"), ("9002", "send_private_msg")]


async def test_a_host_that_stops_takes_nothing_more(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        room.host.post.close()
        with pytest.raises(CallError, match="正在停止"):
            await face(room).post("group:7", "x")
