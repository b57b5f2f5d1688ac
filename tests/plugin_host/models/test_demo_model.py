"""The offline demo model in both tool modes."""

from __future__ import annotations

import json

import pytest

from plugin_host.calls import ToolCall
from plugin_host.conversation import CallMade, Finished, Message, Mode, ModelRequest, TextDelta, ToolSpec
from plugin_host.models import DemoModel, ModelChain
from plugin_host.textcalls import describe_tools, parse
from tests.kit.model_server import collect

ROLL = ToolSpec("roll_dice", "掷骰", {"type": "object", "properties": {"expression": {"type": "string"}}})
MODES: list[Mode] = ["native", "prompt"]


async def ask(mode: Mode, *messages: Message, tools: tuple[ToolSpec, ...] = (ROLL,)) -> tuple[str, list[ToolCall]]:
    """The words shown, and the calls, whichever way the mode writes them."""
    system = Message("system", "你是骰娘" if mode == "native" else f"你是骰娘\n\n{describe_tools(tools)}")
    request = ModelRequest((system, *messages), tools if mode == "native" else (), mode)
    chunks = await collect(DemoModel().stream(request))
    assert isinstance(chunks[-1], Finished)
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    made = [chunk.call for chunk in chunks if isinstance(chunk, CallMade)]
    if mode == "native":
        assert "```" not in text
        return text, [ToolCall(c.id, c.name, json.loads(c.raw_arguments)) for c in made]
    assert not made
    parsed = parse(text, [tool.name for tool in tools])
    assert all(call.verdict == "clean" for call in parsed.calls)
    return parsed.before, [ToolCall("", call.name, call.arguments) for call in parsed.calls]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ("帮我掷 3d6", "3d6"),
        ("投个d20", "d20"),
        ("roll 2d10+3", "2d10+3"),
        ("小明（10001）：掷一下 2d6 + 1d4 吧", "2d6+1d4"),
        ("roll 9d9（10001）：帮我骰个 d100", "d100"),
    ],
)
async def test_a_request_to_roll_becomes_a_call_of_the_dice_tool(mode: Mode, said: str, expression: str) -> None:
    text, calls = await ask(mode, Message("user", said))
    assert text.startswith("[演示模型] ")
    assert [(call.name, call.arguments) for call in calls] == [("roll_dice", {"expression": expression})]


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_is_not_declared_is_not_called(mode: Mode) -> None:
    other = (ToolSpec("draw", "抽牌", {"type": "object"}),)
    text, calls = await ask(mode, Message("user", "帮我掷 3d6"), tools=other)
    assert (text, calls) == ("[演示模型] 要用工具 roll_dice，但它现在没有开放（.ai tool on roll_dice 可开启）。", [])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("said", "word"), [("现在几点", "没有时钟"), ("help", "掷骰"), ("你好", "config.yaml"), ("我的 HP 是 3d6", "演示")]
)
async def test_anything_else_gets_words_only(mode: Mode, said: str, word: str) -> None:
    text, calls = await ask(mode, Message("user", said))
    assert text.startswith("[演示模型] ")
    assert word in text
    assert not calls


CALLED = Message("assistant", "好", calls=(ToolCall("demo_1", "roll_dice", {"expression": "3d6"}),))
RESULTS: list[tuple[Mode, Message, Message]] = [
    ("native", CALLED, Message("tool", "3d6=[1+2+3]=6", call_id="demo_1", name="roll_dice")),
    ("prompt", Message("assistant", "好"), Message("user", "【工具返回:roll_dice】（text_1）\n3d6=[1+2+3]=6")),
]


@pytest.mark.parametrize(("mode", "call", "result"), RESULTS)
async def test_a_result_is_answered_in_words_that_hold_it(mode: Mode, call: Message, result: Message) -> None:
    text, calls = await ask(mode, Message("user", "帮我掷 3d6"), call, result)
    assert (text, calls) == ("[演示模型] 结果出来了：3d6=[1+2+3]=6", [])


@pytest.mark.parametrize(("mode", "call", "result"), RESULTS)
async def test_a_message_that_came_with_the_result_is_answered_too(mode: Mode, call: Message, result: Message) -> None:
    text, calls = await ask(mode, Message("user", "帮我掷 3d6"), call, result, Message("user", "再投 d8"))
    assert "3d6=[1+2+3]=6" in text
    assert [call.arguments for call in calls] == [{"expression": "d8"}]


async def test_ids_differ_within_one_history() -> None:
    history = (Message("user", "掷 3d6"), CALLED, RESULTS[0][2], Message("assistant", "好了"), Message("user", "掷 d4"))
    _, calls = await ask("native", *history)
    assert calls[0].id == "demo_2"


async def test_the_demo_model_serves_as_a_chain() -> None:
    chain = ModelChain([(DemoModel(), "native")])
    await chain.warm()
    chunks = await collect(chain.stream(lambda mode: ModelRequest((Message("user", "你好"),), (ROLL,), mode)))
    await chain.aclose()
    assert [type(chunk).__name__ for chunk in chunks] == ["Started", "TextDelta", "Finished"]
