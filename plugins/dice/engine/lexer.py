"""Owns the tokens of dice text: one regular expression, read on demand at a position."""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD_GOES_ON = r"(?![A-Za-z_])"
_KEEP = rf"(?:[kK][hHlL]?|[qQ]|[dD][hHlL]){_WORD_GOES_ON}"
_OPERAND = rf"\s*(?:[0-9(]|[dD]{_WORD_GOES_ON})"

# A word that merely starts with d, k, q or x is a name: `dex`, `kungfu`, `xp`. So a letter is a die,
# a keep or a times sign only when no further ASCII letter follows (`d攻击` is a die and a reason).
TOKEN = re.compile(
    rf"""\s*(?:
        (?P<number>[0-9]+(?:\.[0-9]+)?)
      | (?P<keep>{_KEEP})
      | (?P<die>[dD](?:%(?!{_OPERAND})|{_WORD_GOES_ON}|(?={_KEEP})))
      | (?P<operator>\*\*|//|[-+*/%^]|[xX](?={_OPERAND}))
      | (?P<open>\()
      | (?P<close>\))
      | (?P<name>\$?[^\W\d]\w*(?::\w+)*)
      | (?P<other>.?)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"\$?[^\W\d]\w*(?::\w+)*")


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
