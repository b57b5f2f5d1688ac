"""Policy: every layer, the conjunction, and that the order of layers only chooses the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_host.config.settings import ToolSettings
from plugin_host.policy import LayerVerdict, Rules, TurnUse, Verdict, conclude, decide, layers
from plugin_host.registry import Registry
from plugin_host.tools import Budget, Tool
from tests.kit.toolroom import Room, context, tool


def judge(one: Tool, level: int = 0, *, rules: Rules | None = None, switches: Any = None, **given_to: Any) -> Verdict:
    turn = given_to.pop("turn", None)
    return decide(one, context(level, **given_to), switches=switches or {}, rules=rules or Rules(), turn=turn)


def test_a_plain_tool_is_visible_and_callable_for_everybody() -> None:
    assert judge(tool("a")) == Verdict(True, True, False, "ok", "可以使用", "", None)


DENIALS: list[tuple[str, Tool, dict[str, Any], str, str]] = [
    ("platform", tool("a", platforms=frozenset({"discord"})), {}, "place", "platform_unavailable"),
    ("group only", tool("a", session_types="group"), {"session": "private:1"}, "place", "session_type"),
    ("private only", tool("a", session_types="private"), {}, "place", "session_type"),
    ("blocked", tool("a"), {"rules": Rules(blocked=frozenset({"a"}))}, "owner", "blocked"),
    ("black-listed", tool("a"), {"level": -30}, "person", "blacklisted"),
    ("privilege", tool("a", privilege=50), {"level": 49}, "person", "privilege"),
    ("config privilege", tool("a"), {"rules": Rules(privilege={"a": 1})}, "person", "privilege"),
    ("mcp", tool("a", kind="mcp"), {"level": 49}, "person", "privilege"),
    ("http", tool("a", kind="http"), {"level": 49}, "person", "privilege"),
    ("sensitive plugin", tool("a", kind="plugin", sensitive=True), {"level": 49}, "person", "privilege"),
    ("anonymous", tool("a", sensitive=True), {"level": 100, "user_id": None}, "person", "anonymous"),
    ("anonymous http", tool("a", kind="http"), {"level": 100, "user_id": None}, "person", "anonymous"),
    ("anonymous level", tool("a", privilege=1), {"level": 100, "user_id": None}, "person", "privilege"),
    ("collision", tool("a"), {"rules": Rules(refused=frozenset({"a"}))}, "source", "name_collision"),
    ("shut", tool("a"), {"rules": Rules(shut=frozenset({"house"}))}, "source", "source_shut"),
    ("requires", tool("a", requires=frozenset({"vision"})), {}, "requirement", "requirement_missing"),
    (
        "bot role",
        tool("a", requires=frozenset({"bot_admin"})),
        {"bot_role": "member"},
        "requirement",
        "requirement_missing",
    ),
    ("switched off", tool("a"), {"switches": {"a": False}}, "switch", "switched_off"),
    ("default off", tool("a", default_on=False), {}, "switch", "switched_off"),
    ("config default off", tool("a"), {"rules": Rules(default_off=frozenset({"a"}))}, "switch", "switched_off"),
    ("approval deny", tool("a", approval="deny"), {"level": 100}, "approval", "approval_denied"),
]


@pytest.mark.parametrize(("_name", "one", "situation", "layer", "reason"), DENIALS, ids=[row[0] for row in DENIALS])
def test_each_layer_denies_and_hides(_name: str, one: Tool, situation: dict[str, Any], layer: str, reason: str) -> None:
    verdict = judge(one, **situation)
    assert (verdict.layer, verdict.reason) == (layer, reason)
    assert not verdict.visible
    assert not verdict.callable
    assert one.name in verdict.sentence


@pytest.mark.parametrize(
    ("one", "situation"),
    [
        (tool("a", platforms=frozenset({"QQ"})), {}),
        (tool("a", session_types="group"), {"session": "discord/group:1"}),
        (tool("a", session_types="private"), {"session": "private:1"}),
        (tool("a", privilege=50), {"level": 50}),
        (tool("a", kind="mcp"), {"level": 50}),
        (tool("a", kind="mcp"), {"rules": Rules(privilege={"a": 0})}),
        (tool("a", kind="mcp"), {"rules": Rules(trust="open")}),
        (tool("a", privilege=50), {"rules": Rules(privilege={"a": 0})}),
        (tool("a", sensitive=True), {}),
        (tool("a"), {"user_id": None}),
        (tool("a", requires=frozenset({"vision"})), {"rules": Rules(available=frozenset({"vision"}))}),
        (tool("a", requires=frozenset({"bot_admin"})), {"bot_role": "owner"}),
        (tool("a", default_on=False), {"switches": {"a": True}}),
        (tool("a"), {"rules": Rules(default_off=frozenset({"a"})), "switches": {"a": True}}),
    ],
)
def test_each_layer_lets_pass_what_it_must(one: Tool, situation: dict[str, Any]) -> None:
    assert judge(one, **situation).callable


async def coroutine() -> str:
    return ""


def test_a_shut_source_refuses_plain_functions_only() -> None:
    shut = Rules(shut=frozenset({"house"}))
    assert judge(tool("a", function=coroutine), rules=shut).callable
    assert not judge(tool("a"), rules=shut).callable


def test_blocked_wins_over_a_switch_that_is_on() -> None:
    verdict = judge(tool("a"), 100, rules=Rules(blocked=frozenset({"a"})), switches={"a": True})
    assert verdict.reason == "blocked"


def test_a_switched_off_tool_says_how_to_switch_it_on() -> None:
    assert ".ai tool on a" in judge(tool("a"), switches={"a": False}).sentence


def test_a_refusal_for_privilege_names_both_levels() -> None:
    sentence = judge(tool("a", privilege=50), 0).sentence
    assert "权限 50（群管理员）" in sentence
    assert "当前权限是 0" in sentence


@pytest.mark.parametrize(("made", "callable_", "left"), [(0, True, 3), (2, True, 1), (3, False, 0), (4, False, 0)])
def test_the_turn_budget_ends_at_its_number(made: int, callable_: bool, left: int) -> None:
    verdict = judge(tool("a", budget=Budget(per_turn=3)), turn=TurnUse(in_turn={"a": made, "b": 9}))
    assert (verdict.callable, verdict.budget, verdict.visible) == (callable_, left, True)
    assert verdict.reason == ("ok" if callable_ else "budget_turn")


@pytest.mark.parametrize(("made", "reason"), [(9, "ok"), (10, "budget_minute")])
def test_the_minute_budget_ends_at_its_number(made: int, reason: str) -> None:
    verdict = judge(tool("a", budget=Budget(per_minute=10)), turn=TurnUse(in_minute={"a": made}))
    assert (verdict.reason, verdict.visible) == (reason, True)


@pytest.mark.parametrize(
    ("one", "level", "surface", "trust", "asks"),
    [
        (tool("a", approval="ask"), 0, "group", "guarded", True),
        (tool("a", approval="ask"), 0, "group", "open", True),
        (tool("a", destructive=True), 100, "group", "guarded", True),
        (tool("a", destructive=True), 0, "group", "open", False),
        (tool("a", destructive=True), 99, "command", "guarded", True),
        (tool("a", destructive=True), 100, "command", "guarded", False),
        (tool("a"), 0, "group", "guarded", False),
    ],
)
def test_approval_is_asked_where_it_must(one: Tool, level: int, surface: str, trust: Any, asks: bool) -> None:
    verdict = judge(one, level, surface=surface, rules=Rules(trust=trust))
    assert (verdict.needs_approval, verdict.visible, verdict.callable) == (asks, True, True)


def test_a_denied_tool_asks_for_no_approval() -> None:
    assert not judge(tool("a", approval="ask"), switches={"a": False}).needs_approval


def test_rules_are_built_from_the_settings_and_the_registry() -> None:
    settings = ToolSettings(blocked={"x"}, default_off={"y"}, trust="open", privilege={"z": 7})
    room = Room([tool("same", kind="plugin", source="one"), tool("same", kind="plugin", source="two")])
    rules = Rules.of(settings, registry=room.registry, shut=["slow"], available=["vision"])
    assert rules == Rules(
        frozenset({"x"}),
        frozenset({"y"}),
        {"z": 7},
        "open",
        frozenset({"same"}),
        frozenset({"slow"}),
        frozenset({"vision"}),
    )
    assert Rules.of(ToolSettings(), registry=Registry()) == Rules()


def test_a_built_in_that_won_a_collision_is_not_refused() -> None:
    room = Room([tool("same"), tool("same", kind="plugin", source="two")])
    assert Rules.of(ToolSettings(), registry=room.registry).refused == frozenset()


# --- properties

LAYERS = ("place", "owner", "person", "source", "requirement", "switch", "budget", "approval")
names = st.sampled_from(["a", "b"])
tools = st.builds(
    tool,
    st.just("a"),
    kind=st.sampled_from(["builtin", "plugin", "mcp", "http"]),
    privilege=st.sampled_from([0, 40, 100]),
    platforms=st.sampled_from([frozenset(), frozenset({"discord"})]),
    session_types=st.sampled_from(["any", "group", "private"]),
    default_on=st.booleans(),
    approval=st.sampled_from(["never", "ask", "deny"]),
    sensitive=st.booleans(),
    destructive=st.booleans(),
    requires=st.sampled_from([frozenset(), frozenset({"vision"})]),
    budget=st.builds(Budget, st.sampled_from([None, 1]), st.sampled_from([None, 1])),
)
rule_sets = st.builds(
    Rules,
    blocked=st.frozensets(names),
    default_off=st.frozensets(names),
    privilege=st.dictionaries(names, st.sampled_from([0, 50])),
    trust=st.sampled_from(["guarded", "open"]),
    refused=st.frozensets(names),
    shut=st.frozensets(st.just("house")),
    available=st.frozensets(st.just("vision")),
)
switch_sets = st.dictionaries(names, st.booleans())
uses = st.builds(TurnUse, st.dictionaries(names, st.integers(0, 2)), st.dictionaries(names, st.integers(0, 2)))
people = st.tuples(
    st.sampled_from([-30, 0, 50, 100]), st.sampled_from(["group:1", "private:1"]), st.sampled_from([None, "1"])
)


@given(tools, rule_sets, switch_sets, uses, people)
def test_any_denial_wins_and_the_first_is_reported(
    one: Tool, rules: Rules, switches: dict[str, bool], turn: TurnUse, person: tuple[int, str, str | None]
) -> None:
    ctx = context(person[0], person[1], user_id=person[2])
    found = layers(one, ctx, switches=switches, rules=rules, turn=turn)
    verdict = decide(one, ctx, switches=switches, rules=rules, turn=turn)
    denials = [layer for layer in found if not layer.allowed]
    assert tuple(layer.layer for layer in found) == LAYERS
    assert verdict.callable == (not denials)
    assert verdict.visible == all(denial.layer == "budget" for denial in denials)
    assert not (verdict.needs_approval and denials)
    if denials:
        first = denials[0]
        assert (verdict.layer, verdict.reason, verdict.sentence) == (first.layer, first.reason, first.sentence)


@given(tools, rule_sets, switch_sets, people)
def test_switching_on_never_gives_more_than_the_other_layers_allow(
    one: Tool, rules: Rules, switches: dict[str, bool], person: tuple[int, str, str | None]
) -> None:
    ctx = context(person[0], person[1], user_id=person[2])
    found = layers(one, ctx, switches=switches | {"a": True}, rules=rules)
    verdict = decide(one, ctx, switches=switches | {"a": True}, rules=rules)
    others_allow = all(layer.allowed for layer in found if layer.layer != "switch")
    assert verdict.callable == others_allow


@given(
    st.lists(st.sampled_from(LAYERS), unique=True).flatmap(
        lambda picked: st.tuples(
            st.just([LayerVerdict(layer, False, layer, layer) for layer in picked]),  # type: ignore[arg-type]
            st.permutations([LayerVerdict(layer, layer not in picked, layer, layer) for layer in LAYERS]),  # type: ignore[arg-type]
        )
    ),
    st.booleans(),
)
def test_the_order_of_layers_changes_the_reason_only(
    pair: tuple[list[LayerVerdict], list[LayerVerdict]], asks: bool
) -> None:
    denied, shuffled = pair
    ordered = conclude(sorted(shuffled, key=lambda verdict: LAYERS.index(verdict.layer)), asks=asks)
    other = conclude(shuffled, asks=asks)
    same = {"reason": "", "sentence": "", "layer": ""}
    assert replace(ordered, **same) == replace(other, **same)  # type: ignore[arg-type]
    assert ordered.callable == (not denied)
    if denied:
        assert other.reason in {verdict.reason for verdict in denied}
