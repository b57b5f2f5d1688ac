"""Owns the closures of dice that are re-rolled, explode, are bounded or counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plugins.dice.engine.arithmetic import COMPARISONS
from plugins.dice.engine.context import Context, Story
from plugins.dice.engine.errors import DiceError, Span
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.nodes import Comparison, Dice, Explode, Reroll, Tally
from plugins.dice.engine.terms import (
    IntClosure,
    charged_faces,
    checked_count,
    checked_keep,
    checked_sides,
    kept_mask,
)

Meets = Callable[[int], bool]


def meets(condition: Comparison) -> Meets:
    """`condition` as a test of one face."""
    holds, number = COMPARISONS[condition.sign], condition.number
    return lambda face: bool(holds(face, number))


def always(condition: Comparison, sides: int) -> bool:
    """Whether every face of a die meets `condition`."""
    test = meets(condition)
    return test(1) and test(sides) and (sides == 1 or condition.sign != "==")


class Pile:
    """The dice of one term while it is evaluated: one entry per die drawn, in all three lists."""

    __slots__ = ("context", "kept", "limits", "raw", "sides", "span", "values")

    def __init__(self, context: Context, span: Span, sides: int, limits: Limits) -> None:
        self.context = context
        self.span = span
        self.sides = sides
        self.limits = limits
        self.raw: list[int] = []
        self.values: list[int] = []
        self.kept: list[bool] = []

    def draw(self, count: int) -> range:
        """Roll `count` more dice; where they are."""
        faces = charged_faces(self.context, self.span, count, self.sides)
        self.raw.extend(faces)
        self.values.extend(faces)
        self.kept.extend([True] * count)
        return range(len(self.raw) - count, len(self.raw))

    def alive(self) -> list[int]:
        """Where the dice are that count."""
        return [at for at, counts in enumerate(self.kept) if counts]

    def reroll(self, change: Reroll) -> None:
        when = change.when or Comparison("==", 1)
        if not change.once and always(when, self.sides):
            raise DiceError("endless", change.span, "每个点数都要重掷，永远掷不完")
        test = meets(when)
        found = [at for at in self.alive() if test(self.values[at])]
        rounds = 0
        while found:
            self.check_chain(rounds, change.span)
            for at in found:
                self.kept[at] = False
            drawn = self.draw(len(found))
            found = [] if change.once else [at for at in drawn if test(self.values[at])]
            rounds += 1

    def explode(self, change: Explode) -> None:
        when = change.when or Comparison("==", self.sides)
        if always(when, self.sides):
            raise DiceError("endless", change.span, "每个点数都会爆骰，永远掷不完")
        test = meets(when)
        owners = [at for at in self.alive() if test(self.raw[at])]
        rounds = 0
        while owners:
            self.check_chain(rounds, change.span)
            drawn = self.draw(len(owners))
            pairs = list(zip(owners, drawn, strict=True))
            for owner, at in pairs:
                self.add(change, owner, at)
            keep_owner = change.way == "compound"
            owners = [owner if keep_owner else at for owner, at in pairs if test(self.raw[at])]
            rounds += 1

    def add(self, change: Explode, owner: int, at: int) -> None:
        """Count the die at `at`, which the one at `owner` brought."""
        if change.way == "penetrate":
            self.values[at] -= 1
        elif change.way == "compound":
            self.values[owner] += self.raw[at]
            self.kept[at] = False

    def check_chain(self, rounds: int, span: Span) -> None:
        if rounds >= self.limits.chain:
            raise DiceError("endless", span, f"一个骰子最多连续追加 {self.limits.chain} 次")

    def keep(self, kept: int) -> None:
        alive = self.alive()
        for at, counts in zip(alive, kept_mask([self.values[at] for at in alive], kept), strict=True):
            self.kept[at] = counts

    def limit(self, low: bool, number: int) -> None:
        """Let no die that counts be below `number` (or above it)."""
        pick = max if low else min
        for at in self.alive():
            self.values[at] = pick(self.values[at], number)

    def total(self) -> int:
        return sum(value for value, counts in zip(self.values, self.kept, strict=True) if counts)

    def tally(self, tally: Tally) -> int:
        """Successes less failures; only successes count from now on."""
        success = meets(tally.success)
        failed = meets(tally.failure) if tally.failure is not None else None
        alive = self.alive()
        failures = sum(failed(self.values[at]) for at in alive) if failed is not None else 0
        for at in alive:
            self.kept[at] = success(self.values[at])
        return sum(self.kept) - failures


def modified_term(site: int, node: Dice, parts: Sequence[IntClosure], limits: Limits, clamps: bool) -> IntClosure:
    """The closure of a dice term with more than a keep; `parts` give count, sides, keep number and bound."""
    count_of, sides_of, number_of, bound_of = parts
    span, keep, bound, tally = node.span, node.keep, node.bound, node.tally

    def run(context: Context) -> int:
        count = checked_count(count_of(context), span)
        pile = Pile(context, span, checked_sides(sides_of(context), span, limits), limits)
        number = number_of(context)
        limit = bound_of(context)
        pile.draw(count)
        for change in node.changes:
            if isinstance(change, Reroll):
                pile.reroll(change)
            else:
                pile.explode(change)
        if keep is not None:
            pile.keep(checked_keep(keep, number, sum(pile.kept), clamps))
        if bound is not None:
            pile.limit(bound.end == "min", limit)
        value = pile.total() if tally is None else pile.tally(tally)
        story = Story(tuple(pile.values), tuple(pile.kept), "sum" if tally is None else "count")
        context.trace.append((site, pile.sides, tuple(pile.raw), story, value))
        return value

    return run
