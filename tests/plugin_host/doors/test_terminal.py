"""Terminal: a terminal as a chat — what is printed, when ``say`` is done."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest

from plugin_host import CallContext, Private
from plugin_host.doors import terminal as terminal_module
from plugin_host.doors.terminal import Speaker, Terminal, as_reply, chat, in_words, say
from plugin_host.errors import HostError
from plugin_host.models.demo import DemoModel
from plugin_host.values import Action, Outcome
from tests.kit.bot import cli
from tests.kit.host_room import HostRoom, MovedClock, ScriptedModel

SPEAKER = Speaker("group:100", "1001", "member")


def action(name: str = "send_group_msg", session: str = "group:100", hidden: bool = False, **params: Any) -> Action:
    message = [{"type": "at", "data": {"qq": "7"}}, {"type": "text", "data": {"text": "好"}}]
    return Action("k", session, "terminal:x", name, {"message": message, **params}, hidden, "ai")


def test_an_action_as_the_object_that_say_prints() -> None:
    assert as_reply(action(group_id="100")) == {
        "session": "group:100",
        "to": "group",
        "user_id": None,
        "text": "[at]好",
        "segments": [{"type": "at", "data": {"qq": "7"}}, {"type": "text", "data": {"text": "好"}}],
        "hidden": False,
        "source": "ai",
    }
    private = as_reply(action("send_private_msg", hidden=True, user_id="1001", group_id="100"))
    assert (private["to"], private["user_id"], private["hidden"]) == ("private", "1001", True)


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (action(group_id="100"), "[at]好"),
        (action("send_private_msg", user_id="1001", group_id="100"), "[私聊 → 1001] [at]好"),
        (action("send_private_msg", "private:1001", user_id="1001"), "[at]好"),
    ],
)
def test_what_leaves_the_group_privately_says_so(shown: Action, line: str) -> None:
    assert in_words(as_reply(shown)) == line


async def test_a_terminal_writes_lines_or_json_and_never_refuses() -> None:
    lines: list[str] = []
    plain, as_json = Terminal(lines.append), Terminal(lines.append, as_json=True)
    assert plain.door != as_json.door
    assert plain.door.startswith("terminal:")
    assert await plain.send(action(), 1.0) == Outcome("sent", message_id="1")
    assert await plain.send(action(), 1.0) == Outcome("sent", message_id="2")
    await as_json.send(action(), 1.0)
    assert lines[:2] == ["[at]好"] * 2
    assert json.loads(lines[2]) == as_reply(action())
    assert "好" in lines[2]


def test_a_typed_line_is_addressed_to_the_bot_and_has_a_key_of_its_own() -> None:
    door = Terminal(print)
    clock = MovedClock(frozen=True)
    one, two = (door.event(SPEAKER, ".r", clock) for _ in range(2))
    assert (one.session, one.user_id, one.sender.role, one.text, one.addressed, one.door, one.time) == (
        "group:100", "1001", "member", ".r", True, door.door, clock.now(),
    )  # fmt: skip
    assert one.key != two.key


async def said(room: HostRoom, *texts: str, speaker: Speaker = SPEAKER) -> list[str]:
    lines: list[str] = []
    await say(room.host, Terminal(lines.append), speaker, texts)
    return lines


async def test_each_text_enters_when_the_one_before_is_done(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        seen: list[str] = []

        async def count(ctx: CallContext, rest: str) -> str:
            before = await ctx.store.get("n", 0)
            ctx.store.set("n", before + 1)
            seen.append(rest)
            return f"{rest}：第 {before + 1} 次"

        room.command(count, "n")
        assert await said(room, ".n a", ".n b", ".n c") == ["a：第 1 次", "b：第 2 次", "c：第 3 次"]
        assert seen == ["a", "b", "c"]


async def test_a_hidden_answer_is_printed_as_private(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def hide() -> Private:
            return Private("1D100=42", notice="暗骰")

        room.command(hide, "rh")
        assert await said(room, ".rh") == ["暗骰", "[私聊 → 1001] 1D100=42"]


@pytest.mark.parametrize("mode", ["native", "prompt"])
async def test_a_sentence_ends_in_a_real_tool_call_with_the_demo_model(tmp_path: Path, mode: str) -> None:
    model: Any = DemoModel()
    async with HostRoom(tmp_path, model=model, mode=mode, builtin=True) as room:
        lines = await said(room, "帮我掷 3d6")
        assert lines
        assert all("[演示模型]" in line for line in lines[-1:])
        [call] = await room.journal("tool_call_completed")
        assert call.entry.name == "roll_dice"


async def test_say_ends_when_the_turn_is_over_and_not_before(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, model=ScriptedModel("第一段\f第二段", "后话")) as room:
        assert await said(room, "讲", "再讲") == ["第一段", "第二段", "后话"]
        assert not room.host.turns.busy


async def test_say_gives_up_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_module, "SAY_LIMIT", 0.2)
    async with HostRoom(tmp_path) as room:

        async def forever() -> str:
            await asyncio.Event().wait()
            return ""

        room.command(forever, "forever")
        with pytest.raises(HostError, match=r"0.2 秒内没有处理完"):
            await said(room, ".forever")


STUBBORN = """
import asyncio
from plugin_host import *


async def stubborn() -> str:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


@hookimpl
async def startup(host):
    asyncio.get_running_loop().stubborn = asyncio.ensure_future(stubborn())


@hookimpl
def register_commands(register):
    register(stubborn, words=("stubborn",), timeout=0.1)
"""


async def test_the_program_ends_although_coroutines_of_a_plugin_do_not(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "stubborn.py").write_text(STUBBORN, encoding="utf-8")
    code, out, err = await cli(tmp_path, "say", ".stubborn", timeout=10)
    assert code == 0
    assert out == ".stubborn 没有在 0.1 秒内结束，也停不下来；它是否生效不清楚\n"
    assert "Traceback" not in err
    assert "destroyed" not in err


async def test_chat_reads_lines_to_the_end_and_skips_blank_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(".hi 一\n\n   \n.hi 二\n"))
    async with HostRoom(tmp_path) as room:

        async def hi(rest: str) -> str:
            return f"好 {rest}"

        room.command(hi, "hi")
        lines: list[str] = []
        await chat(room.host, Terminal(lines.append), SPEAKER)
        assert lines == ["好 一", "好 二"]
