"""Owns the closures of dice terms: check, charge the budget, roll, keep, trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plugins.dice.engine.context import Context
from plugins.dice.engine.errors import DiceError, Span
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.nodes import Keep
from plugins.dice.engine.values import Value

Closure = Callable[[Context], Value]
IntClosure = Callable[[Context], int]


def fixed_term(site: int, span: Span, count: int, sides: int, kept: int, constant: int) -> IntClosure:
    """The closure of a term whose numbers are all known and checked, plus a `constant` that is not part of it.

    No bound to check: a term is at most dice times sides, a literal has a digit limit.
    """
    if count == 1 and kept == 0:
        return _single_die(site, span, sides, constant)

    def run(context: Context) -> int:
        faces = charged_faces(context, span, count, sides)
        value = subtotal(faces, kept)
        context.trace.append((site, sides, faces, kept, value))
        return value + constant

    return run


def _single_die(site: int, span: Span, sides: int, constant: int) -> IntClosure:
    def run(context: Context) -> int:
        left = context.budget - 1
        if left < 0:
            raise over_budget(span)
        context.budget = left
        try:
            faces = context.faces(1, sides)
        except DiceError as error:
            raise error.moved(span) from None
        value = faces[0]
        context.trace.append((site, sides, faces, 0, value))
        return value + constant

    return run


def charged_faces(context: Context, span: Span, count: int, sides: int) -> Sequence[int]:
    """`count` faces, after their price is paid; DiceError `budget` when it cannot be."""
    left = context.budget - count
    if left < 0:
        raise over_budget(span)
    context.budget = left
    try:
        return context.faces(count, sides)
    except DiceError as error:
        raise error.moved(span) from None


def over_budget(span: Span) -> DiceError:
    return DiceError("budget", span, "骰子太多：超出了一条消息能掷的总数")


def subtotal(faces: Sequence[int], kept: int) -> int:
    """The sum of all faces, of the `kept` highest, or of the `-kept` lowest."""
    if kept == 0:
        return sum(faces)
    ordered = sorted(faces)
    return sum(ordered[-kept:]) if kept > 0 else sum(ordered[:-kept])


def kept_mask(faces: Sequence[int | float], keep: int) -> tuple[bool, ...]:
    """Which faces count; of equal faces the earlier one is kept."""
    if keep == 0:
        return (True,) * len(faces)
    # A sort is stable, in reverse too: equal faces stay in roll order.
    chosen = set(sorted(range(len(faces)), key=faces.__getitem__, reverse=keep > 0)[: abs(keep)])
    return tuple(index in chosen for index in range(len(faces)))


def checked_count(count: int, span: Span) -> int:
    if count < 1:
        raise DiceError("count", span, f"骰子个数至少为 1，这里是 {_shown(count)}")
    return count


def checked_sides(sides: int, span: Span, limits: Limits) -> int:
    if not 1 <= sides <= limits.sides:
        raise DiceError("sides", span, f"骰子面数要在 1 到 {limits.sides} 之间，这里是 {_shown(sides)}")
    return sides


def checked_keep(keep: Keep, number: int, count: int, clamps: bool) -> int:
    """`number` of a keep or drop as the count of kept dice: positive for the highest, negative for the lowest."""
    if keep.drop:
        if not 0 <= number < count:
            raise DiceError("keep", keep.span, f"{count} 个骰子要去掉 {_shown(number)} 个，应为 0 到 {count - 1} 个")
        return -(count - number) if keep.end == "high" else count - number
    if number < 1:
        raise DiceError("keep", keep.span, f"至少要取 1 个骰子，这里是 {_shown(number)}")
    if number > count and not clamps:
        raise DiceError("keep", keep.span, f"只有 {count} 个骰子，取不了 {_shown(number)} 个")
    kept = min(number, count)
    return kept if keep.end == "high" else -kept


def _shown(number: int) -> str:
    text = str(number)
    return text if len(text) <= 12 else text[:12] + "…"
