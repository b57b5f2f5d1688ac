"""Owns names in odds: attributes, computed attributes, and assignments, on whose values is conditioned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from plugins.dice.engine import nodes
from plugins.dice.engine.arithmetic import bounded
from plugins.dice.engine.errors import DiceError, Span, quoted
from plugins.dice.engine.fold import fold
from plugins.dice.engine.names import Computed, Held
from plugins.dice.engine.nodes import Node
from plugins.dice.engine.odds.listing import Items
from plugins.dice.engine.odds.weights import Weights, certain, complete, mixture
from plugins.dice.engine.odds.work import refusal
from plugins.dice.engine.parser import parse
from plugins.dice.engine.values import Scalar, finite

if TYPE_CHECKING:  # the walker calls this file
    from plugins.dice.engine.odds.walk import Found, Walker


def named(node: nodes.Name, walker: Walker) -> Found:
    """What a name stands for: a value given in the text, or the resolver's."""
    bound = walker.scope.get(node.name)
    if isinstance(bound, Weights | tuple):
        return bound
    if bound is not None:
        return _computed(bound, node.span, walker)
    held = walker.resolver.resolve(node.name)
    if held is None:
        raise DiceError("name", node.span, f"没有名为{quoted(node.name)}的属性")
    if isinstance(held, Computed):
        return _computed(_parsed(held.text, walker), node.span, walker)
    return _held(held, node.span, walker)


def _held(held: Held, span: Span, walker: Walker) -> Found:
    if isinstance(held, int | float | str):
        return certain(_scalar(held, span, walker))
    if isinstance(held, Sequence) and len(held) <= walker.limits.items:
        items = tuple(held)
        if all(isinstance(item, int | float | str) for item in items):
            return tuple([certain(item) for item in items])
    raise DiceError("type", span, "这个属性的值不是整数、小数、文字或它们的列表")


def _scalar(held: Scalar, span: Span, walker: Walker) -> Scalar:
    if isinstance(held, float):
        return finite(held, span)
    return bounded(int(held), walker.limits.integer_bits, span) if isinstance(held, int) else held


def _parsed(source: str, walker: Walker) -> Node:
    if source in walker.trees:
        return walker.trees[source]
    text = fold(source).text
    if len(text) > walker.limits.characters:
        raise DiceError("too_long", (0, 0), f"计算属性太长：最多 {walker.limits.characters} 个字符")
    parsed = parse(text, walker.dialect, walker.limits)
    if text[parsed.end :].strip():
        raise DiceError("syntax", (0, 0), "计算属性的算式有一部分无法读懂")
    walker.trees[source] = parsed.root
    return parsed.root


def _computed(node: Node, span: Span, walker: Walker) -> Found:
    """The distribution of a computed attribute, drawn anew at each use; its errors are those of its name."""
    walker.nested += 1
    try:
        # How often they are used is bounded by the work alone: conditioning repeats uses a roll makes once.
        if walker.nested > walker.limits.depth:
            raise DiceError("budget", span, "计算属性嵌套太深，或者引用了自己")
        return walker.found(node)
    except DiceError as error:
        raise error.moved(span) from None
    finally:
        walker.nested -= 1


def statement(node: nodes.Assign | nodes.Steps, walker: Walker) -> Found:
    """The distribution of the last of some steps, or of an assignment."""
    return _from_step(node.steps if isinstance(node, nodes.Steps) else (node,), walker)


def _from_step(steps: Sequence[Node], walker: Walker) -> Found:
    """Walk the first step, then the others for each value it may have given to a name."""
    step, rest = steps[0], steps[1:]
    if not isinstance(step, nodes.Assign):
        return walker.found(step)
    if step.computed:
        return _with(step.name, step.value, rest, walker) if rest else certain("")
    found = walker.found(step.value)
    if not rest:
        return found
    if isinstance(found, tuple):
        return _with_list(step, found, rest, walker)
    if found.constant or _used_once(step.name, rest, walker):
        return _with(step.name, found, rest, walker)
    parts = []
    for value, count in complete(found).counts.items():
        part = _with(step.name, certain(value), rest, walker)
        if isinstance(part, tuple):
            raise refusal("由骰子决定的列表无法计算概率", step.span)
        parts.append((count, part))
    return mixture(parts, walker.work)


def _with_list(step: nodes.Assign, found: Items, rest: Sequence[Node], walker: Walker) -> Found:
    if all(item.constant for item in found) or _used_once(step.name, rest, walker):
        return _with(step.name, found, rest, walker)
    raise refusal(f"含有骰子的列表{quoted(step.name)}用了不止一次，无法计算概率", step.span)


def _with(name: str, bound: Found | Node, rest: Sequence[Node], walker: Walker) -> Found:
    before = walker.scope
    walker.scope = {**before, name: bound}
    try:
        return _from_step(rest, walker)
    finally:
        walker.scope = before


def _used_once(name: str, rest: Sequence[Node], walker: Walker) -> bool:
    """Whether `name` is used once at most, so that nothing depends on it twice. No, if that cannot be seen."""
    if walker.nested or any(isinstance(step, nodes.Assign) and step.computed for step in rest):
        return False
    used = [found.name for step in rest for found in _names(step)]
    return used.count(name) <= 1 and all(_is_plain(other, walker) for other in used if other != name)


def _is_plain(name: str, walker: Walker) -> bool:
    bound = walker.scope.get(name)
    if bound is not None:
        return isinstance(bound, Weights | tuple)
    return not isinstance(walker.resolver.resolve(name), Computed)


def _names(part: object) -> Iterator[nodes.Name]:
    """The names in `part`, a node or what a node holds, without recursion."""
    waiting = [part]
    while waiting:
        found = waiting.pop()
        if isinstance(found, nodes.Name):
            yield found
        elif isinstance(found, tuple):
            waiting.extend(found)
        elif is_dataclass(found):
            waiting.extend(getattr(found, field.name) for field in fields(found))
