"""Owns compiling: a folded text becomes a program of closures, kept in a cache that holds no values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from plugins.dice.engine.arithmetic import ARITHMETIC, Arithmetic, bounded
from plugins.dice.engine.context import Context
from plugins.dice.engine.dialect import SUM, Dialect, dialect_named
from plugins.dice.engine.errors import DiceError, Span, quoted
from plugins.dice.engine.limits import DEFAULT_LIMITS, Limits
from plugins.dice.engine.nodes import Binary, Dice, Keep, Name, Negative, Node, Number
from plugins.dice.engine.parser import parse
from plugins.dice.engine.template import Site, Template, template_of
from plugins.dice.engine.terms import (
    Closure,
    charged_faces,
    checked_count,
    checked_keep,
    checked_sides,
    fixed_term,
    subtotal,
)

CACHED_PROGRAMS = 4096
# The size of a program grows with its text: longer texts are compiled each time, or 4096 of the longest
# sums a group can send would hold hundreds of megabytes.
CACHED_CHARACTERS = 64


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled text. `end` is where the expression ends; `marks` is where default side counts belong.

    Without slots, for `template` is made on first use: most rolls of a busy group repeat, few need it cold.
    """

    run: Closure
    text: str
    end: int
    sites: tuple[Site, ...]
    marks: tuple[int, ...]
    default_sides: int
    operators: int
    limits: Limits

    @cached_property
    def template(self) -> Template:
        """How results of this program are written."""
        return template_of(self.text, self.end, self.sites, self.marks, self.default_sides)

    @property
    def names(self) -> tuple[Site, ...]:
        """The sites that are names, in the order of the text."""
        return tuple(site for site in self.sites if site.name is not None)

    @property
    def rolls(self) -> bool:
        """Whether there is a dice term in it."""
        return any(site.name is None for site in self.sites)


def compile_program(text: str, dialect: str, default_sides: int, limits: Limits | None) -> Program:
    """The program of folded `text`; None stands for the default limits. Raises DiceError."""
    bounds = limits or DEFAULT_LIMITS
    table = dialect_named(dialect)
    parsed = parse(text, table, bounds)
    compiler = _Compiler(bounds, table, default_sides)
    run = compiler.closure(parsed.root)
    marks = tuple(sorted(compiler.marks))
    sites = tuple(compiler.sites)
    return Program(run, text, parsed.end, sites, marks, default_sides, parsed.operators, bounds)


compiled = lru_cache(maxsize=CACHED_PROGRAMS)(compile_program)
"""`compile_program` with a memory, for texts of up to CACHED_CHARACTERS."""


def program_of(text: str, dialect: str, default_sides: int, limits: Limits | None) -> Program:
    """The program of folded `text`, remembered if it is short. Raises DiceError."""
    build = compiled if len(text) <= CACHED_CHARACTERS else compile_program
    return build(text, dialect, default_sides, limits)


class _Compiler:
    """Turns the nodes of one tree into closures, left to right, which is the order dice are rolled in."""

    __slots__ = ("bits", "default_sides", "dialect", "limits", "marks", "sites")

    def __init__(self, limits: Limits, dialect: Dialect, default_sides: int) -> None:
        self.limits = limits
        self.bits = limits.integer_bits
        self.dialect = dialect
        self.default_sides = default_sides
        self.sites: list[Site] = []
        self.marks: list[int] = []

    def closure(self, node: Node) -> Closure:
        match node:
            case Number():
                return _constant(node.value)
            case Dice():
                return self.dice(node)
            case Binary():
                return self.binary(node)
            case Negative():
                return _negative(self.closure(node.operand))
            case Name():
                return self.name(node)

    def site(self, span: Span, name: str | None = None) -> int:
        self.sites.append(Site(span, name))
        return len(self.sites) - 1

    def name(self, node: Name) -> Closure:
        return _named(self.site(node.span, node.name), node, self.bits)

    def binary(self, node: Binary) -> Closure:
        """A whole chain of left operands becomes one loop, so that a long sum is not a deep call."""
        chain: list[Binary] = []
        base: Node = node
        while isinstance(base, Binary):
            chain.append(base)
            base = base.left
        chain.reverse()
        if len(chain) == 1 and isinstance(base, Dice) and isinstance(node.right, Number) and _adds(node):
            return _plus_constant(self.dice(base), node.right.value if node.operator.sign == "+" else -node.right.value)
        first = self.closure(base)
        steps = tuple((ARITHMETIC[link.operator.sign], self.closure(link.right), link.span) for link in chain)
        return _chain(first, steps, self.bits)

    def dice(self, node: Dice) -> Closure:
        if node.sides is None:
            self.marks.append(node.mark)
        count = self.operand(node.count, 1)
        sides = self.operand(node.sides, self.default_sides)
        number = self.operand(node.keep.number if node.keep else None, 0)
        site = self.site(node.span)
        if isinstance(count, int) and isinstance(sides, int) and isinstance(number, int):
            checked_count(count, node.span)
            checked_sides(sides, node.span, self.limits)
            kept = checked_keep(node.keep, number, count, self.dialect.keep_clamps) if node.keep else 0
            return fixed_term(site, node.span, count, sides, kept)
        parts = (_as_closure(count), _as_closure(sides), _as_closure(number))
        return self.computed_term(site, node.span, node.keep, parts)

    def operand(self, node: Node | None, absent: int) -> int | Closure:
        """A part of a dice term: a number that is known now, or a closure."""
        if node is None:
            return absent
        return node.value if isinstance(node, Number) else self.closure(node)

    def computed_term(
        self, site: int, span: Span, keep: Keep | None, parts: tuple[Closure, Closure, Closure]
    ) -> Closure:
        count_of, sides_of, number_of = parts
        limits, clamps = self.limits, self.dialect.keep_clamps

        def run(context: Context) -> int:
            count = checked_count(count_of(context), span)
            sides = checked_sides(sides_of(context), span, limits)
            kept = checked_keep(keep, number_of(context), count, clamps) if keep else 0
            faces = charged_faces(context, span, count, sides)
            value = subtotal(faces, kept)
            context.trace.append((site, sides, faces, kept, value))
            return value

        return run


def _adds(node: Binary) -> bool:
    return node.operator.binding == SUM


def _as_closure(part: int | Closure) -> Closure:
    return _constant(part) if isinstance(part, int) else part


def _constant(value: int) -> Closure:
    return lambda context: value


def _negative(operand: Closure) -> Closure:
    return lambda context: -operand(context)


def _plus_constant(term: Closure, constant: int) -> Closure:
    # No bound to check: a term is at most dice times sides, a literal has a digit limit.
    return lambda context: term(context) + constant


def _chain(first: Closure, steps: tuple[tuple[Arithmetic, Closure, Span], ...], bits: int) -> Closure:
    def run(context: Context) -> int:
        value = first(context)
        for combine, operand, span in steps:
            value = combine(value, operand(context), bits, span)
        return value

    return run


def _named(site: int, node: Name, bits: int) -> Closure:
    name, span = node.name, node.span

    def run(context: Context) -> int:
        value = context.resolver.resolve(name)
        if value is None:
            raise DiceError("name", span, f"没有名为{quoted(name)}的属性")
        if not isinstance(value, int):
            raise DiceError("type", span, f"{quoted(name)}的值不是整数，不能参与计算")
        value = bounded(int(value), bits, span)
        context.trace.append((site, 0, (), 0, value))
        return value

    return run
