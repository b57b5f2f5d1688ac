"""Owns the dialect table: every decision on which dice languages disagree, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from plugins.dice.engine.errors import NOWHERE, DiceError, quoted


@dataclass(frozen=True, slots=True)
class Operator:
    """An infix operator: its canonical sign, and how tightly it binds (higher is tighter)."""

    sign: Literal["+", "-", "*", "/", "//", "%", "^"]
    binding: int


SUM, PRODUCT, POWER, SIGN = 10, 20, 30, 40

_SEAL_OPERATORS = {
    "+": Operator("+", SUM),
    "-": Operator("-", SUM),
    "*": Operator("*", PRODUCT),
    "x": Operator("*", PRODUCT),
    "/": Operator("/", PRODUCT),
    "//": Operator("//", PRODUCT),
    "%": Operator("%", PRODUCT),
    "^": Operator("^", POWER),
    "**": Operator("^", POWER),
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The operators of a dice language and its answers where languages differ."""

    name: str
    operators: MappingProxyType[str, Operator]
    power_groups_right: bool  # 2^3^2: 512 if true, 64 if false
    stacked_signs: bool  # --1: 1 if true, an error if false
    keep_clamps: bool  # 4d6k5: keeps all four if true, an error if false


# `/` truncates toward zero and `%` takes the sign of its left side (so a == a/b*b + a%b);
# `//` rounds down. A sign binds tighter than a power: -2^2 is 4.
DIALECTS = MappingProxyType(
    {
        "seal": Dialect(
            name="seal",
            operators=MappingProxyType(_SEAL_OPERATORS),
            power_groups_right=False,
            stacked_signs=False,
            keep_clamps=True,
        ),
    }
)


def dialect_named(name: str) -> Dialect:
    """The dialect called `name`; DiceError `dialect` if there is none."""
    dialect = DIALECTS.get(name)
    if dialect is None:
        raise DiceError("dialect", NOWHERE, f"没有名为{quoted(name)}的骰子方言，可用：{'、'.join(DIALECTS)}")
    return dialect
