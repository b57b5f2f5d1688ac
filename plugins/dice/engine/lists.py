"""Owns the closure of a keep or a bound over the items of a list."""

from __future__ import annotations

from plugins.dice.engine.context import Context
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.forms import total
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.nodes import Bound, Pick
from plugins.dice.engine.terms import Closure, IntClosure, checked_keep, kept_mask
from plugins.dice.engine.values import Number, number, numbers


def pick(
    node: Pick, of: Closure, keep_of: IntClosure | None, bound_of: Closure | None, limits: Limits, clamps: bool
) -> Closure:  # fmt: skip
    """The closure of `node`: the sum of the items kept, each within its bound."""

    def run(context: Context) -> Number:
        found = numbers(of(context), node.span)
        context.scoped().charge_items(len(found), node.span, limits)
        if not found:
            raise DiceError("items", node.span, "空列表里没有可取的项")
        if node.keep is not None and keep_of is not None:
            kept = checked_keep(node.keep, keep_of(context), len(found), clamps)
            found = [item for item, counts in zip(found, kept_mask(found, kept), strict=True) if counts]
        if node.bound is not None and bound_of is not None:
            found = _bounded(found, node.bound, number(bound_of(context), node.span))
        return total(found, limits.integer_bits, node.span)

    return run


def _bounded(found: list[Number], bound: Bound, limit: Number) -> list[Number]:
    limited = max if bound.end == "min" else min
    return [limited(item, limit) for item in found]
