"""Owns `roll`: one text in, one result out, every failure a DiceError on the user's own characters."""

from __future__ import annotations

import re

from plugins.dice.engine.context import Context
from plugins.dice.engine.errors import NOWHERE, DiceError
from plugins.dice.engine.fold import Folded, fold
from plugins.dice.engine.limits import DEFAULT_LIMITS, Limits
from plugins.dice.engine.names import NO_NAMES, Variables, resolver_of
from plugins.dice.engine.program import CACHED_CHARACTERS, Program, compile_program, compiled, program_of
from plugins.dice.engine.result import RollResult, RoundsResult
from plugins.dice.engine.rng import Source, system

ROUNDS = re.compile(r"\s*([0-9]+)#")
_SYSTEM = system()


def roll(
    text: str,
    *,
    rng: Source | None = None,
    default_sides: int = 100,
    dialect: str = "seal",
    variables: Variables | None = None,
    limits: Limits | None = None,
) -> RollResult:
    """Roll the longest expression that `text` starts with.

    `rng` is a source of plugins.dice.engine.rng (operating-system entropy by default), `default_sides`
    the sides of a die without any, `variables` a mapping or a Resolver for names. `3#d20` makes three
    rounds on one dice budget; the value is then a list. Raises DiceError, and nothing else, for any str.
    """
    source: str | Folded
    if str.isascii(text):  # through the class: anything but a str is a TypeError here
        source = folded = text
    else:
        source = fold(text)
        folded = source.text
    bounds = DEFAULT_LIMITS if limits is None else limits
    resolver = NO_NAMES if variables is None else resolver_of(variables)
    base = 0
    try:
        if len(folded) > bounds.characters:
            raise too_long(folded, bounds)
        context = Context(bounds.dice, _SYSTEM if rng is None else rng, resolver)
        if "#" in folded:
            rounds, base = split_rounds(folded, bounds)
            if rounds is not None:
                program = program_of(folded[base:], dialect, default_sides, limits)
                return _rounds(rounds, context, program, source, base)
        build = compiled if len(folded) <= CACHED_CHARACTERS else compile_program
        program = build(folded, dialect, default_sides, limits)
        value = program.run(context)
        if value.__class__ is tuple:
            value = program.result(value)  # type: ignore[assignment]
        return RollResult(value, program, source, 0, context.trace, bounds.dice - context.budget)  # type: ignore[arg-type]
    except (DiceError, RecursionError) as error:
        raise placed(error, source, base) from None


def too_long(folded: str, limits: Limits) -> DiceError:
    """What is said of a text over the limit; the characters beyond it are to blame."""
    message = f"输入太长：最多 {limits.characters} 个字符，这里有 {len(folded)} 个"
    return DiceError("too_long", (limits.characters, len(folded)), message)


def split_rounds(folded: str, limits: Limits) -> tuple[int | None, int]:
    """The rounds that `folded` asks for (None without `N#`), and where its expression starts."""
    match = ROUNDS.match(folded)
    if match is None:
        return None, 0
    digits = match[1].lstrip("0")
    if not digits or len(digits) > limits.count_digits or int(digits) > limits.rounds:
        raise DiceError("rounds", match.span(1), f"轮数要在 1 到 {limits.rounds} 之间")
    return int(digits), match.end()


def placed(error: DiceError | RecursionError, source: str | Folded, base: int) -> DiceError:
    """`error` with its span, counted from `base` of the folded text, moved onto the user's own characters."""
    if isinstance(error, RecursionError):
        # The limits keep depth small, but the caller's own stack may be nearly full, or its limits wide.
        error = DiceError("depth", NOWHERE, "算式嵌套太深")
    folded = Folded(source, source, None) if isinstance(source, str) else source
    return error.moved(folded.span(error.span, base))


def _rounds(rounds: int, context: Context, program: Program, source: str | Folded, base: int) -> RoundsResult:
    """`rounds` runs of one program, all on the dice budget of one context."""
    results = []
    for _ in range(rounds):
        context.trace = []
        if context.scope is not None:
            context.scope.values.clear()  # each round starts without the names of the one before
        before = context.budget
        value = program.result(program.run(context))
        results.append(RollResult(value, program, source, base, context.trace, before - context.budget))
    return RoundsResult(results)
