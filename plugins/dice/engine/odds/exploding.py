"""Owns the odds of exploding dice: summed, compound, penetrating, after re-rolls, and those that are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.modified import always, meets
from plugins.dice.engine.nodes import Comparison, Dice, Explode, Keep
from plugins.dice.engine.odds.combine import added, repeated
from plugins.dice.engine.odds.keeping import Face, kept_sum
from plugins.dice.engine.odds.series import open_sum
from plugins.dice.engine.odds.weights import Weights, certain, integers, mapped, mixture
from plugins.dice.engine.odds.work import Work, refusal
from plugins.dice.engine.values import Scalar

Score = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Explosion:
    """`count` dice of `sides` that explode as `node` says; `score` is what a face adds, `first` what it is at first.

    `first` holds the faces of a die after its re-rolls with their weights; followers are plain dice.
    """

    node: Dice
    change: Explode
    count: int
    sides: int
    first: Sequence[tuple[int, int]]
    score: Score
    work: Work

    def odds(self, number: int, clamps: bool) -> Weights:
        """The distribution; `number` is that of the keep. Raises DiceError."""
        self.work.check_values(self.sides)
        self.work.charge(10 * self.sides)
        if always(self.when, self.sides):
            raise DiceError("endless", self.change.span, "每个点数都会爆骰，永远掷不完")
        if self.node.keep is not None:
            return self.kept(self.node.keep, number, clamps)
        if self.change.way == "penetrate":
            return self.penetrating()
        if self.change.way == "compound" and (self.node.bound or self.node.tally):
            return self.compound()
        if self.node.changes[0] is self.change:
            return open_sum(self.count, *self.split(self.score), self.work)
        return repeated(self.chain(self.score), self.count, self.work)

    @property
    def when(self) -> Comparison:
        return self.change.when or Comparison("==", self.sides)

    def split(self, score: Score) -> tuple[dict[int, int], dict[int, int]]:
        """What faces that end a chain add, and what those that go on: how many faces for each number."""
        test = meets(self.when)
        stop: dict[int, int] = {}
        go: dict[int, int] = {}
        for face in range(1, self.sides + 1):
            part = go if test(face) else stop
            part[score(face)] = part.get(score(face), 0) + 1
        if min([*stop, *go]) < 0:
            raise refusal("爆骰与失败计数一起用时，无法计算概率", self.node.span)
        return stop, go

    def chain(self, score: Score) -> Weights:
        """One die with its followers; the bound is wide enough for `count` of them."""
        followers = open_sum(1, *self.split(score), self.work, reach=self.count)
        test = meets(self.when)
        parts: list[tuple[int, Weights]] = []
        for face, weight in self.first:
            start = certain(score(face))
            parts.append((weight, added(start, followers, self.work) if test(face) else start))
        return mixture(parts, self.work)

    def penetrating(self) -> Weights:
        if self.node.bound or self.node.tally or len(self.node.changes) > 1:
            raise refusal("穿透爆骰与其他变化一起用时，无法计算概率", self.node.span)
        # The first die of each chain counts in full, the others one less each.
        lower = open_sum(self.count, *self.split(lambda face: face - 1), self.work)
        return added(lower, certain(self.count), self.work)

    def compound(self) -> Weights:
        """Each chain is one die, bounded or tallied as a whole."""
        single = self.chain(lambda face: face)
        top = max(integers(single))
        tally = self.node.tally
        conditions = [tally.success, tally.failure] if tally else []
        settled = self.score(top + 1) == self.score(top + 2) and all(
            condition.number < top for condition in conditions if condition
        )

        def change(value: Scalar) -> Scalar:
            assert isinstance(value, int)
            return self.score(value)

        single = mapped(single, change, self.work, rising=tally is None, settled=settled)
        return repeated(single, self.count, self.work)

    def kept(self, keep: Keep, number: int, clamps: bool) -> Weights:
        """A keep over all dice, where those that explode show more than those that do not."""
        test = meets(self.when)
        hit = [face for face in range(1, self.sides + 1) if test(face)]
        ranked = [(1, self.score(face)) for face in range(1, self.sides + 1) if not test(face)]
        if self.change.way != "add" or len(self.node.changes) > 1 or (hit and hit[0] <= len(ranked)):
            raise refusal("这样的爆骰与取舍一起用时，无法计算概率", self.node.span)
        if keep.end == "low" and keep.drop and 0 <= number < self.count:
            # What explodes is never dropped, and how much that is does not depend on the other dice.
            stop, go = self.split(self.score)
            more = open_sum(self.count, {0: sum(stop.values())}, go, self.work)
            return added(kept_sum(self.count, self.count - number, ranked, self.work), more, self.work)
        if keep.drop or number < 1 or (number > self.count and not (clamps and keep.end == "high")):
            raise refusal("爆骰与这样的取舍一起用时，无法计算概率", self.node.span)
        if keep.end == "low":
            return kept_sum(self.count, number, ranked[::-1], self.work)
        if len(hit) > 1:
            raise refusal("爆骰点数不止一个时，取高的概率无法计算", self.node.span)
        return self.highest(number, ranked, self.score(self.sides))

    def highest(self, number: int, ranked: Sequence[Face], top: int) -> Weights:
        """The `number` highest where only the highest face, worth `top`, explodes: by how many times it came."""
        parts: list[tuple[int, Weights]] = []
        left = scale = self.sides ** (self.count + number)
        for times in range(number):
            ways = comb(self.count + times - 1, times) * (self.sides - 1) ** self.count
            weight = ways * scale // self.sides ** (self.count + times)
            rest = kept_sum(self.count, min(number - times, self.count), ranked, self.work)
            parts.append((weight, added(rest, certain(times * top), self.work)))
            left -= weight
        return mixture([*parts, (left, certain(number * top))], self.work)
