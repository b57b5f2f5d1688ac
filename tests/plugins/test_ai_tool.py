"""The chat face ``.ai``: every form of ``.ai tool``, what its replies say, and how sub-commands are found."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from plugin_host import CallContext, CallError, CommandArgs
from plugin_host.config.settings import ToolSettings
from plugin_host.registry import Contribution
from plugin_host.toolbox.views import ToolStat
from plugin_host.tools import Source, Tool, tool_from_function
from plugins import ai
from plugins.ai.words import Words, page_of, paged, words_of
from tests.kit.toolroom import Room, tool

MASTER, ADMIN = 100, 50


def roll_dice(expression: Annotated[str, Field(description="掷骰表达式")], times: int = 1) -> str:
    """掷骰。"""
    return f"{expression!r} × {times!r}"


def house() -> list[Tool]:
    """A little of everything; the function ``roll_dice`` answers the arguments it got."""
    return [
        tool("list_tools", "scheduling", core=True),
        tool_from_function(roll_dice, source=Source("builtin", "house"), group="dice", random=True),
        tool("skill_check", "dice"),
        tool("memory_add", "memory"),
        tool("luck", kind="plugin", source="luck"),
        tool("find", kind="mcp", source="maps"),
        tool("read_skill", kind="skill", source="novel"),
    ]


@pytest.fixture
def room() -> Room:
    return Room(house())


async def say(room: Room, line: str, level: int = 0, ctx: CallContext | None = None, **given: Any) -> str:
    """What ``.ai LINE`` answers; its switches are kept as a unit keeps them."""
    ctx = ctx or room.ctx(level, surface="command", **given)
    try:
        return await ai.ai(ctx, CommandArgs("ai", line))
    except CallError as refusal:
        return f"[{refusal.code}] {refusal}"
    finally:
        room.commit(ctx)


# --- the family


def test_the_word_reaches_the_command_in_any_case() -> None:
    contribution = Contribution(Source("builtin", "ai"))
    ai.register_commands(contribution.command)
    room = Room([])
    room.registry.install(contribution)
    for line in ("ai", "AI tool", "Ai tool off 骰子"):
        assert next(iter(room.registry.match(line))).command.name == "ai"
    assert list(room.registry.match("aid")) == []


async def test_ai_alone_shows_what_this_person_may_use(room: Room) -> None:
    member, master = await say(room, ""), await say(room, "", MASTER)
    assert ".ai tool" in member
    assert ".ai plugin" not in member
    assert ".ai plugin" in master
    assert await say(room, "help") == member


async def test_every_sub_command_has_help_and_the_usable_ones_depend_on_the_place(room: Room) -> None:
    for name in ai.SUBCOMMANDS:
        assert (await say(room, f"help {name}")).startswith(f"【.ai {name}】")
    assert ".ai on " not in await say(room, "")
    assert ".ai on " in await say(room, "", ADMIN)
    assert ".ai on " in await say(room, "", session="private:1001")


@pytest.mark.parametrize("line", ["on --c=5", "status all", "stop --x"])
async def test_options_that_do_not_exist_are_refused_and_not_ignored(room: Room, line: str) -> None:
    assert (await say(room, line, MASTER)).startswith(("[unknown_option]", "[extra_words]"))


@pytest.mark.parametrize("line", ["help tool", "tool help", "HELP Tool", "tool  help "])
async def test_help_of_a_sub_command_has_its_header(room: Room, line: str) -> None:
    answer = await say(room, line)
    assert answer.startswith("【.ai tool】")
    assert ".ai tool call" in answer


async def test_help_with_more_words_is_answered_by_the_sub_command(room: Room) -> None:
    assert (await say(room, "help tool roll_dice")).startswith("工具函数：roll_dice")


@pytest.mark.parametrize("line", ["tol", "help tol", "TOL on"])
async def test_an_unknown_sub_command_offers_the_nearest(room: Room, line: str) -> None:
    assert await say(room, line) == "指令不存在：.ai tol。相近的：.ai tool"


async def test_an_unknown_sub_command_like_nothing_points_at_help(room: Room) -> None:
    answer = await say(room, "x" * 500)
    assert answer == f"指令不存在：.ai {'x' * 32}。发送 .ai help 查看可用的子指令"


# --- looking


@pytest.mark.parametrize("line", ["tool", "tool list", "tool lst", "TOOL LIST"])
async def test_the_overview_has_a_line_per_group_under_its_heading(room: Room, line: str) -> None:
    room.settings = ToolSettings(blocked={"memory_add"})
    answer = await say(room, line)
    assert answer.splitlines() == [
        "工具组（平台：QQ）共 5 个工具，开 5 关 0",
        "[内置]",
        "1. 基础调度（1，开 1 关 0）",
        "2. 骰子（2，开 2 关 0）",
        "[插件]",
        "3. 外部插件（1，开 1 关 0）",
        "[MCP 服务器]",
        "4. maps（1，开 1 关 0）",
        "另有 1 个工具被骰主禁用（tools.blocked），未计入",
        "查看：.ai tool <组名>；开关：.ai tool on|off <组名|函数名>",
    ]


async def test_the_overview_shows_refused_collisions() -> None:
    room = Room([tool("same", kind="plugin", source="one"), tool("same", kind="plugin", source="two")])
    assert "名称冲突：工具名 same 重复：one、two 都想用" in await say(room, "tool")


@pytest.mark.parametrize(
    "line", ["tool 骰子", "tool dice", "tool --group=骰子", "tool list --group=dice", "tool ——group=dice"]
)
async def test_a_group_has_a_line_per_tool_and_how_to_switch_it(room: Room, line: str) -> None:
    room.saved = {"group:100": {"skill_check": False}}
    assert (await say(room, line)).splitlines() == [
        "工具组「骰子」（dice）共 2 个",
        "roll_dice[开] 掷骰。",
        "skill_check[关] skill_check 的说明",
        "整组开关：.ai tool on 骰子 / .ai tool off 骰子",
    ]


@pytest.mark.parametrize("line", ["tool roll_dice", "tool help roll_dice", "help tool roll_dice"])
async def test_a_function_is_described_with_parameters_and_verdict(room: Room, line: str) -> None:
    assert (await say(room, line)).splitlines() == [
        "工具函数：roll_dice[开]",
        "来源：内置 house，工具组「骰子」",
        "描述：掷骰。",
        "参数：",
        "· expression: string（必需） — 掷骰表达式",
        "· times: integer（可选，默认 1）",
        "必需参数：expression",
        "权限：0　标记：随机　批准：不需要",
        "你在本会话：可以使用",
    ]


async def test_a_description_says_why_this_person_cannot(room: Room) -> None:
    room.settings = ToolSettings(privilege={"roll_dice": 50})
    answer = await say(room, "tool roll_dice")
    assert "你在本会话：不能使用：权限不足：工具 roll_dice 需要权限 50（群管理员），当前权限是 0（privilege）" in answer


async def test_all_lists_every_source_by_pages(room: Room) -> None:
    answer = await say(room, "tool all")
    for heading in ("[内置：house]", "[插件：luck]", "[技能：novel]", "[MCP 服务器：maps]"):
        assert heading in answer
    many = Room([tool(f"t{n:03}", "dice") for n in range(100)])
    first, last = await say(many, "tool all"), await say(many, "tool all --page=4")
    assert "t000" in first
    assert "第 1/4 页" in first
    assert "t099" in last
    assert "t000" not in last
    assert await say(many, "tool all -p=5") == "[invalid_page] 页码超出范围：共 4 页"
    assert await say(many, "tool dice --p=x") == "[invalid_page] 页码必须为数字"


async def test_unknown_and_ambiguous_names_are_answered_with_others(room: Room) -> None:
    assert (await say(room, "tool rol_dice")) == (
        "[unknown_name] 没有这个工具函数，也未找到工具组「rol_dice」。相近的名字：roll_dice、dice"
    )
    assert "没有这个工具函数：rol_dice" in await say(room, "tool help rol_dice")
    assert "未找到工具组「nichts」" in await say(room, "tool --group=nichts")
    assert "「m」匹配多个工具组：记忆、maps" in await say(room, "tool m")


async def test_why_shows_every_layer(room: Room) -> None:
    room.saved = {"group:100": {"roll_dice": False}}
    room.settings = ToolSettings(privilege={"roll_dice": 50})
    lines = (await say(room, "tool why roll_dice")).splitlines()
    assert lines[0] == "工具函数 roll_dice：不能使用，2 层不允许"
    assert len(lines) == 9
    assert [line[2:7] for line in lines[1:] if line.startswith("✗")] == ["提问者权限", "本会话开关"]


async def test_stats_has_both_numbers(room: Room) -> None:
    assert await say(room, "tool stats") == "还没有工具调用记录"
    room.numbers = {
        None: [ToolStat("luck", 3, 1, 12.4), ToolStat("find", 1, 0, 5.0)],
        "group:100": [ToolStat("luck", 2, 0, 9.6)],
    }
    assert (await say(room, "tool stats")).splitlines() == [
        "工具统计",
        "luck：本会话 2 次（失败 0，平均 10 ms）；全部 3 次（失败 1，平均 12 ms）",
        "find：本会话 0 次；全部 1 次（失败 0，平均 5 ms）",
    ]


# --- switching


async def test_switching_a_function_says_so(room: Room) -> None:
    assert await say(room, "tool off roll_dice", ADMIN) == "已关闭工具函数 roll_dice"
    assert await say(room, "tool off roll_dice", ADMIN) == "工具函数 roll_dice 原本已关闭，没有变更"
    assert await say(room, "tool on roll_dice", ADMIN) == "已开启工具函数 roll_dice"


async def test_a_blocked_function_cannot_be_switched_on(room: Room) -> None:
    room.settings = ToolSettings(blocked={"luck"})
    assert await say(room, "tool on luck", ADMIN) == "工具函数 luck 不被允许开启"


async def test_switching_a_group_reports_what_changed(room: Room) -> None:
    assert await say(room, "tool off skill_check", ADMIN) == "已关闭工具函数 skill_check"
    assert (
        await say(room, "tool off 骰子", ADMIN) == "已关闭工具组「骰子」：实际变更 1 个（roll_dice）\n原本已关闭 1 个"
    )
    assert await say(room, "tool on dice", ADMIN) == "已开启工具组「骰子」：实际变更 2 个（roll_dice、skill_check）"
    assert await say(room, "tool off 图片", ADMIN) == "工具组「图片」目前没有可开关的工具"


async def test_switching_all_skips_core_and_blocked_and_says_why(room: Room) -> None:
    room.settings = ToolSettings(blocked={"luck"})
    assert (await say(room, "tool off", ADMIN)).splitlines() == [
        "已关闭全部工具：实际变更 4 个（find、memory_add、roll_dice、skill_check）",
        "跳过 1 个：被骰主禁用（luck）",
        "跳过 1 个：核心工具（list_tools），加 --force 可一并关闭",
    ]
    assert "实际变更 1 个（list_tools）" in await say(room, "tool off --force", ADMIN)


async def test_switching_by_a_member_of_a_group_is_refused(room: Room) -> None:
    answer = await say(room, "tool off 骰子")
    assert answer == "[permission_denied] 权限不足：开关工具需要权限 40（邀请人）以上，当前权限是 0"
    assert await say(room, "tool off 骰子", session="private:1001") != answer


async def test_a_mistake_in_a_switching_changes_nothing(room: Room) -> None:
    assert "多余的参数：memory_add" in await say(room, "tool off luck memory_add", ADMIN)
    assert "没有选项 --focre；可用选项：--group、--force" in await say(room, "tool off --focre", ADMIN)
    assert room.saved["group:100"] == {}


# --- calling

CALLS = [
    ("--expression=1d6", {"expression": "1d6"}),
    ("--expression=1d6 --times=3", {"expression": "1d6", "times": 3}),
    ('--expression="1d6 攻击" --times=2', {"expression": "1d6 攻击", "times": 2}),
    ("--expression=“1d6 攻击”", {"expression": "1d6 攻击"}),
    ('--json \'{"expression": "1d6", "times": 2}\'', '{"expression": "1d6", "times": 2}'),
    ('--json={"expression": "1d6"}', '{"expression": "1d6"}'),
    ("--json ‘{“expression”: “1d6”}’", "{“expression”: “1d6”}"),
    (
        '--a=[1, 2] --b={"x": null} --c=true --d=1e3 --e=NaN --f=it\'s',
        {"a": [1, 2], "b": {"x": None}, "c": True, "d": 1000.0, "e": "NaN", "f": "it's"},
    ),
]


@pytest.mark.parametrize(("text", "arguments"), CALLS)
async def test_arguments_are_json_where_they_parse_and_text_elsewhere(room: Room, text: str, arguments: Any) -> None:
    await say(room, f"tool call roll_dice {text}", MASTER)
    call = room.ran[0]
    assert (call.raw_arguments or call.arguments) == arguments


async def test_a_call_prints_its_result(room: Room) -> None:
    answer = await say(room, "tool call roll_dice --expression=1d6 --times=2", MASTER)
    assert answer == "返回内容:\n'1d6' × 2"


async def test_a_wrong_argument_is_named(room: Room) -> None:
    answer = await say(room, "tool call roll_dice --expression=1d6 --times=x", MASTER)
    assert answer == '调用失败（invalid_arguments）：times 应为整数，实际是 "x"'


async def test_a_call_of_a_switched_off_tool_names_the_switch(room: Room) -> None:
    await say(room, "tool off dice", ADMIN)
    answer = await say(room, "tool call roll_dice --expression=1d6", MASTER)
    assert answer.startswith("调用被拒绝（switched_off）：工具 roll_dice 未开启")
    assert ".ai tool on roll_dice" in answer


async def test_calls_that_cannot_be_made_say_why(room: Room) -> None:
    assert "调用函数缺少工具函数名" in await say(room, "tool call", MASTER)
    assert "未注册的函数：rol_dice。相近的名字：roll_dice" in await say(room, "tool call rol_dice", MASTER)
    assert "权限不足" in await say(room, "tool call luck", ADMIN)
    assert "不能和其他参数一起用" in await say(room, "tool call luck --a=1 --json {}", MASTER)
    assert room.ran == []


# --- words


def test_words_split_plain_ones_and_options() -> None:
    assert words_of("off 骰子 --group=记忆 --force -p=2") == Words(
        ("off", "骰子"), {"group": "记忆", "force": "", "p": "2"}
    )
    assert words_of("") == Words()
    assert words_of('a "b c" \'d e\' “f g” --k="say \\"hi\\""') == Words(("a", "b c", "d e", "f g"), {"k": 'say "hi"'})


@pytest.mark.parametrize(
    "text", ['"open', "--k='open", "“open", "--json {", "=", "--", "--=", "[", "—", "\\", '"' * 99]
)
def test_words_never_fail(text: str) -> None:
    assert isinstance(words_of(text), Words)


@pytest.mark.parametrize(("text", "page"), [("1", 1), ("+2", 2), ("007", 7)])
def test_a_page_is_a_positive_number(text: str, page: int) -> None:
    assert page_of(Words(options={"page": text})) == page


@pytest.mark.parametrize(
    ("text", "sentence"), [("0", "大于等于1"), ("-1", "大于等于1"), ("", "数字"), ("二", "数字"), ("1.5", "数字")]
)
def test_a_wrong_page_is_refused_in_words(text: str, sentence: str) -> None:
    with pytest.raises(CallError, match=sentence):
        page_of(Words(options={"p": text}))


@pytest.mark.parametrize(("count", "pages"), [(0, 1), (30, 1), (31, 2), (60, 2), (61, 3)])
def test_pages_end_where_they_must(count: int, pages: int) -> None:
    lines = [str(n) for n in range(count)]
    told = [line for page in range(1, pages + 1) for line in paged(lines, page)]
    assert [line for line in told if "页" not in line] == lines
    with pytest.raises(CallError, match=f"共 {pages} 页"):
        paged(lines, pages + 1)
