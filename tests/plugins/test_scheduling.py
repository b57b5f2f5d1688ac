"""The scheduling tools: what they list, find and call, and where they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plugin_host.calls import ToolCall, ToolResult
from plugin_host.config.settings import ToolSettings
from plugin_host.context import CallContext
from plugin_host.registry import Contribution
from plugin_host.tools import Budget, Source, Tool, tool_from_function
from plugins import scheduling
from tests.kit.toolroom import Room, tool


def echo(ctx: CallContext, text: str) -> str:
    """把话说回来。"""
    return f"{ctx.user_id}: {text}"


def scheduling_tools() -> list[Tool]:
    """The four tools as the plugin registers them."""
    contribution = Contribution(Source("builtin", "scheduling"))
    scheduling.register_tools(contribution.tool)
    return contribution.tools


@pytest.fixture
def room() -> Room:
    spoken = tool_from_function(echo, source=Source("builtin", "house"), group="dice", budget=Budget(per_turn=2))
    return Room([*scheduling_tools(), spoken, tool("luck", kind="plugin", source="luck"), tool("hidden", privilege=50)])


async def use(room: Room, called: str, ctx: CallContext | None = None, **arguments: Any) -> ToolResult:
    """Run a tool as a model's call would."""
    return await room.run(ToolCall("1", called, arguments, origin="native"), ctx or room.ctx())


def test_the_flags_are_those_of_the_specification(room: Room) -> None:
    flags = {one.name: (one.group, one.annotations.flags, one.privilege) for one in scheduling_tools()}
    looking = ("scheduling", ("read_only", "idempotent", "core"), 0)
    assert flags == {
        "list_tools": looking,
        "search_tools": looking,
        "list_mcps": looking,
        "call_tool": ("scheduling", ("core",), 0),
    }


async def test_list_tools_names_the_usable_ones_by_group(room: Room) -> None:
    answer = (await use(room, "list_tools")).text
    assert answer.splitlines() == [
        "基础调度：call_tool、list_mcps、list_tools、search_tools",
        "骰子：echo",
        "外部插件：luck",
    ]
    assert (await use(room, "list_tools", group="dice")).text == "骰子：echo"
    assert (await use(room, "list_tools", group="图片")).text == "工具组「图片」里没有可用的工具"
    assert "hidden" in (await use(room, "list_tools", room.ctx(50))).text


async def test_an_unknown_group_is_an_error_that_names_it(room: Room) -> None:
    result = await use(room, "list_tools", group="nichts")
    assert (result.status, result.error_code) == ("error", "unknown_name")
    assert "未找到工具组「nichts」" in result.text


async def test_search_finds_by_words_and_says_when_there_is_nothing(room: Room) -> None:
    assert (await use(room, "search_tools", query="把话说")).text == "echo（骰子）：把话说回来。"
    assert (await use(room, "search_tools", query="qqqq")).text == "没有找到与「qqqq」匹配的工具"
    assert "hidden" not in (await use(room, "search_tools", query="hidden")).text.replace("「hidden」", "")


async def test_search_by_name_gives_the_full_schema(room: Room) -> None:
    document = json.loads((await use(room, "search_tools", name="echo", query="ignored")).text)
    assert document["name"] == "echo"
    assert document["parameters"]["required"] == ["text"]


async def test_search_by_name_refuses_what_this_person_may_not_see(room: Room) -> None:
    result = await use(room, "search_tools", name="hidden")
    assert (result.status, result.error_code) == ("error", "privilege")
    assert (await use(room, "search_tools", room.ctx(50), name="hidden")).ok


@pytest.mark.parametrize(("limit", "ok"), [(0, False), (1, True), (20, True), (21, False)])
async def test_the_limit_is_one_to_twenty(room: Room, limit: int, ok: bool) -> None:
    result = await use(room, "search_tools", limit=limit)
    assert result.ok is ok
    if not ok:
        assert result.error_code == "invalid_arguments"


async def test_eight_are_given_unless_asked_otherwise() -> None:
    room = Room([*scheduling_tools(), *(tool(f"t{n:02}", "dice") for n in range(30))])
    assert len((await use(room, "search_tools", group="dice")).text.splitlines()) == 8
    assert len((await use(room, "search_tools", group="dice", limit=20)).text.splitlines()) == 20


async def test_list_mcps_says_that_there_are_none_or_counts(room: Room) -> None:
    assert (await use(room, "list_mcps")).text == "没有配置 MCP 服务器"
    room.install([tool("find", kind="mcp", source="maps"), tool("route", kind="mcp", source="maps")])
    room.saved = {"group:100": {"route": False}}
    assert (await use(room, "list_mcps")).text == "maps：2 个工具，开 1"


async def test_call_tool_calls_with_the_askers_identity(room: Room) -> None:
    assert (await use(room, "call_tool", name="echo", arguments={"text": "喂"})).text == "1001: 喂"


async def test_call_tool_takes_text_as_arguments(room: Room) -> None:
    await use(room, "call_tool", name="echo", arguments='{"text": "喂"}')
    assert (room.ran[1].raw_arguments, room.ran[1].origin) == ('{"text": "喂"}', "internal")


async def test_call_tool_cannot_call_itself(room: Room) -> None:
    result = await use(room, "call_tool", name="call_tool", arguments={"name": "echo"})
    assert (result.status, result.error_code, result.text) == ("error", "recursive_call", "call_tool 不能调用自己")
    assert len(room.ran) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("nichts", {}, "unknown_tool"),
        ("hidden", {}, "privilege"),
        ("echo", {}, "invalid_arguments"),
        ("echo", {"text": 1}, "invalid_arguments"),
    ],
)
async def test_call_tool_passes_refusals_on(room: Room, name: str, arguments: dict[str, Any], code: str) -> None:
    result = await use(room, "call_tool", name=name, arguments=arguments)
    assert (result.name, result.ok, result.error_code) == ("call_tool", False, code)


async def test_call_tool_refuses_a_switched_off_tool_and_a_blocked_one(room: Room) -> None:
    room.saved = {"group:100": {"echo": False}}
    room.settings = ToolSettings(blocked={"luck"})
    assert (await use(room, "call_tool", name="echo", arguments={"text": ""})).error_code == "switched_off"
    assert (await use(room, "call_tool", name="luck")).error_code == "blocked"


async def test_inner_calls_count_in_the_budget_of_the_turn(room: Room) -> None:
    ctx = room.ctx()
    codes = [(await use(room, "call_tool", ctx, name="echo", arguments={"text": "x"})).error_code for _ in range(3)]
    assert codes == ["", "", "budget_turn"]
    assert ctx.calls.counts == {"call_tool": 3, "echo": 2}
