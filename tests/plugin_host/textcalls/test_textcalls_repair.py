"""Repair of damaged JSON and its verdicts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugin_host.textcalls import repair

SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=6), VALUES, max_size=4)


@settings(deadline=None)
@given(VALUES, st.booleans())
def test_valid_json_is_never_changed_and_always_clean(value: Any, ascii_only: bool) -> None:
    assert repair(json.dumps(value, ensure_ascii=ascii_only)) == (value, "clean")


@settings(deadline=None)
@given(
    st.text(max_size=80) | st.lists(st.sampled_from(list("{}[]\",:'\\ \n/*#a1“”｛｝：，")), max_size=40).map("".join)
)
def test_no_text_raises_and_repair_is_idempotent(text: str) -> None:
    value, _ = repair(text)
    assert repair(json.dumps(value)) == (value, "clean")


@settings(deadline=None)
@given(OBJECTS, st.integers(0, 400))
def test_a_cut_object_never_passes_as_whole_unless_its_last_value_is_closed(value: dict[str, Any], at: int) -> None:
    text = json.dumps(value)
    cut = text[: at % len(text)]
    if repair(cut)[1] == "repaired":
        assert cut.rstrip().endswith(('"', "]", "}", "true", "false", "null"))


@settings(deadline=None)
@given(OBJECTS)
def test_damage_without_loss_keeps_every_value(value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for damaged in (
        f"\ufeff{text}",
        f"结果如下 {text}",
        f"{text} 好了",
        f"{text}}}",
        f"// x\n{text}",
        f"{text}\n{text}",
    ):
        assert repair(damaged) == (value, "repaired")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'b', \"c\": True, d: None}", {"a": "b", "c": True, "d": None}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ('{"a": "b\nc"}', {"a": "b\nc"}),
        ("{'a': 'say \"hi\"'}", {"a": 'say "hi"'}),
        ("{'a': 'it\\'s'}", {"a": "it's"}),
        ("｛“a”：“x，y：z”，“b”：［1，2］｝", {"a": "x，y：z", "b": [1, 2]}),
        ('{"a":1}{"a":1}', {"a": 1}),
        ('[注] 用 {x} 表示 {"a": 1}', {"a": 1}),
        ('<think>{"no": [</think>{"a": 1}', {"a": 1}),
        ('{"a": {"b": "c"', {"a": {"b": "c"}}),
        ('[{"arguments": {"a": 1, "b": [2]}]', [{"arguments": {"a": 1, "b": [2]}}]),
        ('{"a": true', {"a": True}),
        ('{"a": [1]', {"a": [1]}),
    ],
)
def test_lossless_forms_are_repaired(text: str, value: Any) -> None:
    assert repair(text) == (value, "repaired")


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1}{"a":2}',
        '{"a": oops, "b": {"c": 1}}',
        '{"a":{"b":1}},"c":2}',
        '{"a": "say "hi" now"}',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        '{"a": NaN}',
        r'{"a": "\d"}',
        "{'a': 1_000}",
        '[{"arguments": {"a": {"b": 1, "c": 2}}]',
        '[{"arguments": {"a": 1, "id": "x"}]',
        '[{"a": [[1, 2], "b"}]',
        "没有括号",
        "[" * 65 + "]" * 64,
    ],
)
def test_a_choice_between_readings_is_only_a_guess(text: str) -> None:
    assert repair(text)[1] == "guessed"


@pytest.mark.parametrize(
    "text", ['{"count":1', '{"a":"x', '{"a":"x",', '{"a":', '{"a', '{"a"', '{"a":1.', '{"a":tru', "[1,2"]
)
def test_an_end_where_a_value_may_go_on_is_truncated(text: str) -> None:
    assert repair(text)[1] == "truncated"


def test_nesting_is_repaired_to_a_depth_of_64() -> None:
    assert repair("[" * 64 + "1," + "]" * 64)[1] == "repaired"
    assert repair("[" * 65 + "1," + "]" * 65)[1] == "guessed"


def test_damage_is_repaired_up_to_64_kib() -> None:
    def sized(size: int) -> str:
        return '{"a": "' + "x" * (size - 10) + '",}'

    assert repair(sized(64 * 1024)) == ({"a": "x" * (64 * 1024 - 10)}, "repaired")
    assert repair(sized(64 * 1024 + 1)) == (None, "guessed")


def test_guessing_reads_4_kib_and_no_more() -> None:
    def sized(size: int) -> str:
        return '{"a": oops' + " " * (size - 11) + "}"

    assert repair(sized(4096)) == ({"a": "oops"}, "guessed")
    assert repair(sized(4097)) == (None, "guessed")
