"""Arguments of a call: what is taken as written, what is refused, and in which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, Field

from plugin_host.calls import ToolCall, Verdict
from plugin_host.runner.arguments import SIZE_LIMIT, Refused, parsed_arguments
from plugin_host.store.journal import TERMINAL
from plugin_host.tools import Source, Tool, tool_from_function
from tests.kit.host_room import HostRoom

HOUSE = Source("plugin", "p")


def sample(
    count: Annotated[int, Field(ge=1, le=5)] = 1, name: str = "", kind: Literal["a", "b"] = "a", deep: Any = None
) -> str:
    """A tool."""
    return ""


WRITES = tool_from_function(sample, source=HOUSE)
READS = tool_from_function(sample, source=HOUSE, read_only=True)


def of(tool: Tool = WRITES, verdict: Verdict = "clean", arguments: Any = None, raw: str = "") -> dict | Refused:
    return parsed_arguments(ToolCall("c", "sample", arguments, raw, verdict=verdict), tool)


@pytest.mark.parametrize("raw", ['{"count": 2, "name": "x"}', ' {"name":"x","count":2}\n'])
def test_json_is_taken_as_written(raw: str) -> None:
    assert of(raw=raw) == {"count": 2, "name": "x"}


@pytest.mark.parametrize("raw", ["", "  \n"])
def test_no_text_is_no_arguments(raw: str) -> None:
    assert of(raw=raw) == {}


@pytest.mark.parametrize("raw", ["{'count': 2}", '{"count": 2,}', "｛“count”：2｝", "{count: 2}", '{"count": 2}}'])
def test_a_cosmetic_repair_loses_nothing_and_runs(raw: str) -> None:
    assert of(raw=raw) == {"count": 2}


@pytest.mark.parametrize("raw", ['{"count": 2', '{"name": "half', '{"count": 2, "name"'])
def test_truncated_json_is_refused_for_a_tool_that_writes(raw: str) -> None:
    refused = of(raw=raw)
    assert isinstance(refused, Refused)
    assert refused.code == "truncated_call"
    assert refused.sentence == "调用 sample 的参数不完整，没有执行；请重新给出完整的 JSON 参数"


@pytest.mark.parametrize(("verdict", "word"), [("truncated", "不完整"), ("guessed", "写法有歧义")])
def test_a_doubtful_verdict_is_refused_unless_the_tool_only_reads(verdict: Any, word: str) -> None:
    refused = of(verdict=verdict, arguments={"count": 2})
    assert isinstance(refused, Refused)
    assert (refused.code, refused.denied) == ("truncated_call", False)
    assert word in refused.sentence
    assert of(READS, verdict, {"count": 2}) == {"count": 2}


@pytest.mark.parametrize("verdict", ["clean", "repaired"])
def test_a_sure_verdict_runs(verdict: Any) -> None:
    assert of(verdict=verdict, arguments={"count": 2}) == {"count": 2}


def test_a_response_that_was_cut_makes_a_repaired_text_truncated_but_not_a_whole_one() -> None:
    assert isinstance(of(verdict="truncated", raw="{'count': 2}"), Refused)
    assert of(verdict="truncated", raw='{"count": 2}') == {"count": 2}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"count": True}, ["count", "整数", "true"]),
        ({"count": "2"}, ["count", "整数", '"2"']),
        ({"count": 1.5}, ["count", "整数", "1.5"]),
        ({"count": 0}, ["count", "不能小于 1", "0"]),
        ({"count": 6}, ["count", "不能大于 5", "6"]),
        ({"kind": "c"}, ["kind", '"a"', '"c"']),
        ({"wrong": 1}, ["没有参数 wrong", "count"]),
        ({"name": None}, ["name", "字符串", "null"]),
    ],
)
def test_what_does_not_fit_is_told_with_path_expected_and_got(arguments: dict[str, Any], words: list[str]) -> None:
    refused = of(arguments=arguments)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.denied) == ("invalid_arguments", False)
    assert refused.sentence.startswith("参数错误：")
    for word in words:
        assert word in refused.sentence


@pytest.mark.parametrize("count", [1, 5])
def test_the_ends_of_a_range_are_inside(count: int) -> None:
    assert of(arguments={"count": count}) == {"count": count}


@pytest.mark.parametrize("raw", ["[1]", '"x"', "3", "true", "null"])
def test_what_is_no_object_is_refused(raw: str) -> None:
    refused = of(raw=raw)
    assert isinstance(refused, Refused)
    assert "应为 JSON 对象" in refused.sentence


@pytest.mark.parametrize(("size", "taken"), [(SIZE_LIMIT, True), (SIZE_LIMIT + 1, False)])
def test_the_size_of_arguments_is_limited(size: int, taken: bool) -> None:
    head, tail = '{"name": "', '"}'
    raw = head + "x" * (size - len(head) - len(tail)) + tail
    found = of(raw=raw)
    assert isinstance(found, dict) is taken
    if isinstance(found, Refused):
        assert found.code == "arguments_too_large"


def test_a_deeply_nested_text_is_refused_and_nothing_more() -> None:
    assert isinstance(of(raw="[" * 30_000), Refused)
    assert isinstance(of(raw='{"deep": ' + "[" * 30_000), Refused)


@given(st.fixed_dictionaries({}, optional={"count": st.integers(1, 5), "name": st.text(), "kind": st.just("b")}))
def test_a_parsed_object_and_its_text_give_the_same(arguments: dict[str, Any]) -> None:
    assert of(arguments=arguments) == of(raw=json.dumps(arguments)) == arguments


@given(st.text(max_size=200))
def test_no_text_raises(raw: str) -> None:
    assert isinstance(of(raw=raw), dict | Refused)


def explode(value: int) -> int:
    """A plugin's own check that is broken."""
    raise KeyError("secret detail")


def refuse(value: int) -> int:
    """A plugin's own check."""
    raise ValueError("只能是偶数")


def spin(value: int) -> int:
    """A plugin's own check that never ends."""
    while value:
        pass
    return value


def checked(validator: Any) -> Any:
    async def tool(count: int) -> str:
        return str(count)

    tool.__annotations__["count"] = Annotated[int, AfterValidator(validator)]
    tool.__doc__ = "Counts."
    return tool


async def test_a_plugins_own_check_refuses_in_its_words_and_a_broken_one_fails_the_call(
    tmp_path: Path, logs: list[str]
) -> None:
    async with HostRoom(tmp_path) as room:
        room.offer(checked(refuse), name="refuses")
        room.offer(checked(explode), name="explodes", owner="other")
        refused, exploded = await room.call("refuses", count=1), await room.call("explodes", count=1)
        assert (refused.error_code, "只能是偶数" in refused.text) == ("invalid_arguments", True)
        assert (exploded.status, exploded.error_code, exploded.text) == (
            "error",
            "failed",
            "explodes 执行失败（详情见日志）",
        )
        assert any("plugin other failed in explodes" in line for line in logs)
        assert [line.entry.type for line in await room.journal(*TERMINAL)] == ["tool_call_refused"] * 2


async def test_a_plugins_own_check_that_never_ends_is_interrupted(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        room.host.plugins._loopwatch._limit = 0.2
        room.host.plugins._loopwatch._owner_of = lambda file: "test" if file == __file__ else None
        room.offer(checked(spin))
        result = await room.call("tool", count=1)
        assert (result.status, result.error_code) == ("error", "interrupted")
