"""Owns reading the body of a roll command: which part is the expression, which part only the reason."""

from __future__ import annotations

from dataclasses import dataclass

from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.fold import Folded, fold
from plugins.dice.engine.limits import DEFAULT_LIMITS, Limits
from plugins.dice.engine.names import Resolver, Variables, resolver_of
from plugins.dice.engine.program import Program, program_of
from plugins.dice.engine.roller import placed, split_rounds, too_long
from plugins.dice.engine.template import Site

DEFAULT_DIE = "d"


@dataclass(frozen=True, slots=True)
class Command:
    """A command body taken apart.

    `expression` goes to `roll` as it is (its rounds included); it is a prefix of the body, so the spans of
    its errors lie on the body, unless `implied`: then the body held only a reason and the default die is
    rolled.
    """

    rounds: int
    expression: str
    reason: str
    implied: bool


def split_command(
    text: str,
    *,
    default_sides: int = 100,
    dialect: str = "seal",
    variables: Variables | None = None,
    limits: Limits | None = None,
) -> Command:
    """Take the body of `.r` apart: `3#4d6k3+2 力量` is 3 rounds of `4d6k3+2` with the reason `力量`.

    A body that computes nothing (no die, no known name, no complete sum) is all reason. Raises DiceError
    for a body that is clearly meant as an expression but cannot be read, and for the limits of reading.
    """
    bounds = limits or DEFAULT_LIMITS
    source = fold(text)
    base = 0
    try:
        if len(source.text) > bounds.characters:
            raise too_long(source.text, bounds)
        rounds, base = split_rounds(source.text, bounds)
        end = _expression_end(source.text[base:], (default_sides, dialect, limits), resolver_of(variables))
    except (DiceError, RecursionError) as error:
        raise placed(error, source, base) from None
    return _command(source, rounds, base, end, bounds)


def _command(source: Folded, rounds: int | None, base: int, end: int | None, bounds: Limits) -> Command:
    cut = source.end(base + (end or 0))
    head = source.original[:cut]
    reason = source.original[cut:].strip()[: bounds.reason_characters]
    return Command(rounds or 1, head + DEFAULT_DIE if end is None else head, reason, end is None)


def _expression_end(body: str, key: tuple[int, str, Limits | None], resolver: Resolver) -> int | None:
    """Where the expression at the start of `body` ends; None if there is none."""
    default_sides, dialect, limits = key
    try:
        program = program_of(body, dialect, default_sides, limits)
    except DiceError as error:
        if error.code != "syntax" or _meant_as_expression(body):
            raise
        return None
    unknown = [site for site in program.names if resolver.resolve(site.name or "") is None]
    if not _computes(program, unknown, body):
        return None
    cut = _reason_start(body, unknown)
    return program.end if cut is None else _expression_end(body[:cut], key, resolver)


def _meant_as_expression(body: str) -> bool:
    """Whether an unreadable body looks like a sum: it opens like one, and has digits or no words at all."""
    if body.lstrip()[:1] not in ("(", "+", "-"):
        return False
    return any("0" <= char <= "9" for char in body) or not any(char.isalpha() for char in body)


def _computes(program: Program, unknown: list[Site], body: str) -> bool:
    """Whether rolling `program` computes something; a lone number, or `2-3人`, does not."""
    if program.rolls or len(program.names) > len(unknown):
        return True
    glued = body[program.end : program.end + 1].strip() != ""
    return program.operators > 0 and not unknown and not glued


def _reason_start(body: str, unknown: list[Site]) -> int | None:
    """Where the reason starts if it begins with an operator: `d20 -攻击` has a space before, none behind."""
    for site in unknown:
        before = body[: site.span[0]].rstrip("+-*/%^<>=!&|?")
        if before != body[: site.span[0]] and before[-1:].isspace():
            return len(before)
    return None
