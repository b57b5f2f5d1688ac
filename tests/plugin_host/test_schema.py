"""Schema: complaints name path, expected and got in Chinese; foreign documents are checked first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_host.errors import HostError
from plugin_host.schema import COMPLAINT_LIMIT, DEPTH_LIMIT, SIZE_LIMIT, Schema


def of(part: dict[str, Any], *, required: bool = False) -> Schema:
    """A schema with the one property ``a``."""
    document: dict[str, Any] = {"type": "object", "properties": {"a": part}, "additionalProperties": False}
    return Schema(document | ({"required": ["a"]} if required else {}))


COMPLAINTS: list[tuple[dict[str, Any], Any, str]] = [
    ({"type": "integer"}, "x", 'a 应为整数，实际是 "x"'),
    ({"type": "integer"}, True, "a 应为整数，实际是 true"),
    ({"type": "integer"}, 1.5, "a 应为整数，实际是 1.5"),
    ({"type": "number"}, False, "a 应为数字，实际是 false"),
    ({"type": "string"}, 1, "a 应为字符串，实际是 1"),
    ({"type": "boolean"}, 1, "a 应为布尔值，实际是 1"),
    ({"type": "array"}, {}, "a 应为数组，实际是 {}"),
    ({"type": "object"}, [], "a 应为对象，实际是 []"),
    ({"type": ["string", "null"]}, 1, "a 应为字符串或空值，实际是 1"),
    ({"enum": ["甲", "乙"]}, "丙", 'a 应为 ["甲", "乙"] 之一，实际是 "丙"'),
    ({"const": 1}, 2, "a 应为 1，实际是 2"),
    ({"minimum": 1}, 0, "a 不能小于 1，实际是 0"),
    ({"maximum": 1}, 2, "a 不能大于 1，实际是 2"),
    ({"exclusiveMinimum": 1}, 1, "a 必须大于 1，实际是 1"),
    ({"exclusiveMaximum": 1}, 1, "a 必须小于 1，实际是 1"),
    ({"minLength": 2}, "一", 'a 至少 2 个字符，实际是 "一"'),
    ({"maxLength": 2}, "一二三", "a 至多 2 个字符，实际 3 个"),
    ({"minItems": 1}, [], "a 至少 1 项，实际 0 项"),
    ({"maxItems": 1}, [1, 2], "a 至多 1 项，实际 2 项"),
    ({"multipleOf": 5}, 3, "a 不符合 multipleOf 规则，实际是 3"),
    ({"items": {"properties": {"b": {"type": "integer"}}}}, [{}, {"b": "x"}], 'a.1.b 应为整数，实际是 "x"'),
    ({"properties": {"b": {}}, "required": ["b"]}, {}, "缺少必需参数 b（在 a 中）"),
    ({"properties": {"b": {}}, "additionalProperties": False}, {"c": 1}, "没有参数 c（在 a 中）；可用参数：b"),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", 'a 应为整数或空值，实际是 "x"'),
    ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, 0, "a 不能小于 1，实际是 0"),
    ({"anyOf": [{"properties": {"b": {"type": "null"}}}, {"type": "null"}]}, {"b": 1}, "a.b 应为空值，实际是 1"),
    (
        {"anyOf": [{"minimum": 5}, {"multipleOf": 2}]},
        3,
        "a 不符合任何一种写法，实际是 3（a 不能小于 5，实际是 3；a 不符合 multipleOf 规则，实际是 3）",
    ),
    ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3, "a 不符合任何一种写法，实际是 3"),
]


@pytest.mark.parametrize(("part", "value", "complaint"), COMPLAINTS)
def test_a_complaint_names_path_expected_and_got(part: dict[str, Any], value: Any, complaint: str) -> None:
    assert of(part).complaints({"a": value}) == [complaint]


def test_what_fits_has_no_complaint() -> None:
    assert of({"type": "integer", "minimum": 1}, required=True).complaints({"a": 1}) == []


def test_missing_and_unknown_arguments_are_both_told() -> None:
    schema = of({"type": "integer"}, required=True)
    assert schema.complaints({"b": 1}) == ["没有参数 b；可用参数：a", "缺少必需参数 a"]


def test_every_missing_argument_is_told_once() -> None:
    schema = Schema({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]})
    assert schema.complaints({}) == ["缺少必需参数 a、b"]


def test_at_most_five_complaints_are_given() -> None:
    names = "abcdefgh"
    schema = Schema({"type": "object", "properties": {name: {"type": "integer"} for name in names}})
    assert len(schema.complaints(dict.fromkeys(names, "x"))) == COMPLAINT_LIMIT == 5


@pytest.mark.parametrize(("length", "shown"), [(58, '"' + "x" * 58 + '"'), (59, '"' + "x" * 56 + "…")])
def test_a_long_value_is_shown_short(length: int, shown: str) -> None:
    assert of({"type": "integer"}).complaints({"a": "x" * length}) == [f"a 应为整数，实际是 {shown}"]


def test_endless_recursion_is_a_complaint() -> None:
    document: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}
    assert Schema(document).complaints({"a": 1}) == ["参数嵌套过深，无法校验"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_any_value_is_judged_without_an_exception(value: Any) -> None:
    complaints = of({"type": "integer"}).complaints({"a": value})
    assert bool(complaints) == (not isinstance(value, int) or isinstance(value, bool))


def nested(levels: int) -> dict[str, Any]:
    """A schema document of so many levels (at least three)."""
    inner: dict[str, Any] = {}
    for _ in range(levels - 1):
        inner = {"not": inner}
    return {"type": "object", **inner}


def of_size(size: int) -> dict[str, Any]:
    """A schema document whose JSON has ``size`` characters."""
    document = {"type": "object", "description": ""}
    return document | {"description": "x" * (size - len(json.dumps(document)))}


@pytest.mark.parametrize(("document", "good"), [(nested(DEPTH_LIMIT), True), (nested(DEPTH_LIMIT + 1), False)])
def test_a_foreign_schema_has_at_most_32_levels(document: dict[str, Any], good: bool) -> None:
    check(document, None if good else "larger than")


@pytest.mark.parametrize(("size", "good"), [(SIZE_LIMIT, True), (SIZE_LIMIT + 1, False)])
def test_a_foreign_schema_has_at_most_64_kib(size: int, good: bool) -> None:
    check(of_size(size), None if good else "larger than")


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"type": "array"}, "must have type 'object', got 'array'"),
        ({}, "must have type 'object', got None"),
        ({"type": "object", "properties": {"a": {"type": "nonsense"}}}, "not valid JSON Schema"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.org/x"}}}, "'https://example.org/x' outside"),
        ({"type": "object", "allOf": [{"$ref": "other.json#/a"}]}, "'other.json#/a' outside"),
    ],
)
def test_an_unusable_foreign_schema_is_refused_in_words(document: dict[str, Any], named: str) -> None:
    check(document, named)


def test_a_reference_within_the_document_is_good() -> None:
    check({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "integer"}}}, None)


def check(document: dict[str, Any], named: str | None) -> None:
    """``document`` is accepted, or refused with a sentence that holds ``named``."""
    if named is None:
        assert Schema.checked(document, "t") is document
        return
    with pytest.raises(HostError) as refused:
        Schema.checked(document, "t")
    assert named in str(refused.value)
    assert "'t'" in str(refused.value)
