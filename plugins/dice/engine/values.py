"""Owns the values of expressions: what they are, how they are read as numbers, truth and text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Literal

from plugins.dice.engine.errors import DiceError, Span

Number = int | float
Scalar = int | float | str
# Lists hold scalars only: a list of lists could double with every assignment.
Value = Scalar | tuple[Scalar, ...]
Result = int | float | str | list[Any]


def whole(value: Value, span: Span) -> int:
    """`value` as the integer it must be; DiceError `type` otherwise."""
    if isinstance(value, int):
        return value
    raise DiceError("type", span, f"这里需要整数，不是{kind(value)}")


def number(value: Value, span: Span) -> Number:
    """`value` as the number it must be; DiceError `type` otherwise."""
    if isinstance(value, int | float):
        return value
    raise DiceError("type", span, f"这里需要数字，不是{kind(value)}")


def items(value: Value, span: Span) -> tuple[Scalar, ...]:
    """`value` as the list it must be; DiceError `type` otherwise."""
    if isinstance(value, tuple):
        return value
    raise DiceError("type", span, f"这里需要列表，不是{kind(value)}")


def numbers(value: Value, span: Span) -> list[Number]:
    """The items of a list of numbers; DiceError `type` if it is anything else."""
    return [number(item, span) for item in items(value, span)]


def truth(value: Value) -> bool:
    """Zero, empty text and the empty list are false."""
    return bool(value)


def kind(value: Value) -> str:
    """What `value` is, in Chinese."""
    if isinstance(value, int):
        return "整数"
    if isinstance(value, float):
        return "小数"
    return "文字" if isinstance(value, str) else "列表"


def finite(value: float, span: Span) -> float:
    """`value` unless it is beyond all floats; DiceError `overflow` then."""
    if not isfinite(value):
        raise DiceError("overflow", span, "结果太大：超出了小数能表示的范围")
    return value


def shown(value: Value | Sequence[Scalar]) -> str:
    """`value` as people read it: a decimal with at most 10 digits, a list in brackets."""
    if isinstance(value, float):
        return f"{value:.10g}" if value % 1 else f"{value:.1f}" if abs(value) < 1e15 else f"{value:.10g}"
    if isinstance(value, int | str):
        return str(value)
    return "[" + ",".join(map(shown, value)) + "]"


def kind_of(value: Result) -> Literal["int", "float", "str", "list"]:
    """The type of a result's value, as its name in JSON."""
    if isinstance(value, list):
        return "list"
    return "int" if isinstance(value, int) else "float" if isinstance(value, float) else "str"
