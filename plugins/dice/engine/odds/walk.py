"""Owns the walk over a tree that gives the distribution of each node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plugins.dice.engine import nodes
from plugins.dice.engine.arithmetic import bounded
from plugins.dice.engine.dialect import Dialect
from plugins.dice.engine.errors import DiceError, Span
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.names import Resolver
from plugins.dice.engine.nodes import Node
from plugins.dice.engine.odds import binding, listed
from plugins.dice.engine.odds.combine import combined, operation
from plugins.dice.engine.odds.listing import Items
from plugins.dice.engine.odds.special import bonus_odds, cross_odds, fate_odds, pool_odds
from plugins.dice.engine.odds.term import Rules, term_odds
from plugins.dice.engine.odds.weights import Weights, certain, complete, mapped, mixture
from plugins.dice.engine.odds.work import Work, refusal
from plugins.dice.engine.values import number, truth, whole

Found = Weights | Items
CASE_STEPS = 150  # to walk a node once more, for one value of an operand


class Walker:
    """One question: the settings, the work that is left, and what names stand for right now."""

    __slots__ = ("default_sides", "dialect", "limits", "nested", "resolver", "rules", "scope", "trees", "work")

    def __init__(self, limits: Limits, dialect: Dialect, default_sides: int, resolver: Resolver) -> None:
        self.limits = limits
        self.dialect = dialect
        self.default_sides = default_sides
        self.resolver = resolver
        self.work = Work()
        self.rules = Rules(limits, dialect.keep_clamps, self.work)
        self.scope: dict[str, Found | Node] = {}
        self.nested = 0
        self.trees: dict[str, Node] = {}  # of computed attributes, by their texts

    def found(self, node: Node) -> Found:
        """The distribution of `node`, or those of the independent items if it is a list."""
        self.work.charge(CASE_STEPS)
        match node:
            case nodes.ListOf() | nodes.Range() | nodes.Index() | nodes.Slice() | nodes.Pick() | nodes.Call():
                return listed.list_odds(node, self)
            case nodes.Name():
                return binding.named(node, self)
            case nodes.Assign() | nodes.Steps():
                return binding.statement(node, self)
            case nodes.Choice():
                return self.choice(node)
            case _:
                return self.scalar(node)

    def weights(self, node: Node) -> Weights:
        """The distribution of `node`, which must not be a list."""
        found = self.found(node)
        if isinstance(found, tuple):
            raise refusal("列表用在这里时，无法计算概率", node.span)
        return found

    def scalar(self, node: Node) -> Weights:
        match node:
            case nodes.Number() | nodes.Text():
                return certain(node.value)
            case nodes.Negative():
                operand = complete(self.weights(node.operand))
                return mapped(operand, lambda value: -number(value, node.span), self.work)
            case nodes.Binary():
                return self.binary(node)
            case nodes.Triangle():
                return self.triangle(node)
            case nodes.Dice():
                return self.dice(node)
            case nodes.Bonus() | nodes.Fate() | nodes.Pool() | nodes.Cross():
                return self.special(node)
            case _:
                raise refusal("这种写法还不能计算概率", node.span)

    def operand(self, node: Node | None, absent: int) -> Weights:
        """The distribution of a part of a term."""
        return certain(absent) if node is None else complete(self.weights(node))

    def cases(self, operands: Sequence[Weights], span: Span, compute: Callable[[list[int]], Weights]) -> Weights:
        """The mixture of what `compute` gives for every combination of integer operands."""
        combinations: list[tuple[int, list[int]]] = [(1, [])]
        for operand in operands:
            self.work.charge(20 * len(combinations) * len(operand.counts))
            combinations = [
                (weight * count, [*values, whole(value, span)])
                for weight, values in combinations
                for value, count in operand.counts.items()
            ]
        if len(combinations) > 1:
            self.work.charge(CASE_STEPS * len(combinations))
        return mixture([(weight, compute(values)) for weight, values in combinations], self.work)

    def dice(self, node: nodes.Dice) -> Weights:
        operands = [
            self.operand(node.count, 1),
            self.operand(node.sides, self.default_sides),
            self.operand(node.keep.number if node.keep else None, 0),
            self.operand(node.bound.number if node.bound else None, 0),
        ]
        return self.cases(operands, node.span, lambda numbers: term_odds(node, _four(numbers), self.rules))

    def special(self, node: nodes.Bonus | nodes.Fate | nodes.Pool | nodes.Cross) -> Weights:
        count = self.operand(node.count, 4 if isinstance(node, nodes.Fate) else 1)
        limits, dialect, work = self.limits, self.dialect, self.work
        if isinstance(node, nodes.Bonus):
            return self.cases([count], node.span, lambda numbers: bonus_odds(node, numbers[0], limits, work))
        if isinstance(node, nodes.Fate):
            return self.cases([count], node.span, lambda numbers: fate_odds(node, numbers[0], limits, work))
        operands = [count, self.operand(node.line, 0), self.operand(node.sides, 10)]
        if isinstance(node, nodes.Cross):
            return self.cases(
                operands, node.span, lambda numbers: cross_odds(node, _three(numbers), limits, dialect, work)
            )
        operands.append(self.operand(node.number, 8))
        return self.cases(operands, node.span, lambda numbers: pool_odds(node, _four(numbers), limits, dialect, work))

    def triangle(self, node: nodes.Triangle) -> Weights:
        def change(value: object) -> int:
            last = whole(value, node.span)  # type: ignore[arg-type]
            if last < 0:
                raise DiceError("type", node.span, "阶加的数不能是负数")
            return bounded(last * (last + 1) // 2, self.limits.integer_bits, node.span)

        return mapped(self.weights(node.operand), change, self.work, rising=True)

    def binary(self, node: nodes.Binary) -> Weights:
        """A chain of left operands is walked in a loop, so that a long sum is not a deep call."""
        links: list[nodes.Binary] = []
        base: Node = node
        while isinstance(base, nodes.Binary):
            links.append(base)
            base = base.left
        value = self.weights(base)
        for link in reversed(links):
            sign = link.operator.sign
            if sign in ("&&", "||"):
                value = self.joined(value, link.right, sign == "||")
            else:
                act = operation(sign, self.limits.integer_bits, link.right.span, link.span)
                value = combined(sign, value, self.weights(link.right), act, self.work)
        return value

    def joined(self, left: Weights, right: Node, stops: bool) -> Weights:
        """The left value where its truth is `stops`, else the right one."""
        final, going = split(complete(left), stops)
        parts: list[tuple[int, Weights]] = []
        if final.total:
            parts.append((final.total, final))
        if going.total:
            parts.append((going.total, self.weights(right)))
        return mixture(parts, self.work)

    def choice(self, node: nodes.Choice) -> Found:
        parts: list[tuple[int, Weights]] = []
        remaining = 1
        for condition, value in node.branches:
            true, false = split(complete(self.weights(condition)), True)
            mass = true.total + false.total
            if true.total == mass and not parts:
                return self.found(value)
            parts = [(weight * mass, part) for weight, part in parts]
            if true.total:
                parts.append((remaining * true.total, self.weights(value)))
            remaining *= false.total
            if not remaining:
                return mixture(parts, self.work)
        if node.otherwise is None:
            return mixture([*parts, (remaining, certain(""))], self.work)
        if not parts:
            return self.found(node.otherwise)
        return mixture([*parts, (remaining, self.weights(node.otherwise))], self.work)


def _three(numbers: list[int]) -> tuple[int, int, int]:
    return numbers[0], numbers[1], numbers[2]


def _four(numbers: list[int]) -> tuple[int, int, int, int]:
    return numbers[0], numbers[1], numbers[2], numbers[3]


def split(weights: Weights, holds: bool) -> tuple[Weights, Weights]:
    """The part of `weights` whose truth is `holds`, and the other; a total of 0 means there is none."""
    one = {value: count for value, count in weights.counts.items() if truth(value) == holds}
    other = {value: count for value, count in weights.counts.items() if truth(value) != holds}
    return Weights(one, sum(one.values())), Weights(other, sum(other.values()))
