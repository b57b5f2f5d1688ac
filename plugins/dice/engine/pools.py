"""Owns the closures of pools (`10a5`), crosses (`5c8`), bonus and penalty dice, and fate dice."""

from __future__ import annotations

from plugins.dice.engine.context import Context, Story
from plugins.dice.engine.dialect import Dialect
from plugins.dice.engine.errors import DiceError, Span
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.nodes import Bonus, Cross, Fate, Pool
from plugins.dice.engine.terms import Closure, IntClosure, charged_faces, checked_count, checked_sides

CROSS_SCORE = 10
PERCENT = 100


def pool_term(
    site: int, node: Pool, parts: tuple[IntClosure, ...], limits: Limits, dialect: Dialect
) -> Closure:  # fmt: skip
    """The closure of `NaA`; `parts` give count, line, sides and the success number."""
    count_of, line_of, sides_of, number_of = parts
    span, low, open_pools = node.span, node.low, dialect.open_pools

    def run(context: Context) -> int:
        count = checked_count(count_of(context), span)
        line = _line(line_of(context), span, open_pools)
        sides = checked_sides(sides_of(context), span, limits)
        number = number_of(context)
        if number < 1:
            raise DiceError("pool", span, "骰池的成功线至少为 1")
        drawn: list[int] = []
        rounds: list[int] = []
        while count:
            _check_rounds(len(rounds), span, limits)
            faces = charged_faces(context, span, count, sides)
            drawn.extend(faces)
            rounds.append(count)
            count = sum([face >= line for face in faces]) if line else 0
        kept = tuple([face <= number for face in drawn] if low else [face >= number for face in drawn])
        value = sum(kept)
        context.trace.append((site, sides, tuple(drawn), Story(tuple(drawn), kept, "count", tuple(rounds)), value))
        return value

    return run


def cross_term(
    site: int, node: Cross, parts: tuple[IntClosure, ...], limits: Limits, dialect: Dialect
) -> Closure:  # fmt: skip
    """The closure of `NcA`; `parts` give count, line and sides."""
    count_of, line_of, sides_of = parts
    span = node.span

    def run(context: Context) -> int:
        count = checked_count(count_of(context), span)
        line = _line(line_of(context), span, False)
        sides = checked_sides(sides_of(context), span, limits)
        score = sides if dialect.cross_adds_sides else CROSS_SCORE
        drawn: list[int] = []
        rounds: list[int] = []
        value = 0
        while count:
            _check_rounds(len(rounds), span, limits)
            faces = charged_faces(context, span, count, sides)
            drawn.extend(faces)
            rounds.append(count)
            count = sum([face >= line for face in faces])
            value += score if count else max(faces)
        kept = tuple([face >= line for face in drawn])
        context.trace.append((site, sides, tuple(drawn), Story(tuple(drawn), kept, "rounds", tuple(rounds)), value))
        return value

    return run


def _line(line: int, span: Span, may_be_open: bool) -> int:
    if line >= 2 or (line == 0 and may_be_open):
        return line
    raise DiceError("pool", span, "加骰线至少为 2" + ("，或为 0（不加骰）" if may_be_open else ""))


def _check_rounds(rounds: int, span: Span, limits: Limits) -> None:
    if rounds >= limits.chain:
        raise DiceError("endless", span, f"骰池最多连续加骰 {limits.chain} 轮")


def bonus_term(site: int, node: Bonus, count_of: IntClosure, dialect: Dialect) -> Closure:
    """The closure of `b2` and `p2`."""
    span, pick = node.span, max if node.penalty else min
    roll = _unit_and_tens if dialect.unit_dice else _hundred_and_tens

    def run(context: Context) -> int:
        count = count_of(context)
        if count < 0:
            raise DiceError("pool", span, "奖惩骰个数不能是负数")
        faces, unit, tens = roll(context, span, count)
        results = [10 * ten + unit or PERCENT for ten in tens]
        value = pick(results)
        chosen = results.index(value) + len(faces) - len(tens)
        # The first die is always part of the result: it brings the unit.
        kept = tuple(at in (0, chosen) for at in range(len(faces)))
        context.trace.append((site, PERCENT, faces, Story(faces, kept, "tens"), value))
        return value

    return run


def _hundred_and_tens(context: Context, span: Span, count: int) -> tuple[tuple[int, ...], int, list[int]]:
    """A d100, and `count` d10 that may replace its tens: faces, unit, tens."""
    hundred = charged_faces(context, span, 1, PERCENT)[0]
    extra = tuple(charged_faces(context, span, count, 10)) if count else ()
    return (hundred, *extra), hundred % 10, [hundred // 10 % 10, *(face % 10 for face in extra)]


def _unit_and_tens(context: Context, span: Span, count: int) -> tuple[tuple[int, ...], int, list[int]]:
    """A d10 for the unit and one more than `count` for the tens; a 10 is a zero."""
    unit = charged_faces(context, span, 1, 10)[0]
    tens = tuple(charged_faces(context, span, count + 1, 10))
    return (unit, *tens), unit % 10, [face % 10 for face in tens]


def fate_term(site: int, node: Fate, count_of: IntClosure) -> Closure:
    """The closure of `4df`: three-sided dice, each less two."""
    span = node.span

    def run(context: Context) -> int:
        faces = tuple(charged_faces(context, span, checked_count(count_of(context), span), 3))
        values = tuple([face - 2 for face in faces])
        value = sum(values)
        context.trace.append((site, 3, faces, Story(values, (True,) * len(faces), "fate"), value))
        return value

    return run
