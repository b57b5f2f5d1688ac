"""Tools: how a plain function becomes one, and what it must not look like."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from plugin_host import CallContext
from plugin_host.errors import HostError
from plugin_host.tools import ALIAS_LIMIT, NAME_PATTERN, Source, Tool, provider_alias, tool_from_function

HERE = Source("plugin", "here")


class Side(enum.Enum):
    LEFT = "左"
    RIGHT = "右"


class Point(BaseModel):
    x: int
    y: int = 0


def made(function: Any, **options: Any) -> Tool:
    return tool_from_function(function, source=HERE, **options)


def move(
    ctx: CallContext,
    steps: Annotated[int, Field(ge=1, le=10, description="几步")],
    side: Side,
    mode: Literal["walk", "run"] = "walk",
    note: Optional[str] = None,  # noqa: UP045 - the old spelling must work too
    to: Point | None = None,
) -> str:
    """走几步。

    第二段。
    """
    return f"{ctx.user_id} {steps} {side} {mode} {note} {to}"


def test_name_description_and_schema_come_from_the_function() -> None:
    tool = made(move)
    assert (tool.name, tool.description, tool.context_parameter) == ("move", "走几步。\n\n第二段。", "ctx")
    properties = tool.input_schema["properties"]
    assert list(properties) == ["steps", "side", "mode", "note", "to"]
    assert properties["steps"] == {"type": "integer", "minimum": 1, "maximum": 10, "description": "几步"}
    assert properties["mode"] == {"type": "string", "enum": ["walk", "run"], "default": "walk"}
    assert tool.input_schema["required"] == ["steps", "side"]
    assert tool.input_schema["additionalProperties"] is False
    assert tool.input_schema["$defs"]["Side"]["enum"] == ["左", "右"]


FITS: list[tuple[dict[str, Any], str]] = [
    ({"steps": 1, "side": "左"}, ""),
    ({"steps": 10, "side": "右", "mode": "run", "note": None, "to": {"x": 1}}, ""),
    ({"steps": 0, "side": "左"}, "steps 不能小于 1，实际是 0"),
    ({"steps": 11, "side": "左"}, "steps 不能大于 10，实际是 11"),
    ({"steps": True, "side": "左"}, "steps 应为整数，实际是 true"),
    ({"steps": "1", "side": "左"}, 'steps 应为整数，实际是 "1"'),
    ({"steps": 1, "side": "上"}, 'side 应为 ["左", "右"] 之一，实际是 "上"'),
    ({"steps": 1, "side": "左", "mode": "fly"}, 'mode 应为 ["walk", "run"] 之一，实际是 "fly"'),
    ({"side": "左"}, "缺少必需参数 steps"),
    ({"steps": 1, "side": "左", "ctx": {}}, "没有参数 ctx；可用参数：mode、note、side、steps、to"),
]


@pytest.mark.parametrize(("arguments", "complaint"), FITS)
def test_arguments_are_judged_by_the_signature(arguments: dict[str, Any], complaint: str) -> None:
    assert made(move).schema.complaints(arguments) == ([complaint] if complaint else [])


def test_the_model_turns_json_into_what_the_function_is_annotated_with() -> None:
    model = made(move).arguments_model
    assert model is not None
    value = model.model_validate({"steps": 2, "side": "左", "to": {"x": 3}})
    assert (value.side, value.to) == (Side.LEFT, Point(x=3))  # type: ignore[attr-defined]


def test_flags_and_fields_are_options() -> None:
    tool = made(move, group="dice", sensitive=True, read_only=True, privilege=40, name="go.on", description="另一句")
    assert tool.annotations.flags == ("read_only", "sensitive")
    assert (tool.name, tool.alias, tool.description) == ("go.on", "go__on", "另一句")
    assert (tool.group, tool.privilege) == ("dice", 40)


@pytest.mark.parametrize(
    ("options", "outside"),
    [({}, True), ({"read_only": True}, False), ({"random": True}, False), ({"read_only": True, "outside": True}, True)],
)
def test_reading_and_rolling_have_no_effect_outside_unless_said(options: dict[str, bool], outside: bool) -> None:
    assert made(move, **options).outside is outside


async def waiting(text: str) -> str:
    """等。"""
    return text


def test_a_coroutine_function_is_a_tool_too() -> None:
    assert made(waiting).input_schema["required"] == ["text"]


def no_parameters() -> str:
    """什么也不要。"""
    return ""


def test_a_function_without_parameters_takes_no_arguments() -> None:
    tool = made(no_parameters)
    assert tool.schema.complaints({}) == []
    assert tool.schema.complaints({"a": 1}) == ["没有参数 a；可用参数：无"]


def shadowing(copy: int, schema: str = "", json: bool = False) -> str:
    """参数名和 pydantic 的方法重名。"""
    return f"{copy}{schema}{json}"


def test_parameters_may_be_called_like_methods_of_a_model() -> None:
    tool = made(shadowing)
    assert tool.arguments_model is not None
    assert tool.arguments_model.model_validate({"copy": 1}).copy == 1
    assert list(tool.input_schema["properties"]) == ["copy", "schema", "json"]


class Foreign:
    pass


def untyped(a) -> str:  # type: ignore[no-untyped-def]
    """x"""
    return str(a)


def starred(*a: int) -> str:
    """x"""
    return str(a)


def keywords(**a: int) -> str:
    """x"""
    return str(a)


def positional(a: int, /) -> str:
    """x"""
    return str(a)


def underscored(_a: int) -> str:
    """x"""
    return str(_a)


def foreign(a: Foreign) -> str:
    """x"""
    return str(a)


def unresolved(a: Nowhere) -> str:  # type: ignore[name-defined] # noqa: F821
    """x"""
    return str(a)


def undocumented(a: int) -> str:
    return str(a)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (untyped, "'a' needs a type annotation"),
        (starred, "'a' must be a plain named parameter"),
        (keywords, "'a' must be a plain named parameter"),
        (positional, "'a' must be a plain named parameter"),
        (underscored, "'_a' needs a type annotation and no leading '_'"),
        (foreign, "make no schema"),
        (unresolved, "annotations cannot be resolved"),
        (undocumented, "needs a docstring"),
    ],
)
def test_an_unusable_function_is_refused_in_one_sentence(function: Any, named: str) -> None:
    with pytest.raises(HostError) as refused:
        made(function)
    assert named in str(refused.value)
    assert function.__name__ in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(HostError, match=r"unknown option\(s\) sensitiv"):
        made(move, sensitiv=True)


@pytest.mark.parametrize("name", ["a" * 128, "a.b-c_D9"])
def test_names_of_letters_digits_and_three_signs_are_good(name: str) -> None:
    assert made(move, name=name).name == name


@pytest.mark.parametrize("name", ["a" * 129, "掷骰", "a b", "a/b", "a\n"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(HostError, match="must match"):
        made(move, name=name)


@pytest.mark.parametrize(("length", "alias_length"), [(63, 63), (64, 64), (65, 64), (128, 64)])
def test_an_alias_has_at_most_64_characters(length: int, alias_length: int) -> None:
    assert len(provider_alias("a" * length)) == alias_length == min(length, ALIAS_LIMIT)


@given(st.from_regex(NAME_PATTERN, fullmatch=True))
def test_an_alias_is_provider_safe(name: str) -> None:
    alias = provider_alias(name)
    assert 0 < len(alias) <= ALIAS_LIMIT
    assert all(sign.isascii() and (sign.isalnum() or sign in "_-") for sign in alias)


def test_a_given_schema_replaces_the_derived_one() -> None:
    given_schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert made(undocumented, description="x", input_schema=given_schema).input_schema == given_schema
