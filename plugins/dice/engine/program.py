"""Owns programs: a folded text compiled, kept in a cache that holds no values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from plugins.dice.engine import nodes
from plugins.dice.engine.compiler import Compiler
from plugins.dice.engine.dialect import Dialect, dialect_named
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.fold import fold
from plugins.dice.engine.limits import DEFAULT_LIMITS, Limits
from plugins.dice.engine.parser import parse
from plugins.dice.engine.template import Site, Template, template_of
from plugins.dice.engine.terms import Closure
from plugins.dice.engine.values import Result, Value

CACHED_PROGRAMS = 4096
# The size of a program grows with its text: longer texts are compiled each time, or 4096 of the longest
# sums a group can send would hold hundreds of megabytes.
CACHED_CHARACTERS = 64


@dataclass(eq=False)
class Program:
    """A compiled text. `end` is where the expression ends; `marks` is where default side counts belong.

    Treat it as a value. Not frozen, for setting its fields the frozen way would be a tenth of compiling; without
    slots, for `template` is made on first use: most rolls of a busy group repeat, few need it cold.
    """

    run: Closure
    text: str
    end: int
    sites: tuple[Site, ...]
    marks: tuple[int, ...]
    default_sides: int
    operators: int
    limits: Limits
    root: nodes.Node
    dialect: Dialect

    @cached_property
    def template(self) -> Template:
        """How results of this program are written."""
        return template_of(self.text, self.end, self.sites, self.marks, self.default_sides)

    def result(self, value: Value) -> Result:
        """`value` as the caller gets it: a list, or its last item where lists collapse."""
        if not isinstance(value, tuple):
            return value
        if not self.dialect.lists_collapse:
            return list(value)
        return value[-1] if value else 0

    @property
    def names(self) -> tuple[Site, ...]:
        """The sites that are names the text does not assign itself, in the order of the text."""
        return tuple(site for site in self.sites if site.name is not None and not site.local)

    @property
    def rolls(self) -> bool:
        """Whether there is a dice term in it."""
        return any(site.name is None for site in self.sites)


def compile_program(text: str, dialect: str, default_sides: int, limits: Limits | None) -> Program:
    """The program of folded `text`; None stands for the default limits. Raises DiceError."""
    bounds = limits or DEFAULT_LIMITS
    table = dialect_named(dialect)
    parsed = parse(text, table, bounds)
    compiler = Compiler(bounds, table, default_sides, lambda source: _whole(source, dialect, default_sides, limits))
    run = compiler.closure(parsed.root)
    marks = tuple(sorted(compiler.marks))
    sites = tuple(compiler.sites)
    return Program(run, text, parsed.end, sites, marks, default_sides, parsed.operators, bounds, parsed.root, table)


compiled = lru_cache(maxsize=CACHED_PROGRAMS)(compile_program)
"""`compile_program` with a memory, for texts of up to CACHED_CHARACTERS."""


def program_of(text: str, dialect: str, default_sides: int, limits: Limits | None) -> Program:
    """The program of folded `text`, remembered if it is short. Raises DiceError."""
    build = compiled if len(text) <= CACHED_CHARACTERS else compile_program
    return build(text, dialect, default_sides, limits)


def _whole(source: str, dialect: str, default_sides: int, limits: Limits | None) -> Closure:
    """What evaluates a computed attribute. Raises DiceError when its text is more than an expression."""
    text = fold(source).text
    bounds = limits or DEFAULT_LIMITS
    if len(text) > bounds.characters:
        raise DiceError("too_long", (0, 0), f"计算属性太长：最多 {bounds.characters} 个字符")
    program = program_of(text, dialect, default_sides, limits)
    if text[program.end :].strip():
        raise DiceError("syntax", (0, 0), "计算属性的算式有一部分无法读懂")
    return program.run
