"""Dispatcher: which command a line means, who may, what is said when it fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plugin_host import CallContext, CallError, Change, CommandArgs, Private
from plugin_host.store.kept import get_kept, set_kept
from plugin_host.values import Segment
from tests.kit.host_room import DOOR, Capture, HostRoom, ScriptedModel, rows

TERMINAL = "terminal:ab"


def says(text: str) -> Any:
    async def answer(args: CommandArgs) -> str:
        return f"{text}[{args.word}|{args.rest}]"

    return answer


async def states(room: HostRoom) -> list[Any]:
    return await rows(room.host.database, "select state from events order by seq")


async def test_the_longest_word_wins(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        room.command(says("r"), "r", glued=True)
        room.command(says("ra"), "ra", glued=True)
        room.command(says("rat"), "rat")
        assert await room.say(".r3d6") == ["r[r|3d6]"]
        assert await room.say(".ra 侦查") == ["ra[ra|侦查]"]
        assert await room.say(".RA50") == ["ra[ra|50]"]
        assert await room.say(".rat x") == ["rat[rat|x]"]
        assert await room.say(".ratx") == ["ra[ra|tx]"]
        assert await room.say("。rat") == ["rat[rat|]"]


async def test_a_command_that_says_not_mine_leaves_the_line_to_the_next_shorter_word(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def picky(args: CommandArgs) -> Any:
            return "ra" if args.rest.isdigit() else False

        room.command(picky, "ra", glued=True)
        room.command(says("r"), "r", glued=True)
        assert await room.say(".ra50") == ["ra"]
        assert await room.say(".rabc") == ["r[r|abc]"]


async def test_a_line_that_nobody_wants_is_no_command(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def never(args: CommandArgs) -> bool:
            return False

        room.command(never, "never")
        assert await room.say(".never") == []
        assert await states(room) == [("done",)]


@pytest.mark.parametrize(
    ("level", "fields", "said"),
    [
        (50, {}, "权限不足：.kick 需要权限 50，你的权限是 0"),
        (51, {"role": "admin"}, "权限不足：.kick 需要权限 51，你的权限是 50"),
        (50, {"role": "admin"}, "ok[kick|]"),
        (100, {"user": "9001"}, "ok[kick|]"),
    ],
)
async def test_a_command_asks_for_its_level(tmp_path: Path, level: int, fields: dict[str, Any], said: str) -> None:
    async with HostRoom(tmp_path) as room:
        room.command(says("ok"), "kick", level=level)
        assert await room.say(".kick", **fields) == [said]
        [ended] = await room.journal("tool_call_completed", "tool_call_failed")
        assert ended.entry.payload["status"] == ("ok" if said.startswith("ok") else "denied")


async def test_bot_off_silences_all_but_what_always_answers(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        room.command(says("r"), "r", glued=True)
        room.command(says("bot"), "bot", always=True)
        session = await room.host.sessions.get("group:100")
        session.flags["bot"] = False
        assert await room.say(".r d6") == []
        assert await room.say(".bot on") == ["bot[bot|on]"]
        assert await room.say(".r d6", session="group:2") == ["r[r|d6]"]
        assert await states(room) == [("done",)] * 3


async def test_where_the_bot_is_off_a_known_word_is_not_called_unknown(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, model=ScriptedModel()) as room:
        terminal = Capture(TERMINAL)
        room.host.open_door(terminal)
        room.command(says("r"), "r")
        (await room.host.sessions.get("group:100")).flags["bot"] = False
        await room.say(".r d6", door=TERMINAL, addressed=True)
        assert terminal.texts == []
        assert await states(room) == [("done",)]


async def test_an_unknown_word_is_told_in_a_terminal_and_ignored_in_a_group(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        terminal = Capture(TERMINAL)
        room.host.open_door(terminal)
        room.command(says("jrrp"), "jrrp")
        assert await room.say(".jrpp", addressed=True) == []
        await room.say(".jrpp 3", door=TERMINAL, addressed=True)
        await room.say(".zzzz", door=TERMINAL, addressed=True)
        assert terminal.texts == ["没有这个指令：jrpp；相近的有：.jrrp", "没有这个指令：zzzz"]
        assert await states(room) == [("done",)] * 3


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_an_exception_in_a_command_is_one_chinese_line_without_details(
    tmp_path: Path, kind: str, logs: list[str]
) -> None:
    async with HostRoom(tmp_path) as room:

        async def explode(ctx: CallContext) -> str:
            ctx.say("已经说了一半")
            ctx.store.set("half", 1)
            raise RuntimeError("secret detail")

        def plain(ctx: CallContext) -> str:
            raise RuntimeError("secret detail")

        room.command(explode if kind == "async" else plain, "boom")
        assert await room.say(".boom") == [".boom 执行失败（详情见日志）"]
        assert await states(room) == [("done",)]
        assert await rows(room.host.database, "select count(*) from kept") == [(0,)]
        [failed] = await room.journal("tool_call_failed")
        assert failed.entry.payload == {"status": "error", "code": "failed"}
        assert any("plugin test failed in .boom" in line and "secret detail" in line for line in logs)
        room.command(says("r"), "r")
        assert await room.say(".r") == ["r[r|]"]


async def test_what_a_command_refuses_is_said_as_it_is(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def refuse() -> str:
            raise CallError("没有这张卡", code="no_card")

        room.command(refuse, "card")
        assert await room.say(".card") == ["没有这张卡"]
        [failed] = await room.journal("tool_call_failed")
        assert failed.entry.payload["code"] == "no_card"


async def test_a_change_commits_with_its_words_and_a_failing_one_leaves_nothing(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def count(rest: str) -> Change:
            def work(tx: Any) -> int:
                value = int(get_kept(tx, "test", "bot", "bot", "n") or 0) + 1
                set_kept(tx, "test", "bot", "bot", "n", value)
                if rest:
                    raise CallError("不算")
                return value

            return Change(work, lambda value: f"第 {value} 次")

        room.command(count, "count")
        assert await room.say(".count") == ["第 1 次"]
        assert await room.say(".count no") == ["不算"]
        assert await room.say(".count") == ["第 2 次"]
        kinds = [line.entry.type for line in await room.journal() if line.entry.name]
        assert [kind.removeprefix("tool_call_") for kind in kinds] == [
            "started", "completed", "started", "failed", "started", "completed",
        ]  # fmt: skip


async def test_a_change_that_holds_the_writer_is_undone_in_words(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def hold() -> Change:
            def work(tx: Any) -> None:
                set_kept(tx, "test", "bot", "bot", "n", 1)
                while True:
                    pass

            return Change(work, str)

        room.command(hold, "hold")
        assert await room.say(".hold") == [".hold 写数据太久，已撤销"]
        assert await rows(room.host.database, "select count(*) from kept") == [(0,)]


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), KeyError("secret")])
async def test_a_change_that_would_end_the_writer_ends_its_command_only(tmp_path: Path, error: BaseException) -> None:
    async with HostRoom(tmp_path) as room:

        def leave(_: Any) -> Any:
            raise error

        async def work() -> Change:
            return Change(leave, str)

        async def words() -> Change:
            return Change(lambda tx: set_kept(tx, "test", "bot", "bot", "n", 1), leave)

        room.command(work, "work")
        room.command(words, "words")
        room.command(says("r"), "r")
        assert await room.say(".work") == [".work 执行失败（详情见日志）"]
        assert await room.say(".words") == [".words 执行失败（详情见日志）"]
        assert await room.say(".r") == ["r[r|]"]
        assert await rows(room.host.database, "select count(*) from kept") == [(0,)]


async def test_a_private_answer_goes_to_its_asker_and_is_in_no_journal(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def hide() -> Private:
            return Private("1D100=42", notice="小明 暗骰")

        room.command(hide, "rh")
        await room.say(".rh")
        assert [(a.action, a.hidden) for a in room.channel.actions] == [
            ("send_group_msg", False), ("send_private_msg", True),
        ]  # fmt: skip
        assert room.channel.actions[1].params["user_id"] == "1001"
        assert "42" not in str([line.entry.payload for line in await room.journal()])


async def test_a_command_that_never_returns_is_stopped_at_its_limit_and_others_answer_meanwhile(
    tmp_path: Path,
) -> None:
    async with HostRoom(tmp_path, commands={"lane_limit": 0.05}) as room:

        async def forever() -> str:
            await asyncio.Event().wait()
            return ""

        room.command(forever, "forever", timeout=0.5)
        room.command(says("r"), "r")
        await room.host.receive(room.event(".forever"))
        await room.host.receive(room.event(".r"))
        await room.host.receive(room.event(".r", session="group:2"))
        await room.channel.wait(3)
        await room.quiet()
        assert room.channel.texts[2] == ".forever 超过 0.5 秒没有结果，已停止"
        assert sorted(room.channel.texts[:2]) == ["r[r|]", "r[r|]"]


async def test_a_plugin_may_keep_an_event_from_being_handled(tmp_path: Path) -> None:
    plugin = """
    @hookimpl
    def should_handle(event):
        return False if "别" in event.text else None
    """
    async with HostRoom(tmp_path, plugins={"veto": plugin}) as room:
        room.command(says("r"), "r")
        assert await room.say(".r 别") == []
        assert await room.say(".r 好") == ["r[r|好]"]
        assert await states(room) == [("done",)] * 2


async def test_people_mentioned_are_handed_to_the_command(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def whom(args: CommandArgs) -> str:
            return "、".join(args.at)

        room.command(whom, "whom")
        segments = (Segment.text(".whom "), Segment("at", {"qq": "7"}), Segment("at", {"qq": "8"}))
        assert await room.say(".whom", segments=segments) == ["7、8"]


async def test_a_handler_that_breaks_the_store_fails_its_event_and_tells_its_person(
    tmp_path: Path, logs: list[str]
) -> None:
    async with HostRoom(tmp_path) as room:
        handle = room.host.dispatcher.handle

        async def broken(session: Any, event: Any) -> None:
            if event.text == ".r bad":
                raise RuntimeError("host bug")
            await handle(session, event)

        room.host.dispatcher.handle = broken
        room.command(says("r"), "r")
        assert await room.say(".r bad") == ["处理这条消息时出错了（详情见日志）。"]
        assert await room.say(".r good") == ["r[r|good]"]
        assert await states(room) == [("failed",), ("done",)]
        assert any("host bug" in line for line in logs)


async def test_only_prefixes_of_the_settings_open_a_command(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, bot={"prefixes": ["#"]}) as room:
        room.command(says("r"), "r")
        assert await room.say(".r") == []
        assert await room.say("#r") == ["r[r|]"]
        assert room.host.dispatcher.line_of(room.event("#r", kind="notice")) is None
        assert DOOR in room.host.sender.doors
