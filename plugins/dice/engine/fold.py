"""Owns folding: full-width and look-alike characters to ASCII, with a way back to the user's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from plugins.dice.engine.errors import NOWHERE, Span

_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_LOOK_ALIKE = {"\u3000": " ", "×": "*", "÷": "/", "\u2212": "-", "【": "[", "】": "]", "〔": "(", "〕": ")"}
_LENGTHENED = {"≥": ">=", "≤": "<=", "≠": "!="}
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"

TABLE = MappingProxyType(
    {
        **_FULL_WIDTH,
        **{ord(char): folded for char, folded in {**_LOOK_ALIKE, **_LENGTHENED}.items()},
        **{ord(char): "" for char in _INVISIBLE},
    }
)
_RESIZED = re.compile(f"[{''.join(_LENGTHENED)}{_INVISIBLE}]")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; `origins` holds the user's index of each folded character, None if they are equal."""

    original: str
    text: str
    origins: tuple[int, ...] | None

    def start(self, index: int) -> int:
        """The user's index of the folded character at `index`."""
        if self.origins is None:
            return index
        return self.origins[index] if index < len(self.origins) else len(self.original)

    def end(self, index: int) -> int:
        """The user's index just behind the folded character before `index`."""
        if self.origins is None or index == 0:
            return index
        return self.origins[index - 1] + 1

    def span(self, span: Span, base: int = 0) -> Span:
        """The user's characters under a folded span that was counted from `base`."""
        if span == NOWHERE:
            return (self.end(base), len(self.original))
        start, end = span[0] + base, span[1] + base
        if end <= start:
            return (self.start(start), self.start(start))
        return (self.start(start), self.end(end))


def fold(text: str) -> Folded:
    """`text` with full-width forms made ASCII and invisible characters taken out."""
    if text.isascii():
        return Folded(text, text, None)
    folded = text.translate(TABLE)
    if _RESIZED.search(text) is None:
        return Folded(text, folded, None)
    origins = tuple(index for index, char in enumerate(text) for _ in char.translate(TABLE))
    return Folded(text, folded, origins)
