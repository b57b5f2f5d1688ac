"""Owns DiceError, the one exception of the dice engine."""

from __future__ import annotations

Span = tuple[int, int]

NOWHERE: Span = (-1, -1)
QUOTE_CHARACTERS = 20


class DiceError(Exception):
    """A roll that cannot be made: what is wrong, and on which characters.

    `span` is a half-open (start, end) pair of indexes into the text the caller passed in;
    `message` is one Simplified Chinese sentence for the person who typed it.

    Codes:
        syntax     no expression here, or a bracket or an operand is missing
        too_long   more characters than Limits.characters (after folding)
        literal    a number with too many digits
        decimal    a decimal number where only integers are understood
        depth      brackets nested deeper than Limits.depth
        operators  more operators than Limits.operators
        budget     more dice than Limits.dice in one message, all rounds together; or computed
                   attributes that are used more than Limits.computed times or refer to themselves
        count      a die count below 1
        sides      a side count below 1 or above Limits.sides
        keep       a keep/drop that leaves nothing, is negative, or is given twice
        endless    re-rolls, explosions or pools that would never end, or went beyond Limits.chain
        odds       a distribution that is not understood here, or too much work (odds only)
        pool       a pool, cross or bonus die with a number out of range
        items      more list items than Limits.items, or an operation on an empty list
        index      a list index beyond the list
        division   division or remainder by zero
        power      a negative exponent, or one that has no real result
        overflow   an integer beyond Limits.integer_bits, or a decimal beyond all bounds
        rounds     a round count of 0 or above Limits.rounds
        name       a name that the resolver does not know
        type       a value of the wrong kind: a text or list where a number is needed
        replay     a replayed die is missing or not a face of the die rolled
        dialect    no such dialect
    """

    def __init__(self, code: str, span: Span, message: str) -> None:
        super().__init__(code, span, message)
        self.code = code
        self.span = span
        self.message = message

    def __str__(self) -> str:
        return self.message

    def moved(self, span: Span) -> DiceError:
        """The same error on other characters."""
        return DiceError(self.code, span, self.message)


def quoted(text: str) -> str:
    """`text` in Chinese quotation marks, cut to a length fit for a chat line."""
    short = text if len(text) <= QUOTE_CHARACTERS else text[:QUOTE_CHARACTERS] + "…"
    return f"“{short}”"
