"""Owns `odds`: one text in, its exact distribution out, every failure a DiceError on the user's own characters."""

from __future__ import annotations

from fractions import Fraction

from plugins.dice.engine.dialect import Dialect, dialect_named
from plugins.dice.engine.errors import NOWHERE, DiceError
from plugins.dice.engine.fold import Folded, fold
from plugins.dice.engine.limits import DEFAULT_LIMITS
from plugins.dice.engine.names import Variables, resolver_of
from plugins.dice.engine.odds.distribution import Distribution
from plugins.dice.engine.odds.listing import Items
from plugins.dice.engine.odds.walk import Walker
from plugins.dice.engine.odds.weights import Weights, certain
from plugins.dice.engine.odds.work import refusal
from plugins.dice.engine.parser import Parsed, parse
from plugins.dice.engine.roller import ROUNDS, placed, too_long

MOST_TAIL = Fraction(1, 10**6)


def odds(
    text: str, *, default_sides: int = 100, dialect: str = "seal", variables: Variables | None = None
) -> Distribution:  # fmt: skip
    """The exact distribution of the longest expression that `text` starts with.

    The arguments are those of `roll`. Raises DiceError, and nothing else, for any str: what a roll would
    raise for at least one outcome, and `odds` for what is not understood here or is too much work. The limit
    on how often one die may explode or re-roll (Limits.chain) is not modelled: chains are endless here.
    """
    folded = fold(text)
    try:
        if len(folded.text) > DEFAULT_LIMITS.characters:
            raise too_long(folded.text, DEFAULT_LIMITS)
        if (rounds := ROUNDS.match(folded.text)) is not None:
            raise refusal("多轮掷骰没有一个共同的概率分布，请去掉轮数", rounds.span())
        table = dialect_named(dialect)
        parsed = parse(folded.text, table, DEFAULT_LIMITS)
        walker = Walker(DEFAULT_LIMITS, table, default_sides, resolver_of(variables))
        return _answer(folded, parsed, walker)
    except (DiceError, RecursionError) as error:
        raise placed(error, folded, 0) from None


def _answer(folded: Folded, parsed: Parsed, walker: Walker) -> Distribution:
    try:
        weights = _single(walker.found(parsed.root), walker.dialect)
        if weights.tail and Fraction(weights.tail, weights.total) > MOST_TAIL:
            raise refusal("结果没有上限，而且很大的结果太多，无法列全")
    except DiceError as error:
        # What goes beyond the work is no single term's fault: the whole expression is to blame.
        raise error.moved((0, parsed.end)) if error.span == NOWHERE else error from None
    end = folded.end(parsed.end)
    return Distribution(weights, folded.original[:end].strip(), folded.original[end:])


def _single(found: Weights | Items, dialect: Dialect) -> Weights:
    if isinstance(found, Weights):
        return found
    if not dialect.lists_collapse:
        raise refusal("结果是一个列表，没有概率分布；可以用 sum、max、min 或取舍把它变成一个数")
    return found[-1] if found else certain(0)
