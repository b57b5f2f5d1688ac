"""Calls: identity of a call, text of a result, steps of a turn."""

from __future__ import annotations

from typing import Any

import pytest

from plugin_host.calls import Part, ToolCall, ToolResult, TurnCalls


def identity(name: str, arguments: Any = None, raw: str = "", id: str = "c") -> str:
    return ToolCall(id, name, arguments, raw).identity


def test_calls_that_ask_the_same_are_equal_whatever_their_id_and_the_order_of_their_arguments() -> None:
    assert identity("t", {"a": 1, "b": 2}) == identity("t", {"b": 2, "a": 1}, id="d", raw="x")
    assert identity("t", {"a": {"x": 1, "y": 2}}) == identity("t", {"a": {"y": 2, "x": 1}})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("t", {"a": 1}), ("u", {"a": 1})),
        (("t", {"a": 1}), ("t", {"a": "1"})),
        (("t", {"a": 1}), ("t", {"a": True})),
        (("t", {}), ("t", None)),
        (("t", None, '{"a": 1'), ("t", None, '{"a": 2')),
    ],
)
def test_calls_that_ask_something_else_differ(one: Any, other: Any) -> None:
    assert identity(*one) != identity(*other)


def test_half_a_character_has_an_identity_too() -> None:
    assert identity("t", {"a": "\ud83d"}) != identity("t", {"a": "?"})


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((), ""),
        ((Part("text", "好"),), "好"),
        ((Part("text", "好"), Part("json", {"点": [1, None]})), '好\n{"点": [1, null]}'),
        ((Part("json", "字"),), "字"),
        ((Part("json", {"a": object}),), '{"a": "<class \'object\'>"}'),
        ((Part("text", "半\ud83d"),), "半?"),
    ],
)
def test_the_text_of_a_result(parts: tuple[Part, ...], text: str) -> None:
    assert ToolResult("c", "t", "ok", parts).text == text


@pytest.mark.parametrize("status", ["ok", "error", "denied", "timeout", "cancelled", "unknown_outcome"])
def test_only_ok_is_ok(status: Any) -> None:
    assert ToolResult("c", "t", status).ok is (status == "ok")


def test_steps_of_a_turn_begin_at_one() -> None:
    calls = TurnCalls()
    assert [calls.next_step() for _ in range(3)] == [1, 2, 3]
    assert TurnCalls().steps == 0
