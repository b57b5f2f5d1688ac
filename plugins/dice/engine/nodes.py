"""Owns the syntax tree: frozen nodes, each with its span in the folded text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from plugins.dice.engine.dialect import Operator
from plugins.dice.engine.errors import Span


@dataclass(frozen=True, slots=True)
class Number:
    """A literal: an integer, or a decimal."""

    value: int | float
    span: Span


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text."""

    value: str
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
    """Two operands and what stands between them: arithmetic, comparison, bits or logic."""

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
class Comparison:
    """A condition on one face; the dialect's reading of `>` is already settled."""

    sign: Literal["<", "<=", "==", ">=", ">"]
    number: int


@dataclass(frozen=True, slots=True)
class Reroll:
    """Dice that meet `when` are rolled again: once, or until they do not. Without `when`: those that show 1."""

    once: bool
    when: Comparison | None
    span: Span


@dataclass(frozen=True, slots=True)
class Explode:
    """A die that meets `when` (None: shows its highest face) brings another one, which may do so too.

    `add` counts it as a die of its own, `compound` adds it to the first, `penetrate` counts it less one.
    """

    way: Literal["add", "compound", "penetrate"]
    when: Comparison | None
    span: Span


@dataclass(frozen=True, slots=True)
class Bound:
    """A face below `min` (or above `max`) `number` counts as that number."""

    end: Literal["min", "max"]
    number: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Tally:
    """The value is the count of dice that meet `success`, less those that meet `failure`."""

    success: Comparison
    failure: Comparison | None
    span: Span


@dataclass(frozen=True, slots=True)
class Dice:
    """`count` dice of `sides`; None means one die, or the default side count. `mark` is where sides stand.

    Rolled, then changed (re-rolls and explosions in their order), kept, bounded, and summed or tallied.
    Advantage is two dice of which one is kept.
    """

    count: Node | None
    sides: Node | None
    keep: Keep | None
    mark: int
    span: Span
    changes: tuple[Reroll | Explode, ...] = ()
    bound: Bound | None = None
    tally: Tally | None = None


@dataclass(frozen=True, slots=True)
class Bonus:
    """A d100 with `count` (None: 1) further tens dice: the lowest result for bonus, the highest for penalty."""

    penalty: bool
    count: Node | None
    span: Span


@dataclass(frozen=True, slots=True)
class Pool:
    """`count` (None: 1) dice of `sides` (None: 10); those from `line` up add one. Counts the successes.

    A success is a face of at least `number` (None: 8), or at most that if `low`.
    """

    count: Node | None
    line: Node
    sides: Node | None
    number: Node | None
    low: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Cross:
    """`count` dice of `sides` (None: 10): those from `line` up are rolled again, each round scoring."""

    count: Node
    line: Node
    sides: Node | None
    span: Span


@dataclass(frozen=True, slots=True)
class Fate:
    """`count` (None: 4) dice with the faces -1, 0 and 1."""

    count: Node | None
    span: Span


@dataclass(frozen=True, slots=True)
class Choice:
    """The value of the first branch whose condition holds; else `otherwise`, or empty text without it."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None
    span: Span


@dataclass(frozen=True, slots=True)
class Triangle:
    """The sum 1 to `operand`."""

    operand: Node
    span: Span


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of its items."""

    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Range:
    """The integers from `first` to `last`, both included, up or down."""

    first: Node
    last: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Index:
    """One item of a list, counted from 0; from the end if negative."""

    of: Node
    at: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Slice:
    """The items of a list from `first` up to, not including, `last`."""

    of: Node
    first: Node | None
    last: Node | None
    span: Span


@dataclass(frozen=True, slots=True)
class Pick:
    """The sum of those items of a list that `keep` keeps, each within `bound`."""

    of: Node
    keep: Keep | None
    bound: Bound | None
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A function over one list, or over its arguments."""

    function: Literal["sum", "max", "min", "len"]
    arguments: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Assign:
    """A name gets a value for the rest of the message; `computed`: the expression, for each use anew."""

    name: str
    value: Node
    computed: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Steps:
    """Assignments and a last expression; the value is that of the last."""

    steps: tuple[Node, ...]
    span: Span


Node = (
    Number | Name | Negative | Binary | Dice | Text | Bonus | Pool | Cross | Fate
    | Choice | Triangle | ListOf | Range | Index | Slice | Pick | Call | Assign | Steps
)  # fmt: skip
Term = Dice | Bonus | Pool | Cross | Fate
