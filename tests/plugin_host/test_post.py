"""Post: events of the host's own making — their rate, their door, their rights."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from plugin_host import post as post_module
from plugin_host.context import CallContext, Effects
from plugin_host.doors.terminal import Terminal
from plugin_host.errors import CallError
from plugin_host.post import EARLY_LIMIT, KEY_LIMIT, RATE, WINDOW
from plugin_host.units import Unit
from plugin_host.values import Outcome, Private
from tests.kit.host_room import DOOR, Capture, HostRoom, MovedClock, ScriptedModel, native, rows, until


class PostRoom(HostRoom):
    """A room whose ``post`` is the face of one plugin."""

    async def post(self, session: Any, text: Any = "", *, plugin: str = "timer", **fields: Any) -> Any:
        return await self.host.post.of(plugin).post(session, text, **fields)


async def test_a_line_is_said_in_its_session(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
        assert await room.post("group:7", "到点了") == "accepted"
        assert await room.post("private:1001", "到点了") == "accepted"
        await room.quiet()
        sent = [(action.action, action.params.get("group_id"), action.source) for action in room.channel.actions]
        assert ("send_group_msg", "7", "notice") in sent
        assert {action.params.get("user_id") for action in room.channel.actions} == {None, "1001"}


async def test_a_key_makes_it_happen_once(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
        said = [await room.post("group:7", "一次", key="timer:1") for _ in range(2)]
        await room.quiet()
        assert (said, room.channel.texts) == (["accepted", "duplicate"], ["一次"])


async def test_so_many_a_minute_and_not_one_more(tmp_path: Path) -> None:
    clock = MovedClock(frozen=True)
    async with PostRoom(tmp_path, clock=clock) as room:
        for number in range(RATE):
            await room.post(f"group:{number}", "x")
        with pytest.raises(CallError, match="每分钟最多 20 条") as refused:
            await room.post("group:7", "x")
        assert refused.value.code == "post_rate"
        clock.ahead = WINDOW
        assert await room.post("group:7", "x") == "accepted"


async def test_it_leaves_by_the_door_where_the_session_was_last_heard(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
        other = Capture("QQ:2")
        room.host.open_door(other)
        await room.say("hi", door="QQ:2", addressed=True)
        await room.post("group:100", "到点了")
        await room.quiet()
        assert (room.channel.texts, other.texts) == ([], ["到点了"])
        with pytest.raises(CallError, match="不知道从哪个账号向 group:7 发送"):
            await room.post("group:7", "x")


async def test_each_plugin_has_its_own_rate_which_outlives_its_reload(tmp_path: Path) -> None:
    async with PostRoom(tmp_path, clock=MovedClock(frozen=True)) as room:
        for number in range(RATE):
            await room.post(f"group:{number}", "x")
        assert await room.post("group:7", "x", plugin="other") == "accepted"
        with pytest.raises(CallError, match="插件 timer 的主动消息太多"):
            await room.host.post.of("timer").post("group:7", "x")


async def test_posts_made_at_once_do_not_pass_the_rate_together(tmp_path: Path) -> None:
    async with PostRoom(tmp_path, clock=MovedClock(frozen=True)) as room:
        async with asyncio.timeout(10):
            made = await asyncio.gather(
                *(room.post(f"group:{number}", "x") for number in range(RATE + 5)), return_exceptions=True
            )
        assert (made.count("accepted"), sum(isinstance(one, CallError) for one in made)) == (RATE, 5)


async def test_a_post_that_fails_does_not_count(tmp_path: Path) -> None:
    async with PostRoom(tmp_path, clock=MovedClock(frozen=True)) as room:
        room.host.open_door(Capture("QQ:2"))
        for _ in range(RATE + 1):
            with pytest.raises(CallError, match="不知道从哪个账号"):
                await room.post("group:7", "x")
        room.host.shut_door("QQ:2")
        assert await room.post("group:7", "x") == "accepted"


async def test_a_session_with_too_much_waiting_refuses_in_words(tmp_path: Path) -> None:
    async with PostRoom(tmp_path, inbox={"session_limit": 1}) as room:
        go = asyncio.Event()

        async def slow() -> str:
            await go.wait()
            return "好"

        room.command(slow, "slow")
        await room.host.receive(room.event(".slow", session="group:7"))
        with pytest.raises(CallError, match="group:7 等待处理的消息太多") as refused:
            await room.post("group:7", "x")
        assert refused.value.code == "refused"
        go.set()
        await room.quiet()


async def test_the_key_and_the_journal_name_the_plugin_and_two_plugins_may_use_one_key(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
        for plugin in ("timer", "other"):
            assert await room.post("group:7", plugin, plugin=plugin, key="k") == "accepted"
        await room.post("group:7", "z")
        await room.quiet()
        assert room.channel.texts == ["timer", "other", "z"]
        lines = [line.entry for line in await room.journal("event.accepted")]
        assert [entry.turn for entry in lines[:2]] == ["plugin:timer:k", "plugin:other:k"]
        assert [entry.payload["from"] for entry in lines[:2]] == ["plugin:timer", "plugin:other"]
        assert lines[2].turn.startswith("plugin:timer:")


async def test_plugins_see_who_posted_an_event(tmp_path: Path) -> None:
    plugin = """
    seen = []

    @hookimpl
    def on_event(event):
        seen.append((event.kind, event.user_id, dict(event.detail)))

    def told() -> str:
        return repr(seen[0])

    @hookimpl
    def register_commands(register):
        register(told, words=("told",))
    """
    async with PostRoom(tmp_path, plugins={"watcher": plugin}) as room:
        await room.post("group:100", "到点了")
        assert await room.say(".told") == [
            "到点了", "('internal', None, {'from': 'plugin:timer', 'say': '到点了', 'source': 'notice'})",
        ]  # fmt: skip


@pytest.mark.parametrize(
    "session", ["", "group", "group:", "100", "Group:1", "group:1\n", "group: 1", "group:1/2", "/group:1", "room:1",
                f"group:{'1' * 65}", 100, None],
)  # fmt: skip
async def test_what_is_no_session_is_refused_in_words(tmp_path: Path, session: Any) -> None:
    async with PostRoom(tmp_path) as room:
        with pytest.raises(CallError, match="会话应写成 group:群号") as refused:
            await room.post(session, "x")
        assert refused.value.code == "wrong_session"
        assert await rows(room.host.database, "select count(*) from events") == [(0,)]


@pytest.mark.parametrize("session", ["group:1", "private:a_B-9", "discord/group:3", f"group:{'1' * 64}"])
async def test_what_is_a_session_is_taken(tmp_path: Path, session: str) -> None:
    async with PostRoom(tmp_path) as room:
        assert await room.post(session, "x") == "accepted"


@pytest.mark.parametrize("given", [{}, {"text": " "}, {"prompt": " "}, {"text": "a", "prompt": "b"}, {"text": 5}])
async def test_a_post_is_either_a_text_or_a_prompt(tmp_path: Path, given: dict[str, Any]) -> None:
    async with PostRoom(tmp_path) as room:
        with pytest.raises(CallError, match="text 和 prompt"):
            await room.post("group:7", **given)


@pytest.mark.parametrize(("key", "taken"), [("k" * KEY_LIMIT, True), ("k" * (KEY_LIMIT + 1), False), ("", False)])
async def test_the_length_of_a_key_is_limited(tmp_path: Path, key: str, taken: bool) -> None:
    async with PostRoom(tmp_path) as room:
        if taken:
            assert await room.post("group:7", "x", key=key) == "accepted"
        else:
            with pytest.raises(CallError, match="key 的长度应为 1–128"):
                await room.post("group:7", "x", key=key)


async def test_after_a_restart_the_door_of_a_session_is_still_known(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        await room.say("hi", door="QQ:2", addressed=True)
    async with PostRoom(tmp_path) as room:
        other = Capture("QQ:2")
        assert await room.post("group:100", "先说") == "accepted"
        room.host.open_door(other)
        await room.post("group:100", "到点了")
        await other.wait(2)
        assert (room.channel.texts, other.texts) == ([], ["先说", "到点了"])


async def test_a_terminal_hears_what_is_posted_to_a_session_of_an_account_that_is_not_here(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        await room.say("hi", addressed=True)
    async with PostRoom(tmp_path) as room:
        room.host.shut_door("QQ:1")
        lines: list[str] = []
        room.host.open_door(Terminal(lines.append))
        await room.post("group:100", "到点了")
        await room.quiet()
        assert lines == ["到点了"]


GREETER = """
    @hookimpl
    async def startup(host):
        for number in range({count}):
            await host.post("group:7", f"第 {{number}} 条")
"""


async def test_what_a_plugin_posts_while_it_starts_waits_for_the_first_door_in_order(tmp_path: Path) -> None:
    async with PostRoom(tmp_path, plugins={"greeter": GREETER.format(count=RATE)}) as room:
        assert "greeter" in room.host.plugins.loader.running
        await room.channel.wait(RATE)
        assert room.channel.texts == [f"第 {number} 条" for number in range(RATE)]


async def test_two_accounts_that_come_at_once_leave_nothing_behind(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
        room.host.shut_door("QQ:1")
        assert await room.post("group:7", "x") == "waiting"
        first, second = Capture("QQ:1"), Capture("QQ:2")
        room.host.open_door(first)
        room.host.open_door(second)
        await first.wait()
        assert (first.texts, second.texts) == (["x"], [])


async def test_so_many_wait_for_the_first_door_and_not_one_more(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
        room.host.shut_door("QQ:1")
        for number in range(EARLY_LIMIT):
            await room.post(f"group:{number // 20}", str(number), plugin=f"p{number % 10}")
        with pytest.raises(CallError, match="还没有账号连上") as refused:
            await room.post("group:7", "x", plugin="late")
        assert refused.value.code == "no_door"
        room.host.open_door(room.channel)
        await room.channel.wait(EARLY_LIMIT)
        assert sorted(room.channel.texts, key=int) == [str(number) for number in range(EARLY_LIMIT)]


async def test_what_waited_enters_as_the_session_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post_module, "EARLY_PAUSE", 0.01)
    async with PostRoom(tmp_path, inbox={"session_limit": 1}) as room:
        room.host.shut_door("QQ:1")
        for number in range(RATE):
            await room.post("group:7", str(number))
        room.host.open_door(room.channel)
        await until(lambda: str(RATE - 1) in room.channel.texts)
        said = [text for text in room.channel.texts if text.isdigit()]
        assert said == [str(number) for number in range(RATE)]


async def test_what_waited_in_vain_is_told_in_the_log(tmp_path: Path) -> None:
    logged: list[str] = []
    sink = logger.add(lambda message: logged.append(message.record["message"]), level="WARNING")
    try:
        async with PostRoom(tmp_path) as room:
            room.host.shut_door("QQ:1")
            await room.post("group:7", "x")
    finally:
        logger.remove(sink)
    assert [line for line in logged if "posted to group:7 is lost: no door" in line]


async def test_a_prompt_starts_a_turn_without_an_asker(tmp_path: Path) -> None:
    model = ScriptedModel([native("who")], "早上好")
    async with PostRoom(tmp_path, model=model, ai={"open_groups": "all"}, masters=["9001"]) as room:
        asked: list[Any] = []

        async def who(ctx: CallContext) -> str:
            """Says who asks."""
            asked.append((ctx.user_id, ctx.level))
            return "nobody"

        room.offer(who)
        await room.host.units.commit(Unit("group:7", DOOR, "setup", 0, Effects(flags={"ai": True})))
        await room.post("group:7", prompt="问早")
        await room.quiet()
        assert room.channel.texts == ["早上好"]
        assert "问早" in model.requests[0].messages[-1].text
        assert asked == [(None, 0)]


async def test_a_prompt_for_a_silent_session_is_ended_without_a_word(tmp_path: Path) -> None:
    async with PostRoom(tmp_path, model=ScriptedModel()) as room:
        await room.post("group:7", prompt="问早", key="k")
        await room.quiet()
        assert room.channel.texts == []
        assert await rows(room.host.database, "select state from events where key = 'plugin:timer:k'") == [("done",)]


async def test_a_refused_private_message_comes_back_as_one_line_in_the_group(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
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
    async with PostRoom(tmp_path, plugins={"teller": plugin}) as room:
        await room.say(".tell 开团了")
        told = {
            action.params["group_id"]: text
            for action, text in zip(room.channel.actions, room.channel.texts, strict=True)
        }
        assert told == {"100": "转达了", "7": "开团了"}
        sessions = await rows(room.host.database, "select distinct session from outbox order by session")
        assert sessions == [("group:100",), ("group:7",)]


async def test_masters_are_told_privately(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
        await room.host.post.to_masters(["9001", "9002"], room.channel.door, "出事了")
        await room.quiet()
        told = sorted((action.params["user_id"], action.action) for action in room.channel.actions)
        assert told == [("9001", "send_private_msg"), ("9002", "send_private_msg")]


async def test_a_host_that_stops_takes_nothing_more(tmp_path: Path) -> None:
    async with PostRoom(tmp_path) as room:
        room.host.post.close()
        with pytest.raises(CallError, match="正在停止"):
            await room.post("group:7", "x")
