"""Owns the dialect table: every decision on which dice languages disagree, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from plugins.dice.engine.errors import NOWHERE, DiceError, quoted

# `:` is division that gives a decimal when it does not come out even.
Sign = Literal[
    "+", "-", "*", "/", "//", ":", "%", "^", "<", "<=", "==", "!=", ">=", ">", "&", "|", "&&", "||"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operator:
    """An infix operator: its canonical sign, and how tightly it binds (higher is tighter)."""

    sign: Sign
    binding: int


OR, AND, BIT_OR, BIT_AND, COMPARE, SUM, PRODUCT, POWER, SIGN = 1, 2, 3, 4, 5, 10, 20, 30, 40

_SUMS = {
    "+": Operator("+", SUM),
    "-": Operator("-", SUM),
    "*": Operator("*", PRODUCT),
    "x": Operator("*", PRODUCT),
    "/": Operator("/", PRODUCT),
    "%": Operator("%", PRODUCT),
    "^": Operator("^", POWER),
    "**": Operator("^", POWER),
}
_SEAL_OPERATORS = {
    **_SUMS,
    "//": Operator("//", PRODUCT),
    "<": Operator("<", COMPARE),
    "<=": Operator("<=", COMPARE),
    "==": Operator("==", COMPARE),
    "!=": Operator("!=", COMPARE),
    ">=": Operator(">=", COMPARE),
    ">": Operator(">", COMPARE),
    "&": Operator("&", BIT_AND),
    "|": Operator("|", BIT_OR),
    "&&": Operator("&&", AND),
    "||": Operator("||", OR),
}
_ONEDICE_OPERATORS = {
    **_SUMS,
    "<": Operator("<", COMPARE),
    ">": Operator(">", COMPARE),
    "&": Operator("&", BIT_OR),
    "|": Operator("|", BIT_OR),
}
_ROLL20_OPERATORS = {**_SUMS, "/": Operator(":", PRODUCT), "//": Operator("//", PRODUCT)}
del _ROLL20_OPERATORS["x"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The operators of a dice language and its answers where languages differ."""

    name: str
    operators: MappingProxyType[str, Operator]
    power_groups_right: bool  # 2^3^2: 512 if true, 64 if false
    stacked_signs: bool  # --1: 1 if true, an error if false
    leading_plus: bool  # +5: 5 if true, an error if false
    keep_clamps: bool  # 4d6k5: keeps all four if true, an error if false
    decimals: bool  # 1.5: a number if true, an error if false
    most_sides: int  # of one die, if lower than the limit
    pools: bool  # whether b p a c are dice
    open_pools: bool  # 5a0: no die is added if true, an error if false
    unit_dice: bool  # b1: a unit die and tens dice if true, a d100 and further tens if false
    cross_adds_sides: bool  # 3c8m12: a critical round scores 12 if true, 10 if false
    bounds: bool  # whether min and max (of each die) and advantage words are understood
    successes: bool  # 4d6>4: counts dice if true, compares the sum if false
    inclusive: bool  # 4 is `>4` of dice if true
    brace_lists: bool  # {a,b}: a list if true; {a} is a bracket if false
    lists_collapse: bool  # the value of [1,2]: 2 if true, the list if false
    triangles: bool  # 3?: 1+2+3 if true


# `/` truncates toward zero and `%` takes the sign of its left side (so a == a/b*b + a%b);
# `//` rounds down. A sign binds tighter than a power: -2^2 is 4.
DIALECTS = MappingProxyType(
    {
        "seal": Dialect(
            name="seal",
            operators=MappingProxyType(_SEAL_OPERATORS),
            power_groups_right=False,
            stacked_signs=False,
            leading_plus=True,
            keep_clamps=True,
            decimals=True,
            most_sides=1_000_000,
            pools=True,
            open_pools=True,
            unit_dice=False,
            cross_adds_sides=False,
            bounds=True,
            successes=False,
            inclusive=False,
            brace_lists=False,
            lists_collapse=False,
            triangles=False,
        ),
        "onedice": Dialect(
            name="onedice",
            operators=MappingProxyType(_ONEDICE_OPERATORS),
            power_groups_right=False,
            stacked_signs=False,
            leading_plus=False,
            keep_clamps=False,
            decimals=False,
            most_sides=10_000,
            pools=True,
            open_pools=False,
            unit_dice=True,
            cross_adds_sides=True,
            bounds=True,
            successes=False,
            inclusive=False,
            brace_lists=False,
            lists_collapse=True,
            triangles=True,
        ),
        "roll20": Dialect(
            name="roll20",
            operators=MappingProxyType(_ROLL20_OPERATORS),
            power_groups_right=True,
            stacked_signs=True,
            leading_plus=True,
            keep_clamps=True,
            decimals=True,
            most_sides=1_000_000,
            pools=False,
            open_pools=False,
            unit_dice=False,
            cross_adds_sides=False,
            bounds=False,
            successes=True,
            inclusive=True,
            brace_lists=True,
            lists_collapse=False,
            triangles=False,
        ),
    }
)


def dialect_named(name: str) -> Dialect:
    """The dialect called `name`; DiceError `dialect` if there is none."""
    dialect = DIALECTS.get(name)
    if dialect is None:
        raise DiceError("dialect", NOWHERE, f"没有名为{quoted(name)}的骰子方言，可用：{'、'.join(DIALECTS)}")
    return dialect
