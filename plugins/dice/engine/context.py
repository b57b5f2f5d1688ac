"""Owns the state of one evaluation: the dice left, where faces and names come from, and the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from plugins.dice.engine.errors import DiceError, Span
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.names import Resolver
from plugins.dice.engine.rng import Source
from plugins.dice.engine.values import Value


@dataclass(frozen=True, slots=True)
class Story:
    """What became of the dice of a term that does more than keep.

    One entry per die drawn: the number it counts as, and whether it counts. `layout` says how they make
    the value: their sum, how many count, rounds of `rounds` dice each, the chosen one of
    several tens, or the sum of fate dice.
    """

    values: tuple[int, ...]
    kept: tuple[bool, ...]
    layout: Literal["sum", "count", "rounds", "tens", "fate"]
    rounds: tuple[int, ...] = ()


# site, sides, faces as drawn, keep, value. `site` indexes Program.sites; `keep` is 0 for all faces, n for
# the n highest, -n for the n lowest, or a Story; a name has 0 sides and no faces. A plain tuple: it is made
# for every term.
Trace = tuple[int, int, Sequence[int], int | Story, Value]


@dataclass(slots=True)
class Scope:
    """Names assigned in the message, and how much work computed attributes and lists have made."""

    values: dict[str, Value | Callable[[Context], Value]] = field(default_factory=dict)
    nested: int = 0
    uses: int = 0
    listed: int = 0

    def enter(self, span: Span, limits: Limits) -> None:
        """Start using a computed attribute; DiceError `budget` when they nest or repeat too much."""
        self.nested += 1
        self.uses += 1
        if self.nested > limits.depth or self.uses > limits.computed:
            raise DiceError("budget", span, "计算属性用得太多，或者引用了自己")

    def charge_items(self, count: int, span: Span, limits: Limits) -> None:
        """Pay for work on `count` list items; DiceError `items` when it is too much."""
        self.listed += count
        if self.listed > limits.listed:
            raise DiceError("items", span, f"列表运算太多：一条消息最多处理 {limits.listed} 项")


class Context:
    """What the closures of a program work on; one context serves all rounds of a message."""

    __slots__ = ("budget", "faces", "resolver", "scope", "trace")

    def __init__(self, budget: int, source: Source, resolver: Resolver) -> None:
        self.budget = budget
        self.faces: Callable[[int, int], Sequence[int]] = source.faces
        self.resolver = resolver
        self.scope: Scope | None = None
        self.trace: list[Trace] = []

    def scoped(self) -> Scope:
        """The scope, made when it is first needed."""
        if self.scope is None:
            self.scope = Scope()
        return self.scope
