"""Owns compiling: the nodes of a tree become closures, and the places whose values a text shows."""

from __future__ import annotations

from dataclasses import replace

from plugins.dice.engine import forms, nodes
from plugins.dice.engine.context import Context
from plugins.dice.engine.dialect import SUM, Dialect
from plugins.dice.engine.errors import DiceError, Span
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.lists import pick
from plugins.dice.engine.modified import modified_term
from plugins.dice.engine.nodes import Binary, Dice, Name, Negative, Node, Number
from plugins.dice.engine.pools import bonus_term, cross_term, fate_term, pool_term
from plugins.dice.engine.template import Site
from plugins.dice.engine.terms import (
    Closure,
    IntClosure,
    charged_faces,
    checked_count,
    checked_keep,
    checked_sides,
    fixed_term,
    subtotal,
)


class Compiler:
    """Turns the nodes of one tree into closures, left to right, which is the order dice are rolled in."""

    __slots__ = ("assigned", "bits", "compile_text", "default_sides", "dialect", "limits", "marks", "sites")

    def __init__(self, limits: Limits, dialect: Dialect, default_sides: int, compile_text: forms.Compile) -> None:
        # Counted out once: a replacement costs more than most programs take to compile.
        lower = dialect.most_sides < limits.sides
        self.limits = replace(limits, sides=dialect.most_sides) if lower else limits
        self.bits = limits.integer_bits
        self.dialect = dialect
        self.default_sides = default_sides
        self.compile_text = compile_text
        self.sites: list[Site] = []
        self.marks: list[int] = []
        self.assigned: set[str] = set()

    def closure(self, node: Node) -> Closure:
        match node:
            case Number():
                return forms.constant(node.value)
            case Dice():
                return self.dice(node)
            case Binary():
                return self.binary(node)
            case Negative():
                return forms.negative(self.closure(node.operand), node.span)
            case Name():
                local = node.name in self.assigned
                site = self.site(node.span, node.name, local)
                return forms.named(node.name, site, node.span, self.limits, self.compile_text)
            case nodes.Bonus() | nodes.Pool() | nodes.Cross() | nodes.Fate():
                return self.special(node)
            case nodes.ListOf() | nodes.Range() | nodes.Index() | nodes.Slice() | nodes.Pick() | nodes.Call():
                return self.listed(node)
            case _:
                return self.statement(node)

    def site(self, span: Span, name: str | None = None, local: bool = False) -> int:
        self.sites.append(Site(span, name, local))
        return len(self.sites) - 1

    def binary(self, node: Binary) -> Closure:
        """A whole chain of left operands becomes one loop, so that a long sum is not a deep call."""
        links: list[Binary] = []
        base: Node = node
        while isinstance(base, Binary):
            links.append(base)
            base = base.left
        links.reverse()
        if len(links) == 1 and isinstance(base, Dice) and node.operator.binding == SUM:
            constant = node.right.value if isinstance(node.right, Number) else 0.0
            if isinstance(constant, int):
                return self.dice(base, constant if node.operator.sign == "+" else -constant)
        value = self.closure(base)
        steps: list[forms.Step] = []
        for link in links:
            sign = link.operator.sign
            if sign in ("&&", "||"):
                left = forms.chain(value, tuple(steps), self.limits) if steps else value
                join = forms.both if sign == "&&" else forms.either
                value, steps = join(left, self.closure(link.right)), []
            else:
                steps.append(forms.step(sign, self.closure(link.right), link.right.span, link.span))
        return forms.chain(value, tuple(steps), self.limits) if steps else value

    def dice(self, node: Dice, constant: int = 0) -> IntClosure:
        if node.sides is None:
            self.marks.append(node.mark)
        count = self.operand(node.count, 1)
        sides = self.operand(node.sides, self.default_sides)
        number = self.operand(node.keep.number if node.keep else None, 0)
        plain = not node.changes and node.bound is None and node.tally is None
        if plain and isinstance(count, int) and isinstance(sides, int) and isinstance(number, int):
            checked_count(count, node.span)
            checked_sides(sides, node.span, self.limits)
            kept = checked_keep(node.keep, number, count, self.dialect.keep_clamps) if node.keep else 0
            return fixed_term(self.site(node.span), node.span, count, sides, kept, constant)
        bound = self.operand(node.bound.number if node.bound else None, 0)
        site = self.site(node.span)
        parts = (_as_closure(count), _as_closure(sides), _as_closure(number), _as_closure(bound))
        make = self.computed_term if plain else self.modified_term
        term = make(site, node, parts)
        return _plus_constant(term, constant) if constant else term

    def modified_term(self, site: int, node: Dice, parts: tuple[IntClosure, ...]) -> IntClosure:
        return modified_term(site, node, parts, self.limits, self.dialect.keep_clamps)

    def operand(self, node: Node | None, absent: int) -> int | IntClosure:
        """A part of a dice term: a number that is known now, or a closure."""
        if node is None:
            return absent
        if isinstance(node, Number) and isinstance(node.value, int):
            return node.value
        return forms.as_whole(self.closure(node), node.span)

    def computed_term(self, site: int, node: Dice, parts: tuple[IntClosure, ...]) -> IntClosure:
        count_of, sides_of, number_of, _ = parts
        span, keep, limits, clamps = node.span, node.keep, self.limits, self.dialect.keep_clamps

        def run(context: Context) -> int:
            count = checked_count(count_of(context), span)
            sides = checked_sides(sides_of(context), span, limits)
            kept = checked_keep(keep, number_of(context), count, clamps) if keep else 0
            faces = charged_faces(context, span, count, sides)
            value = subtotal(faces, kept)
            context.trace.append((site, sides, faces, kept, value))
            return value

        return run

    def special(self, node: nodes.Bonus | nodes.Pool | nodes.Cross | nodes.Fate) -> Closure:
        count = _as_closure(self.operand(node.count, 4 if isinstance(node, nodes.Fate) else 1))
        if isinstance(node, nodes.Bonus):
            return bonus_term(self.site(node.span), node, count, self.dialect)
        if isinstance(node, nodes.Fate):
            return fate_term(self.site(node.span), node, count)
        line = _as_closure(self.operand(node.line, 0))
        sides = _as_closure(self.operand(node.sides, 10))
        if isinstance(node, nodes.Cross):
            return cross_term(self.site(node.span), node, (count, line, sides), self.limits, self.dialect)
        parts = (count, line, sides, _as_closure(self.operand(node.number, 8)))
        return pool_term(self.site(node.span), node, parts, self.limits, self.dialect)

    def listed(
        self, node: nodes.ListOf | nodes.Range | nodes.Index | nodes.Slice | nodes.Pick | nodes.Call
    ) -> Closure:  # fmt: skip
        span = node.span
        match node:
            case nodes.ListOf():
                return forms.list_of([self.closure(item) for item in node.items], span)
            case nodes.Range():
                return forms.range_of(self.whole(node.first), self.whole(node.last), self.limits, span)
            case nodes.Index():
                return forms.index(self.closure(node.of), self.whole(node.at), span)
            case nodes.Slice():
                first = self.whole(node.first) if node.first else None
                last = self.whole(node.last) if node.last else None
                return forms.slice_of(self.closure(node.of), first, last, self.limits, span)
            case nodes.Call():
                arguments = [self.closure(argument) for argument in node.arguments]
                return forms.call(node.function, arguments, self.limits, span)
            case nodes.Pick():
                number = self.whole(node.keep.number) if node.keep else None
                bound = self.closure(node.bound.number) if node.bound else None
                return pick(node, self.closure(node.of), number, bound, self.limits, self.dialect.keep_clamps)

    def whole(self, node: Node) -> IntClosure:
        return forms.as_whole(self.closure(node), node.span)

    def statement(self, node: Node) -> Closure:
        match node:
            case nodes.Text():
                return forms.constant(node.value)
            case nodes.Choice():
                branches = [(self.closure(condition), self.closure(value)) for condition, value in node.branches]
                return forms.choice(branches, self.closure(node.otherwise) if node.otherwise else forms.constant(""))
            case nodes.Triangle():
                return forms.triangle(self.whole(node.operand), self.bits, node.span)
            case nodes.Assign():
                value = self.closure(node.value)
                self.assigned.add(node.name)
                return forms.assign(node.name, value, node.computed)
            case nodes.Steps():
                return forms.steps([self.closure(step) for step in node.steps])
            case _:
                raise DiceError("syntax", node.span, "这里缺少一个数字或骰子")


def _as_closure(part: int | IntClosure) -> IntClosure:
    return (lambda context: part) if isinstance(part, int) else part


def _plus_constant(term: IntClosure, constant: int) -> IntClosure:
    return lambda context: term(context) + constant
