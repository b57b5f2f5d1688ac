"""Owns the tokens of dice text: one regular expression, read on demand at a position."""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD_GOES_ON = r"(?![A-Za-z_])"
_KEEP = rf"(?:[kK][hHlL]?|[qQ]|[dD][hHlL]){_WORD_GOES_ON}"
_OPERAND = rf"\s*(?:[0-9(]|[dD]{_WORD_GOES_ON})"
_ADVANTAGE = rf"(?:优势|劣势|(?:[aA][dD][vV]|[dD][iI][sS]){_WORD_GOES_ON})"
_BOUND = r"(?:[mM][iI][nN]|[mM][aA][xX])(?=[0-9(])"

# A word that merely starts with d, k, q or x is a name: `dex`, `kungfu`, `xp`. So a letter is a die,
# a keep or a times sign only when no further ASCII letter follows (`d攻击` is a die and a reason).
TOKEN = re.compile(
    rf"""\s*(?:
        (?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)
      | (?P<keep>{_KEEP})
      | (?P<die>[dD](?:[fF](?!\w)|%(?!{_OPERAND})|{_WORD_GOES_ON}|(?={_KEEP}|{_ADVANTAGE}|{_BOUND})))
      | (?P<operator>\*\*|//|&&|\|\||[<>=!]=|[-+*/%^<>&|]|[xX](?={_OPERAND}))
      | (?P<open>\()
      | (?P<close>\))
      | (?P<mark>\.\.|[][{{}},;:?])
      | (?P<name>\$?[^\W\d]\w*(?::\w+)*)
      | (?P<text>'[^']*'|"[^"]*")
      | (?P<other>.?)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"\$?[^\W\d]\w*(?::\w+)*")

ADVANTAGE = re.compile(_ADVANTAGE)
_ENDS = r"(?=[kKqQ]|[dD][hHlL]|(?![A-Za-z_]))"  # a keep may be glued behind
EXPLODE = re.compile(r"!(?:!|[pP]" + _ENDS + r")?(?!=)")
EXPLODE_ON = re.compile(r"!(?:!|[pP]" + _ENDS + ")?")  # where `!=` is no comparison
REROLL = re.compile(rf"[rR][oO]?{_ENDS}")
BOUND = re.compile(_BOUND)
CONDITION = re.compile(r"(>=|<=|[<>=])?([0-9]+)")
COUNT = re.compile(r"[cC][sS](?=[<>=0-9])|[aA](?=[0-9])")
COUNT_BARE = re.compile(r"(?=[<>=])")
FAILURE = re.compile(r"(?:[cC]?[fF])(?=[<>=0-9])")
BONUS = re.compile(r"[bBpP](?=[0-9]*(?!\w)|\()")
POOL_ALONE = re.compile(r"[aA](?=[0-9]+(?:[mkqMKQ][0-9]+)*(?!\w))")
POOL = re.compile(r"[aA](?=[0-9(])")
POOL_PART = re.compile(r"[mkqMKQ](?=[0-9(])")
CROSS = re.compile(r"[cC](?=[0-9(])")
CROSS_PART = re.compile(r"[mM](?=[0-9(])")
FATE = re.compile(r"[fF](?!\w)")
INDEX = re.compile(r"\[\s*(?:[-0-9:(]|[dD][0-9])")
TAG = re.compile(r"\[[^][]*\]")
METHOD = re.compile(r"\.(sum|max|min|len)\(\)")
ASSIGN = re.compile(r"\s*(&?)\s*(\$?[^\W\d]\w*(?::\w+)*)\s*=(?!=)")


class Token(NamedTuple):
    """A token: its group name in TOKEN, its text and its span, without the space before it."""

    kind: str
    text: str
    start: int
    end: int


def token_at(text: str, position: int) -> Token:
    """The token at or after `position`; kind `other` with empty text at the end of `text`."""
    match = TOKEN.match(text, position)
    assert match is not None  # `other` matches anything, even nothing
    assert match.lastgroup is not None
    kind = match.lastgroup
    return Token(kind, match[kind], match.start(kind), match.end(kind))


def name_at(text: str, position: int) -> Token | None:
    """The name at exactly `position`, whatever else its first letters could be."""
    match = _NAME.match(text, position)
    return None if match is None else Token("name", match[0], position, match.end())
