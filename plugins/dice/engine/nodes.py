"""Owns the syntax tree: frozen nodes, each with its span in the folded text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from plugins.dice.engine.dialect import Operator
from plugins.dice.engine.errors import Span


@dataclass(frozen=True, slots=True)
class Number:
    """An integer literal."""

    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is resolved when the roll is made."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Negative:
    """A minus sign before an operand."""

    operand: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands and what stands between them."""

    operator: Operator
    left: Node
    right: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Keep:
    """Which dice of a term count: `number` of the `end`, kept or dropped."""

    end: Literal["high", "low"]
    drop: bool
    number: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Dice:
    """`count` dice of `sides`; None means one die, or the default side count. `mark` is where sides stand."""

    count: Node | None
    sides: Node | None
    keep: Keep | None
    mark: int
    span: Span


Node = Number | Name | Negative | Binary | Dice
