"""An AI turn over real sockets: a group message at the protocol end, a scripted model endpoint, an action back."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.kit.bot import Bot, cli_json
from tests.kit.frames import at, text
from tests.kit.model_server import Answer, ModelServer
from tests.kit.protocol_end import ProtocolEnd, texts

MASTER, ADMIN, PLAYER, GROUP = "9001", "2001", "1001", "500"
VARIES = ("origin", "id", "key", "age", "roll_id", "value", "dice")
FENCE = '```function\n[{"name": "roll_dice", "arguments": {"expression": "3d6"}}]\n```'


def config(end: ProtocolEnd, model: ModelServer, mode: str = "native", **more: Any) -> dict[str, Any]:
    return {
        "masters": [MASTER],
        "bridge": {"listen": "127.0.0.1:0", "protocol": [{"url": end.url}]},
        "models": {
            "connections": [{"name": "local", "base_url": model.base_url, "api_key": "k"}],
            "uses": {"chat": ["local:scripted"]},
            "tools": {"local:scripted": mode},
        },
        **more,
    }


async def switch_on(end: ProtocolEnd) -> None:
    """The way of a new group: an admin is refused, the master allows, the admin switches on."""
    await end.wait_connected()
    await end.group_message(GROUP, ADMIN, ".ai on", role="admin")
    assert "请骰主先在这里发送 .ai allow" in (await end.wait_sent(1))[-1].text
    await end.group_message(GROUP, MASTER, ".ai allow")
    assert "已准许" in (await end.wait_sent(2))[-1].text
    await end.group_message(GROUP, ADMIN, ".ai on", role="admin")
    assert "AI 已开启" in (await end.wait_sent(3))[-1].text


async def one_turn(tmp_path: Path, mode: str) -> tuple[list[Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """(sent actions of the turn, its journal, the model's requests) of ``@bot 帮我掷 3d6``."""
    async with ProtocolEnd() as end, ModelServer() as model:
        call = Answer(calls=[("roll_dice", {"expression": "3d6"})]) if mode == "native" else Answer(text=FENCE)
        model.script([call, Answer(text="掷好了。", pieces=3)])
        async with Bot(tmp_path / mode, config(end, model, mode)) as bot:
            await switch_on(end)
            await end.group_message(GROUP, PLAYER, [at(end.self_id), text(" 帮我掷 3d6")])
            await end.wait_sent(4, timeout=10)
            assert await bot.stop() == 0
            sent = end.sent[3:]
        journal = await cli_json(bot.home, "journal", "--limit", "0")
    turn = next(line["turn"] for line in journal if line["type"] == "run_started")
    return sent, [line for line in journal if line["turn"] == turn], model.requests


@pytest.mark.parametrize("mode", ["native", "prompt"])
async def test_a_question_to_the_bot_ends_in_one_group_message(tmp_path: Path, mode: str) -> None:
    sent, journal, requests = await one_turn(tmp_path, mode)
    assert [(call.action, call.text, call.params["group_id"]) for call in sent] == [
        ("send_group_msg", "掷好了。", int(GROUP))
    ]
    assert ("tools" in requests[0]) == (mode == "native")
    assert journal[-1]["type"] == "run_completed"
    last = requests[1]["messages"][-1]
    assert last["role"] == ("tool" if mode == "native" else "user")
    assert "roll_id" in str(last["content"])


async def test_native_and_prompt_mode_write_the_same_journal(tmp_path: Path) -> None:
    """Equal but for origin, ids, numbers, times and what the dice showed."""
    native, prompt = [(await one_turn(tmp_path, mode))[1] for mode in ("native", "prompt")]
    assert [shape(line) for line in native] == [shape(line) for line in prompt]
    origins = [{line["payload"].get("origin") for line in lines} - {None} for lines in (native, prompt)]
    assert origins == [{"native"}, {"prompt"}]


def shape(line: dict[str, Any]) -> Any:
    """A line of the journal without what two runs cannot share."""
    payload = {k: v for k, v in line["payload"].items() if k not in VARIES}
    if line["name"] == "roll_dice" and "text" in payload:
        payload["text"] = "…"
    return line["type"], line["session"], line["name"], line["call"].rpartition(":")[2], payload


async def test_a_failing_tool_is_told_to_the_model_and_not_to_the_chat(tmp_path: Path) -> None:
    plugin = '''
"""坏工具。"""
from plugin_host import hookimpl


async def explode() -> str:
    """总是失败。"""
    raise RuntimeError("secret detail")


@hookimpl
def register_tools(register):
    register(explode)
'''
    async with ProtocolEnd() as end, ModelServer() as model:
        model.script([Answer(calls=[("explode", {})]), Answer(text="那个工具坏了。")])
        home = tmp_path / "home"
        (home / "plugins").mkdir(parents=True)
        (home / "plugins" / "bad.py").write_text(plugin, encoding="utf-8")
        async with Bot(home, config(end, model)) as bot:
            await switch_on(end)
            await end.group_message(GROUP, PLAYER, [at(end.self_id), text(" 炸一下")])
            sent = await end.wait_sent(4, timeout=10)
            await bot.stop()
    assert texts(sent)[3:] == ["那个工具坏了。"]
    assert "explode 执行失败" in str(model.requests[1]["messages"][-1])
    assert "secret detail" not in str(model.requests) + str(texts(sent))


async def test_dice_and_stop_do_not_wait_for_a_streaming_answer(tmp_path: Path) -> None:
    """While an answer streams for 10 s, `.r d6` is answered in < 300 ms and `.ai stop` acts in < 1 s."""
    async with ProtocolEnd() as end, ModelServer() as model:
        model.script([Answer(text="很长的故事。" * 20, pieces=100, delay=0.1)])
        async with Bot(tmp_path / "home", config(end, model)) as bot:
            await switch_on(end)
            await end.group_message(GROUP, PLAYER, [at(end.self_id), text(" 讲个故事")])
            async with asyncio.timeout(10):
                await model.asked.wait()
            asked = time.monotonic()
            await end.group_message(GROUP, "1002", ".r d6 快")
            roll = (await end.wait_sent(1, predicate=lambda call: "由于快" in call.text))[0]
            assert roll.time - asked < 0.3
            stopped = time.monotonic()
            await end.group_message(GROUP, PLAYER, ".ai stop")
            await end.wait_sent(1, predicate=lambda call: call.text == "已停止")
            async with asyncio.timeout(1):
                await model.gone.wait()
            assert time.monotonic() - stopped < 1
            await end.group_message(GROUP, PLAYER, ".ai status")
            status = (await end.wait_sent(1, predicate=lambda call: "正在回答" in call.text))[0]
            assert "正在回答：否" in status.text
            await bot.stop()
        journal = await cli_json(bot.home, "journal", "--limit", "0")
    ended = [line for line in journal if line["type"].startswith("run_c")]
    assert [(line["type"], line["payload"]["status"]) for line in ended] == [("run_cancelled", "stopped_by_user")]


async def test_messages_for_a_busy_turn_are_taken_before_its_next_round(tmp_path: Path) -> None:
    """What is said while a turn runs is part of its next request, and each event ends once."""
    async with ProtocolEnd() as end, ModelServer() as model:
        stall = asyncio.Event()
        first = Answer(calls=[("roll_dice", {"expression": "d6"})], stall=stall)
        model.script([first, Answer(text="两个问题都答了。")])
        async with Bot(tmp_path / "home", config(end, model)) as bot:
            await switch_on(end)
            await end.group_message(GROUP, PLAYER, [at(end.self_id), text(" 第一个问题")])
            async with asyncio.timeout(10):
                await model.asked.wait()
            await end.group_message(GROUP, "1002", [at(end.self_id), text(" 第二个问题")])
            await end.group_message(GROUP, "1002", ".r d6 排在后面")
            await end.wait_sent(1, predicate=lambda call: "排在后面" in call.text)
            stall.set()
            await end.wait_sent(1, predicate=lambda call: call.text == "两个问题都答了。")
            await bot.stop()
        assert bot.rows("select count(*) from events where state != 'done'") == [(0,)]
    assert "第二个问题" not in str(model.requests[0])
    assert "第二个问题" in str(model.requests[1])


WHO = """
from plugin_host import CallContext, hookimpl


async def who_asks(ctx: CallContext) -> str:
    \"\"\"Who asks.\"\"\"
    return f"user={ctx.user_id} role={ctx.role} level={ctx.level}"


@hookimpl
def register_tools(register):
    register(who_asks)
"""


async def test_nobody_in_a_merged_turn_borrows_the_rights_or_the_name_of_another(tmp_path: Path) -> None:
    async with ProtocolEnd() as end, ModelServer() as model:
        stall = asyncio.Event()
        ask = Answer(calls=[("who_asks", {})])
        model.script([Answer(calls=[("who_asks", {})], stall=stall), ask, Answer(text="好了。")])
        home = tmp_path / "home"
        (home / "plugins").mkdir(parents=True)
        (home / "plugins" / "who.py").write_text(WHO, encoding="utf-8")
        async with Bot(home, config(end, model)) as bot:
            await switch_on(end)
            await end.group_message(GROUP, MASTER, [at(end.self_id), text(" 我是谁")])
            async with asyncio.timeout(10):
                await model.asked.wait()
            await end.group_message(GROUP, PLAYER, [at(end.self_id), text(" 我呢")])
            await end.group_message(GROUP, PLAYER, ".r d6 排在后面")
            await end.wait_sent(1, predicate=lambda call: "排在后面" in call.text)
            stall.set()
            await end.wait_sent(1, predicate=lambda call: call.text == "好了。")
            await bot.stop()
    asked = [body["messages"][-1]["content"] for body in model.requests[1:]]
    assert "user=9001 role=member level=100" in str(model.requests[1]["messages"])
    assert asked[-1] == "user=None role=member level=0"


async def test_a_model_that_fails_is_one_neutral_line(tmp_path: Path) -> None:
    async with ProtocolEnd() as end, ModelServer() as model:
        model.script([Answer(status=401, error={"error": {"message": "bad key sk-verysecret"}})])
        async with Bot(tmp_path / "home", config(end, model)) as bot:
            await switch_on(end)
            await end.group_message(GROUP, PLAYER, [at(end.self_id), text(" 你好")])
            sent = await end.wait_sent(4, timeout=10)
            await bot.stop()
    assert sent[-1].text == "模型密钥无效，这次没能回答。骰点照常。"
