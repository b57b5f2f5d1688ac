"""The wrappings in which models write calls: how each begins, how it ends, and what its content must be.

Another wrapping is one more row of ``ENVELOPES``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Envelope:
    """One wrapping.

    ``opens`` matches at its first character; ``partial`` tells whether a shorter text may still become one.
    ``closes`` finds its end in the content (a match that ends with unfinished text may still grow).
    ``certain``: the content is a call by declaration, never shown, and an unknown name is still a call (the runner
    answers it); otherwise content that is not unmistakably a call of a known tool stays text.
    ``line_start``: it counts only at the start of a line. ``verbatim``: it is anchored on tool names in prose.
    """

    name: str
    opens: re.Pattern[str]
    partial: re.Pattern[str]
    closes: re.Pattern[str]
    certain: bool
    line_start: bool = False
    verbatim: bool = False


# A fence ends at the start of a line, or straight behind a bracket with a blank after it: text inside a JSON string
# may hold fences of its own, but has no raw line breaks.
FENCE_CLOSES = re.compile(r"(?:\n[ \t]*`{3,}|(?<=[}\]｝］])[ \t]*`{3,}(?=\s|\Z))`*")
TAG_CLOSES = re.compile(r"</tool_call>|(?=<tool_call>)", re.IGNORECASE)


def _fence(name: str, words: tuple[str, ...], *, certain: bool, line_start: bool) -> Envelope:
    word = "|".join(words)
    opens = re.compile(rf"`{{3,}}[ \t]*(?:{word})[ \t]*(?=[\r\n\[{{｛［])", re.IGNORECASE)
    partial = re.compile(rf"`+[ \t]*(?:{_prefixes(words)})[ \t]*\Z", re.IGNORECASE)
    return Envelope(name, opens, partial, FENCE_CLOSES, certain, line_start)


def _prefixes(words: tuple[str, ...]) -> str:
    starts = {word[:size] for word in words for size in range(len(word) + 1)}
    return "|".join(sorted(starts, key=len, reverse=True))


def _tag(name: str) -> Envelope:
    opens = re.compile(re.escape(f"<{name}>"), re.IGNORECASE)
    starts = [f"<{name}>"[:size] for size in range(len(name) + 1, 0, -1)]
    partial = re.compile(rf"(?:{'|'.join(map(re.escape, starts))})\Z", re.IGNORECASE)
    return Envelope(name, opens, partial, TAG_CLOSES, certain=True)


ENVELOPES = (
    _fence("function", ("function",), certain=True, line_start=False),
    _fence("fence", ("json", "tool_call", "tool_code"), certain=False, line_start=True),
    _tag("tool_call"),
)
