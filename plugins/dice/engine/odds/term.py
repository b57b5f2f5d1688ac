"""Owns the odds of one dice term whose numbers are known: re-rolls, explosions, keeps, bounds, tallies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.modified import always, meets
from plugins.dice.engine.nodes import Comparison, Dice, Explode, Reroll, Tally
from plugins.dice.engine.odds.exploding import Explosion, Score
from plugins.dice.engine.odds.keeping import kept_sum
from plugins.dice.engine.odds.polynomial import die_power, power
from plugins.dice.engine.odds.weights import Weights, listed
from plugins.dice.engine.odds.work import Work, refusal
from plugins.dice.engine.terms import checked_count, checked_keep, checked_sides, over_budget


@dataclass(frozen=True, slots=True)
class Rules:
    """What bounds and reads a term besides its own text."""

    limits: Limits
    clamps: bool
    work: Work


def term_odds(node: Dice, numbers: tuple[int, int, int, int], rules: Rules) -> Weights:
    """The distribution of `node` whose count, sides, keep number and bound are `numbers`.

    Raises DiceError as a roll would.
    """
    count, sides, number, bound = numbers
    checked_count(count, node.span)
    checked_sides(sides, node.span, rules.limits)
    if count > rules.limits.dice:
        raise over_budget(node.span)
    explosion = _explosion(node)
    faces = _rerolled(node, sides, rules.work)
    score = _scoring(node, bound)
    if explosion is not None:
        return Explosion(node, explosion, count, sides, faces, score, rules.work).odds(number, rules.clamps)
    kept = checked_keep(node.keep, number, count, rules.clamps) if node.keep is not None else 0
    if node.tally is None and node.bound is None and not node.changes and kept in (0, count, -count):
        return listed(count, die_power(sides, count, rules.work), sides**count)
    return _counted([(weight, score(face)) for face, weight in faces], count, kept, rules.work)


def _counted(faces: Sequence[tuple[int, int]], count: int, kept: int, work: Work) -> Weights:
    """The summed scores of all dice, of the `kept` highest or the `-kept` lowest; faces ascend."""
    if kept not in (0, count, -count):
        return kept_sum(count, abs(kept), faces if kept > 0 else faces[::-1], work)
    lowest = min(score for _, score in faces)
    work.check_values((max(score for _, score in faces) - lowest) * count + 1)
    coefficients = [0] * (max(score for _, score in faces) - lowest + 1)
    for weight, score in faces:
        coefficients[score - lowest] += weight
    return listed(count * lowest, power(coefficients, count, work), sum(coefficients) ** count)


def _scoring(node: Dice, bound: int) -> Score:
    """What a face adds to the value: itself within the bound, or whether it is a success."""
    tally = node.tally
    limit: Score = lambda face: face  # noqa: E731 - one of three alternatives
    if node.bound is not None:
        pick = max if node.bound.end == "min" else min
        limit = lambda face: pick(face, bound)  # noqa: E731
    if tally is None:
        return limit
    count = _tallying(tally)
    return lambda face: count(limit(face))


def _tallying(tally: Tally) -> Score:
    success = meets(tally.success)
    failure = meets(tally.failure) if tally.failure is not None else lambda face: False
    return lambda face: success(face) - failure(face)


def _rerolled(node: Dice, sides: int, work: Work) -> list[tuple[int, int]]:
    """The faces of one die after its re-rolls with their weights, ascending."""
    work.check_values(sides)
    work.charge(sides * (1 + 4 * len(node.changes)))
    weights = [1] * sides
    for change in node.changes:
        if isinstance(change, Reroll):
            weights = _reroll(weights, change)
    return [(face, weight) for face, weight in enumerate(weights, 1) if weight]


def _reroll(weights: list[int], change: Reroll) -> list[int]:
    sides = len(weights)
    when = change.when or Comparison("==", 1)
    test = meets(when)
    hit = [test(face) for face in range(1, sides + 1)]
    again = sum(weight for weight, met in zip(weights, hit, strict=True) if met)
    if change.once:
        return [again + (0 if met else weight * sides) for weight, met in zip(weights, hit, strict=True)]
    if always(when, sides):
        raise DiceError("endless", change.span, "每个点数都要重掷，永远掷不完")
    fair = sides - sum(hit)
    return [0 if met else weight * fair + again for weight, met in zip(weights, hit, strict=True)]


def _explosion(node: Dice) -> Explode | None:
    """The explosion of `node`; DiceError `odds` if it is not the last change."""
    found = next((change for change in node.changes if isinstance(change, Explode)), None)
    if found is not None and node.changes[-1] is not found:
        raise refusal("爆骰之后再重掷或再爆骰时，无法计算概率", node.span)
    return found
