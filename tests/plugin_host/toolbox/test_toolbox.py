"""Toolbox: names, views, switching with numbers that add up, searching, calling."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_host import CallError
from plugin_host.config.settings import ToolSettings
from plugin_host.errors import PermissionDeniedError, UnknownNameError
from plugin_host.toolbox.views import Switched, ToolStat, parameters_of
from plugin_host.tools import Tool
from tests.kit.toolroom import Room, tool


def house() -> list[Tool]:
    """Tools of several groups and sources; ``ob11`` is a function and a group, ``list`` a server."""
    return [
        tool("list_tools", "scheduling", core=True, read_only=True),
        tool("call_tool", "scheduling", core=True),
        tool("roll_dice", "dice", title="掷骰", random=True),
        tool("skill_check", "dice"),
        tool("memory_add", "memory", description="往长期记忆里添加一条"),
        tool("memory_recall", "memory", description="回忆以前说过的话", read_only=True),
        tool("grep_raw", "raw_text", description="检索原文"),
        tool("ob11", "resource"),
        tool("call_ob11_api", "ob11", core=True, sensitive=True),
        tool("luck", kind="plugin", source="luck"),
        tool("find", kind="mcp", source="list"),
        tool("read_skill", kind="skill", source="novel"),
    ]


@pytest.fixture
def room() -> Room:
    return Room(house())


RESOLVED: list[tuple[str, str | None, str, str]] = [
    ("roll_dice", None, "tool", "roll_dice"),
    ("ROLL_DICE", None, "tool", "roll_dice"),
    ("roll_dice", "记忆", "group", "memory"),
    ("骰子", None, "group", "dice"),
    ("dice", None, "group", "dice"),
    ("Dice", None, "group", "dice"),
    ("ob11", None, "tool", "ob11"),
    ("OB11", None, "tool", "ob11"),
    ("", "ob11", "group", "ob11"),
    ("list", None, "group", "list"),
    ("", "list", "group", "list"),
    ("调度", None, "group", "scheduling"),
    ("sched", None, "group", "scheduling"),
    ("", "原文", "group", "raw_text"),
    ("图片", None, "group", "image"),
    ("外部插件", None, "group", "external"),
]


@pytest.mark.parametrize(("name", "group", "kind", "found"), RESOLVED)
def test_names_resolve_in_the_fixed_order(room: Room, name: str, group: str | None, kind: str, found: str) -> None:
    target = room.box.resolve(name, group=group)
    assert target.kind == kind
    if target.tool is not None:
        assert target.tool.name == found
    else:
        assert target.group is not None
        assert target.group.id == found


def test_an_alias_names_its_tool() -> None:
    room = Room([tool("web.fetch")])
    assert room.box.resolve("web__fetch").tool == room.registry.tool("web.fetch")


def test_a_function_wins_over_a_group_of_the_same_name(room: Room) -> None:
    assert room.box.resolve("ob11").kind == "tool"
    assert room.box.resolve("ob11", group="ob11").kind == "group"


def test_a_part_of_two_groups_gives_the_candidates(room: Room) -> None:
    target = room.box.resolve("源")
    assert target.kind == "group"
    target = room.box.resolve("r")
    assert target.kind == "ambiguous"
    assert "记忆" in target.candidates
    with pytest.raises(CallError, match=r"「r」匹配多个工具组：.*记忆") as refused:
        target.or_refuse()
    assert refused.value.code == "ambiguous_name"


def test_an_unknown_name_gives_the_nearest(room: Room) -> None:
    target = room.box.resolve("rol_dice")
    assert (target.kind, target.candidates[0]) == ("unknown", "roll_dice")
    with pytest.raises(UnknownNameError, match="没有这个工具函数，也未找到工具组「rol_dice」。相近的名字：roll_dice"):
        target.or_refuse()


def test_an_unknown_group_names_no_functions(room: Room) -> None:
    target = room.box.resolve("roll_dice", group="memry")
    assert target.candidates == ("memory",)
    with pytest.raises(UnknownNameError, match=r"^未找到工具组「memry」"):
        target.or_refuse()


@pytest.mark.parametrize("name", ["", "   ", "\u200b", "x" * 10_000, "*[", "\\"])
def test_strange_names_are_unknown_and_shown_short(room: Room, name: str) -> None:
    with pytest.raises(UnknownNameError) as refused:
        room.box.resolve(name).or_refuse()
    assert len(str(refused.value)) < 200


# --- switching


def numbers(switched: Switched) -> tuple[int, int, int, int]:
    """Changed, unchanged, skipped because blocked, skipped because core."""
    four = (switched.changed, switched.unchanged, switched.skipped_blocked, switched.skipped_core)
    return tuple(len(names) for names in four)  # type: ignore[return-value]


SWITCHES: list[tuple[str, bool, dict[str, Any], tuple[int, int, int, int]]] = [
    ("all off", False, {}, (7, 0, 1, 3)),
    ("all off, forced", False, {"force": True}, (10, 0, 1, 0)),
    ("all on", True, {}, (0, 10, 1, 0)),
    ("group off", False, {"target": "骰子"}, (2, 0, 0, 0)),
    ("group with core off", False, {"target": "scheduling"}, (0, 0, 0, 2)),
    ("group with core off, forced", False, {"group": "scheduling", "force": True}, (2, 0, 0, 0)),
    ("core function off", False, {"target": "call_tool"}, (1, 0, 0, 0)),
    ("blocked function on", True, {"target": "luck"}, (0, 0, 1, 0)),
    ("blocked function off", False, {"target": "luck"}, (0, 0, 1, 0)),
    ("function already on", True, {"target": "roll_dice"}, (0, 1, 0, 0)),
    ("group of one blocked", False, {"target": "external"}, (0, 0, 1, 0)),
    ("group without tools", False, {"target": "图片"}, (0, 0, 0, 0)),
    ("server off", False, {"group": "list"}, (1, 0, 0, 0)),
]


@pytest.mark.parametrize(("_name", "on", "given_", "expected"), SWITCHES, ids=[row[0] for row in SWITCHES])
def test_switching_reports_numbers_that_add_up(
    room: Room, _name: str, on: bool, given_: dict[str, Any], expected: tuple[int, int, int, int]
) -> None:
    room.settings = ToolSettings(blocked={"luck"})
    ctx = room.ctx(50)
    switched = room.box.set_state(ctx, on, **given_)
    assert numbers(switched) == expected
    assert switched.total == sum(expected)
    assert ctx.effects.switches == dict.fromkeys(switched.changed, on)


@given(
    on=st.booleans(),
    force=st.booleans(),
    blocked=st.frozensets(st.sampled_from([one.name for one in house()])),
    saved=st.dictionaries(st.sampled_from([one.name for one in house()]), st.booleans()),
    target=st.sampled_from([None, "dice", "基础调度", "call_tool", "luck"]),
)
def test_each_addressed_tool_has_exactly_one_fate(
    on: bool, force: bool, blocked: frozenset[str], saved: dict[str, bool], target: str | None
) -> None:
    room = Room(house(), ToolSettings(blocked=blocked), {"group:100": dict(saved)})
    addressed = {None: 11, "dice": 2, "基础调度": 2, "call_tool": 1, "luck": 1}[target]
    ctx = room.ctx(100)
    switched = room.box.set_state(ctx, on, target, force=force)
    every = [*switched.changed, *switched.unchanged, *switched.skipped_blocked, *switched.skipped_core]
    assert len(every) == len(set(every)) == switched.total == addressed
    assert set(switched.skipped_blocked) == blocked & set(every)
    after = room.box.switches(ctx)
    for name in switched.changed:
        assert after[name] is on
        assert saved.get(name, True) is not on
    again = room.box.set_state(ctx, on, target, force=force)
    assert again.changed == ()
    assert again.total == switched.total


def test_several_switchings_of_one_event_see_each_other_and_no_other_session(room: Room) -> None:
    ctx, elsewhere = room.ctx(50), room.ctx(50, "group:200")
    room.box.set_state(ctx, False, "dice")
    assert room.box.set_state(ctx, False, "roll_dice").unchanged == ("roll_dice",)
    assert room.box.set_state(ctx, True, "roll_dice").changed == ("roll_dice",)
    assert ctx.effects.switches == {"roll_dice": True, "skill_check": False}
    room.commit(ctx)
    assert not room.box.describe(room.ctx(), "skill_check").on
    assert room.box.describe(elsewhere, "skill_check").on


@pytest.mark.parametrize(("level", "session", "may"), [(39, "group:100", False), (40, "group:100", True)])
def test_switching_in_a_group_needs_level_40(room: Room, level: int, session: str, may: bool) -> None:
    ctx = room.ctx(level, session)
    if may:
        assert room.box.set_state(ctx, False, "dice").changed
    else:
        with pytest.raises(PermissionDeniedError, match="权限 40"):
            room.box.set_state(ctx, False, "dice")
        assert ctx.effects.switches == {}


def test_everybody_switches_in_a_private_chat_except_the_black_listed(room: Room) -> None:
    assert room.box.set_state(room.ctx(0, "private:1001"), False, "dice").changed
    assert room.box.set_state(room.ctx(0, "discord/private:1001"), False, "dice").changed
    with pytest.raises(PermissionDeniedError):
        room.box.set_state(room.ctx(-30, "private:1001"), False, "dice")


def test_a_tool_that_went_drops_out_and_finds_its_switch_when_it_returns(room: Room) -> None:
    ctx = room.ctx(50)
    room.box.set_state(ctx, False, "luck")
    room.commit(ctx)
    contribution = room.registry.contribution("luck")
    assert contribution is not None
    room.registry.drop("luck")
    assert room.box.overview(room.ctx()).off == 0
    assert room.box.resolve("luck").kind == "unknown"
    room.registry.install(contribution)
    assert room.box.overview(room.ctx()).off == 1
    assert not room.box.describe(room.ctx(), "luck").on


def test_a_default_off_tool_can_be_switched_on(room: Room) -> None:
    room.settings = ToolSettings(default_off={"luck"})
    assert not room.box.describe(room.ctx(), "luck").on
    ctx = room.ctx(50)
    assert room.box.set_state(ctx, True, "luck").changed == ("luck",)
    assert room.box.describe(ctx, "luck").on


# --- looking


def test_the_overview_counts_each_tool_that_exists_here_once(room: Room) -> None:
    room.settings = ToolSettings(blocked={"grep_raw"})
    room.install([tool("elsewhere", "web", kind="plugin", source="far", platforms=frozenset({"discord"}))])
    ctx = room.ctx(50)
    room.box.set_state(ctx, False, "dice")
    overview = room.box.overview(ctx)
    assert (overview.platform, overview.total, overview.on, overview.off, overview.blocked) == ("QQ", 10, 8, 2, 1)
    assert sum(line.total for line in overview.groups) == overview.total
    assert all(line.on + line.off == line.total for line in overview.groups)
    ids = [line.group.id for line in overview.groups]
    assert ids == ["scheduling", "dice", "memory", "ob11", "resource", "external", "list"]


def test_the_overview_names_collisions() -> None:
    room = Room([tool("same", kind="plugin", source="one"), tool("same", kind="plugin", source="two")])
    assert room.box.overview(room.ctx()).collisions == ("工具名 same 重复：one、two 都想用",)
    with pytest.raises(UnknownNameError, match="one、two 都想用，因此已全部停用"):
        room.box.describe(room.ctx(), "same")


def test_the_flat_list_has_every_source_and_the_group_only_its_own(room: Room) -> None:
    flat = room.box.flat(room.ctx())
    assert [(source.kind, source.id) for source in flat] == [
        ("builtin", "house"),
        ("plugin", "luck"),
        ("skill", "novel"),
        ("mcp", "list"),
    ]
    assert sum(len(source.tools) for source in flat) == len(room.tools)
    assert [line.name for line in room.box.group(room.ctx(), "骰子").tools] == ["roll_dice", "skill_check"]


def test_a_description_carries_the_verdict_for_this_person(room: Room) -> None:
    room.settings = ToolSettings(privilege={"roll_dice": 50})
    info = room.box.describe(room.ctx(0), "roll_dice")
    assert (info.privilege, info.verdict.reason) == (50, "privilege")
    assert room.box.describe(room.ctx(50), "roll_dice").verdict.callable
    assert [layer.layer for layer in room.box.why(room.ctx(0), "roll_dice") if not layer.allowed] == ["person"]


def test_an_unknown_description_gives_the_nearest_names(room: Room) -> None:
    with pytest.raises(UnknownNameError, match="没有这个工具函数：rol_dice。相近的名字：roll_dice"):
        room.box.describe(room.ctx(), "rol_dice")


async def test_stats_are_those_of_the_session_and_of_all_busiest_first(room: Room) -> None:
    few, many = ToolStat("a", 1, 0, 2.0), ToolStat("b", 5, 1, 3.0)
    room.numbers = {"group:100": [few, many], None: [few]}
    stats = await room.box.stats(room.ctx())
    assert (stats.session, stats.overall) == ((many, few), (few,))


# --- what the model may use


def test_only_visible_and_callable_tools_are_available(room: Room) -> None:
    ctx = room.ctx(50)
    room.box.set_state(ctx, False, "dice")
    room.settings = ToolSettings(blocked={"luck"}, privilege={"grep_raw": 60})
    names = {one.name for one in room.box.available(ctx)}
    assert names == {one.name for one in house()} - {"roll_dice", "skill_check", "luck", "grep_raw"}


SEARCHES = [
    ("roll_dice", "roll_dice"),
    ("掷骰子", "roll_dice"),
    ("长期记忆", "memory_add"),
    ("以前说过什么", "memory_recall"),
    ("grep", "grep_raw"),
    ("RECALL", "memory_recall"),
    ("请帮我检索一下原文", "grep_raw"),
]


@pytest.mark.parametrize(("query", "best"), SEARCHES)
def test_search_ranks_chinese_and_english(room: Room, query: str, best: str) -> None:
    assert room.box.search(room.ctx(), query)[0].name == best


def test_search_finds_nothing_for_nonsense_and_everything_for_nothing(room: Room) -> None:
    assert room.box.search(room.ctx(50), "qqqq") == ()
    assert len(room.box.search(room.ctx(50), "", limit=None)) == len(room.tools)


@pytest.mark.parametrize(("limit", "shown"), [(0, 1), (1, 1), (20, 20), (21, 20)])
def test_search_gives_at_most_twenty(limit: int, shown: int) -> None:
    room = Room([tool(f"t{n:02}", "dice") for n in range(25)])
    assert len(room.box.search(room.ctx(), "t", limit=limit)) == shown


def test_search_keeps_to_its_group(room: Room) -> None:
    assert {line.name for line in room.box.search(room.ctx(), "", group="记忆")} == {"memory_add", "memory_recall"}
    with pytest.raises(UnknownNameError):
        room.box.search(room.ctx(), "", group="没有这组")


# --- calling


@pytest.mark.parametrize(("level", "may"), [(99, False), (100, True)])
async def test_only_the_master_calls(room: Room, level: int, may: bool) -> None:
    if may:
        result = await room.box.call(room.ctx(level), "roll_dice", {})
        assert (result.status, result.text) == ("ok", "roll_dice")
    else:
        with pytest.raises(PermissionDeniedError, match=re.escape("需要权限 100（骰主）")):
            await room.box.call(room.ctx(level), "roll_dice", {})
    assert len(room.ran) == may


async def test_arguments_as_text_are_left_to_the_runner(room: Room) -> None:
    await room.box.call(room.ctx(100), "roll_dice", '{"a": 1}')
    await room.box.call(room.ctx(100), "roll_dice", {"a": 1})
    first, second = room.ran
    assert (first.arguments, first.raw_arguments, first.origin) == (None, '{"a": 1}', "command")
    assert second.arguments == {"a": 1}
    assert first.id != second.id


async def test_an_unknown_function_is_not_run(room: Room) -> None:
    with pytest.raises(UnknownNameError, match="未注册的函数：rol_dice。相近的名字：roll_dice"):
        await room.box.call(room.ctx(100), "rol_dice", {})
    assert room.ran == []


@pytest.mark.parametrize("name", ["call_tool", "CALL_TOOL"])
async def test_an_inner_call_never_reaches_call_tool(room: Room, name: str) -> None:
    with pytest.raises(CallError, match="不能调用自己"):
        await room.box.call_inner(room.ctx(), name, {})
    assert room.ran == []


async def test_an_inner_call_has_the_rights_of_the_asker(room: Room) -> None:
    room.settings = ToolSettings(privilege={"roll_dice": 50})
    result = await room.box.call_inner(room.ctx(0), "roll_dice", None)
    assert (result.status, result.error_code) == ("denied", "privilege")


def test_parameters_are_described_in_short_type_words() -> None:
    schema = {
        "properties": {
            "plain": {"type": "integer", "default": 1, "description": "几个"},
            "choice": {"enum": ["左", "右"]},
            "one": {"const": 1},
            "perhaps": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Side"}},
            "either": {"type": ["string", "number"]},
            "free": {},
            "loop": {"$ref": "#/$defs/Loop"},
        },
        "required": ["plain"],
        "$defs": {"Side": {"enum": ["a", "b"]}, "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}},
    }
    found = parameters_of(schema)
    types = ["integer", "左|右", "1", "string|null", "array[a|b]", "string|number", "any", "any"]
    assert [parameter.type for parameter in found] == types
    assert (found[0].required, found[0].default, found[0].description) == (True, 1, "几个")
    assert not found[1].required
