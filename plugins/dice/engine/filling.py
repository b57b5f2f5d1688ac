"""Owns `fill`: a text whose `{expressions}` are rolled, all on one budget."""

from __future__ import annotations

import re

from plugins.dice.engine.context import Context
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.fold import fold
from plugins.dice.engine.limits import DEFAULT_LIMITS, Limits
from plugins.dice.engine.names import Variables, resolver_of
from plugins.dice.engine.program import program_of
from plugins.dice.engine.rng import Source, system
from plugins.dice.engine.roller import placed, too_long
from plugins.dice.engine.values import shown

EXPRESSION = re.compile(r"\{([^{}]*)\}")


def fill(
    text: str,
    *,
    rng: Source | None = None,
    default_sides: int = 100,
    dialect: str = "seal",
    variables: Variables | None = None,
    limits: Limits | None = None,
) -> str:
    """`text` with the value in place of each `{expression}`, from left to right; the rest stays as it is.

    Names assigned in one expression are known in the next; the dice budget is shared. Raises DiceError, with
    a span on `text`, when one of them cannot be read to its end or rolled.
    """
    bounds = limits or DEFAULT_LIMITS
    if len(text) > bounds.characters:
        raise too_long(text, bounds)
    context = Context(bounds.dice, rng or system(), resolver_of(variables))

    def value(match: re.Match[str]) -> str:
        source = fold(match[1])
        try:
            program = program_of(source.text, dialect, default_sides, limits)
            if source.text[program.end :].strip():
                raise DiceError("syntax", (program.end, len(source.text)), "花括号里的这一部分无法读懂")
            return shown(program.result(program.run(context)))
        except (DiceError, RecursionError) as error:
            found = placed(error, source, 0)
            raise found.moved((found.span[0] + match.start(1), found.span[1] + match.start(1))) from None

    return EXPRESSION.sub(value, text)
