"""Loose JSON as tokens: the same values in strict JSON when nothing has to be invented, or the reason why not."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Literal

DEPTH_LIMIT = 64
OPENERS = {"{": "}", "[": "]", "｛": "}", "［": "]"}
CLOSERS = {"}": "}", "]": "]", "｝": "}", "］": "]"}
LITERALS = {"true": "true", "True": "true", "false": "false", "False": "false", "null": "null", "None": "null"}

# Strings may hold raw line breaks; the quote that opens decides which quote closes.
TOKEN = re.compile(
    r"""
    (?P<space>[\s\ufeff\u200b-\u200d\u2060]+)
  | (?P<comment>//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<single>'(?:[^'\\]|\\.)*'|[‘’](?:[^‘’\\]|\\.)*[‘’])
  | (?P<curly>[“”＂](?:[^“”＂\\]|\\.)*[“”＂])
  | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
  | (?P<word>[^\W\d][\w$-]*)
  | (?P<open>[{\[｛［])
  | (?P<close>[}\]｝］])
  | (?P<comma>[,，])
  | (?P<colon>[:：])
    """,
    re.VERBOSE | re.DOTALL,
)

# No token begins here: either a string that never ends, or a number that the end of the text cut.
CUT = re.compile(r"""["'“‘]|[-+.\w]*\Z""")

State = Literal["whole", "cut", "unclear"]


@dataclass(frozen=True, slots=True)
class Strict:
    """``text`` should be strict JSON when ``state`` is whole; ``end`` is where the value stops in the source.

    ``closed`` is False when the source ended first and closers were added.

    cut: the source ends inside a value, or where a value could go on. unclear: a token has no one meaning.
    """

    state: State
    text: str = ""
    end: int = 0
    closed: bool = True


@dataclass(slots=True)
class _Writer:
    out: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    last: str = ""
    word: str = ""

    def put(self, kind: str, text: str) -> bool:
        """Take one token; False when it has no one meaning."""
        if self.word:
            if kind != "colon":
                return False
            self._write("key", json.dumps(self.word, ensure_ascii=False))
            self.word = ""
        return self._take(kind, text)

    def _take(self, kind: str, text: str) -> bool:
        if kind in ("string", "single", "curly"):
            decoded = _decoded(kind, text)
            return decoded is not None and self._write("string", decoded)
        if kind == "word":
            return self._take_word(text)
        if kind == "open":
            self.stack.append(OPENERS[text])
            return len(self.stack) <= DEPTH_LIMIT and self._write("open", text.translate(_HALF))
        if kind == "close":
            return self._close(CLOSERS[text])
        return self._write(kind, text.translate(_HALF))

    def _take_word(self, text: str) -> bool:
        if text in LITERALS:
            return self._write("literal", LITERALS[text])
        self.word = text
        return True

    def _close(self, closer: str) -> bool:
        if closer not in self.stack:
            return False
        self._drop_comma()
        while (expected := self.stack.pop()) != closer:
            self._write("close", expected)
        return self._write("close", closer)

    def finish(self) -> bool:
        """Add the closers that are missing at the end; False when a value may have been cut."""
        if self.word or self.last not in ("string", "literal", "close"):
            return False
        while self.stack:
            self._write("close", self.stack.pop())
        return True

    def _drop_comma(self) -> None:
        if self.last == "comma":
            self.out.pop()

    def _write(self, kind: str, text: str) -> bool:
        self.out.append(text)
        self.last = kind
        return True


_HALF = str.maketrans("｛｝［］，：", "{}[],:")


def strict(source: str, start: int = 0) -> Strict:
    """Rewrite the value that begins at the bracket ``source[start]``. Linear; never raises."""
    writer, position = _Writer(), start
    while position < len(source):
        match = TOKEN.match(source, position)
        if match is None:
            return Strict("cut" if CUT.match(source, position) else "unclear")
        position = match.end()
        kind = match.lastgroup or ""
        if kind in ("space", "comment"):
            continue
        if not writer.put(kind, match.group()):
            return Strict("unclear")
        if not writer.stack:
            return Strict("whole", " ".join(writer.out), position)
    return Strict("whole", " ".join(writer.out), position, closed=False) if writer.finish() else Strict("cut")


def _decoded(kind: str, text: str) -> str | None:
    """The string as strict JSON, or None when an escape has no meaning in JSON."""
    body = text[1:-1]
    if kind == "single":
        body = body.replace("\\'", "'")
    if kind != "string":
        body = re.sub(r'(\\.)|"', lambda found: found.group(1) or '\\"', body, flags=re.DOTALL)
    try:
        return json.dumps(json.loads(f'"{body}"', strict=False), ensure_ascii=False)
    except ValueError:
        return None
