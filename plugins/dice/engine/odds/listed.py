"""Owns the walk over the nodes that make lists or read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.dice.engine import nodes
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.nodes import Node
from plugins.dice.engine.odds.listing import Items, highest, kept_items, negated, summed
from plugins.dice.engine.odds.weights import Weights, certain, mapped
from plugins.dice.engine.odds.work import refusal
from plugins.dice.engine.terms import checked_keep
from plugins.dice.engine.values import Scalar, number, whole

if TYPE_CHECKING:  # the walker calls this file
    from plugins.dice.engine.odds.walk import Found, Walker

ListNode = nodes.ListOf | nodes.Range | nodes.Index | nodes.Slice | nodes.Pick | nodes.Call


def list_odds(node: ListNode, walker: Walker) -> Found:
    """The distribution of `node`, or its items'."""
    match node:
        case nodes.ListOf():
            return tuple([walker.weights(item) for item in node.items])
        case nodes.Range():
            return _range(node, walker)
        case nodes.Index():
            return _index(node, walker)
        case nodes.Slice():
            first = _fixed(node.first, walker) if node.first else None
            return _items(node.of, walker)[first : _fixed(node.last, walker) if node.last else None]
        case nodes.Pick():
            return _pick(node, walker)
        case nodes.Call():
            return _call(node, walker)


def _items(node: Node, walker: Walker) -> Items:
    found = walker.found(node)
    if isinstance(found, Weights):
        raise DiceError("type", node.span, "这里需要列表")
    return found


def _fixed(node: Node, walker: Walker) -> int:
    """An integer that no die decides."""
    weights = walker.weights(node)
    if not weights.constant:
        raise refusal("列表的范围由骰子决定时，无法计算概率", node.span)
    return whole(next(iter(weights.counts)), node.span)


def _range(node: nodes.Range, walker: Walker) -> Items:
    start, end = _fixed(node.first, walker), _fixed(node.last, walker)
    if abs(end - start) >= walker.limits.items:
        raise DiceError("items", node.span, f"列表太长：最多 {walker.limits.items} 项")
    return tuple([certain(at) for at in (range(start, end + 1) if start <= end else range(start, end - 1, -1))])


def _index(node: nodes.Index, walker: Walker) -> Weights:
    items = _items(node.of, walker)
    at = walker.operand(node.at, 0)

    def item(numbers: list[int]) -> Weights:
        if not -len(items) <= numbers[0] < len(items):
            raise DiceError("index", node.span, f"列表只有 {len(items)} 项，没有这一项")
        return items[numbers[0]]

    return walker.cases([at], node.span, item)


def _pick(node: nodes.Pick, walker: Walker) -> Weights:
    items = _numbered(_items(node.of, walker), node, walker)
    if not items:
        raise DiceError("items", node.span, "空列表里没有可取的项")
    if node.bound is not None:
        # A bound keeps the order of the items, so it may come before the keep.
        limit = _fixed(node.bound.number, walker)
        limited = max if node.bound.end == "min" else min
        items = tuple(
            [mapped(item, lambda value: limited(number(value, node.span), limit), walker.work) for item in items]
        )
    if node.keep is None:
        return summed(items, walker.limits.integer_bits, walker.work)
    keep, clamps = node.keep, walker.dialect.keep_clamps
    kept = checked_keep(keep, _fixed(keep.number, walker), len(items), clamps)
    return kept_items(items, kept, walker.work)


def _numbered(items: Items, node: Node, walker: Walker) -> Items:
    """`items`, which must be numbers."""

    def same(value: Scalar) -> Scalar:
        return number(value, node.span)

    return tuple([mapped(item, same, walker.work, rising=True) for item in items])


def _call(node: nodes.Call, walker: Walker) -> Weights:
    values = [walker.found(argument) for argument in node.arguments]
    items = _arguments(values, node)
    if node.function == "len":
        if len(values) == 1 and isinstance(values[0], Weights):
            raise DiceError("type", node.span, "这里需要列表")
        return certain(len(items))
    items = _numbered(items, node, walker)
    if node.function == "sum":
        return summed(items, walker.limits.integer_bits, walker.work) if items else certain(0)
    if not items:
        raise DiceError("items", node.span, "空列表没有最大值和最小值")
    if len(items) == 1:
        return items[0]
    if node.function == "max":
        return highest(items, walker.work)
    return negated(highest(tuple([negated(item) for item in items]), walker.work))


def _arguments(values: list[Found], node: nodes.Call) -> Items:
    if len(values) == 1:
        return values[0] if isinstance(values[0], tuple) else (values[0],)
    items = [value for value in values if isinstance(value, Weights)]
    if len(items) < len(values):
        raise DiceError("type", node.span, "列表里不能再放列表")
    return tuple(items)
