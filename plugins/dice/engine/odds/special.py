"""Owns the odds of bonus and penalty dice, pools, crosses and fate dice whose numbers are known."""

from __future__ import annotations

from plugins.dice.engine.dialect import Dialect
from plugins.dice.engine.errors import DiceError, Span
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.nodes import Bonus, Cross, Fate, Pool
from plugins.dice.engine.odds.polynomial import die_power
from plugins.dice.engine.odds.series import crossed, open_sum
from plugins.dice.engine.odds.weights import Weights, listed
from plugins.dice.engine.odds.work import Work, digits
from plugins.dice.engine.pools import CROSS_SCORE, PERCENT
from plugins.dice.engine.terms import checked_count, checked_sides, over_budget


def checked_dice(count: int, span: Span, limits: Limits) -> int:
    """`count` dice, at least one and within the limit; DiceError otherwise."""
    if count > limits.dice:
        raise over_budget(span)
    return checked_count(count, span)


def fate_odds(node: Fate, count: int, limits: Limits, work: Work) -> Weights:
    """The sum of `count` dice with the faces -1, 0 and 1."""
    checked_dice(count, node.span, limits)
    return listed(-count, die_power(3, count, work), 3**count)


def bonus_odds(node: Bonus, count: int, limits: Limits, work: Work) -> Weights:
    """A unit and the best (or worst) of `count` + 1 tens, in closed form for each unit."""
    if count < 0:
        raise DiceError("pool", node.span, "奖惩骰个数不能是负数")
    checked_dice(count + 1, node.span, limits)
    tens = count + 1
    work.charge(PERCENT * (10 + digits(4 * tens)))
    below = [at**tens for at in range(11)]
    counts: dict[int, int] = {}
    for unit in range(10):
        results = sorted(10 * ten + unit or PERCENT for ten in range(10))
        for at, result in enumerate(results if node.penalty else results[::-1]):
            counts[result] = below[at + 1] - below[at]
    return Weights({result: counts[result] for result in sorted(counts)}, 10 ** (tens + 1))


def pool_odds(
    node: Pool, numbers: tuple[int, int, int, int], limits: Limits, dialect: Dialect, work: Work
) -> Weights:  # fmt: skip
    """The successes of a pool; `numbers` are count, line, sides and the success number."""
    count, line, sides, number = numbers
    checked_dice(count, node.span, limits)
    _check_line(line, node.span, dialect.open_pools)
    checked_sides(sides, node.span, limits)
    if number < 1:
        raise DiceError("pool", node.span, "骰池的成功线至少为 1")
    adding = max(0, sides - line + 1) if line else 0
    winning = min(number, sides) if node.low else max(0, sides - number + 1)
    both = max(0, winning - max(0, line - 1)) if node.low and line else min(adding, winning)
    go = _faces(adding - both, both)
    stop = _faces(sides - adding - (winning - both), winning - both)
    return open_sum(count, stop, go, work)


def _faces(failing: int, winning: int) -> dict[int, int]:
    return {score: faces for score, faces in ((0, failing), (1, winning)) if faces}


def cross_odds(
    node: Cross, numbers: tuple[int, int, int], limits: Limits, dialect: Dialect, work: Work
) -> Weights:  # fmt: skip
    """The score of a cross; `numbers` are count, line and sides."""
    count, line, sides = numbers
    checked_dice(count, node.span, limits)
    _check_line(line, node.span, False)
    checked_sides(sides, node.span, limits)
    return crossed(count, line, sides, sides if dialect.cross_adds_sides else CROSS_SCORE, work)


def _check_line(line: int, span: Span, may_be_open: bool) -> None:
    if line < 2 and not (line == 0 and may_be_open):
        raise DiceError("pool", span, "加骰线至少为 2" + ("，或为 0（不加骰）" if may_be_open else ""))
