"""Loose JSON as tokens: the same values in strict JSON when nothing has to be invented, or the reason why not."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Literal

DEPTH_LIMIT = 64
# Of a call in an array, two closers may be missing and its arguments are still whole.
ADDED_LIMIT = 2
ARGUMENTS = frozenset({'"arguments"', '"parameters"', '"function"'})
CALL_FIELDS = frozenset({'"name"', '"id"', '"type"', '"arguments"', '"parameters"'})
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
    """Writes tokens as strict JSON. ``added`` counts closers that the source lacks.

    ``ambiguous``: members of a container may belong to the one around it, had its closer been lost in the middle.
    """

    out: list[str] = field(default_factory=list)
    stack: list[tuple[str, bool]] = field(default_factory=list)
    last: str = ""
    word: str = ""
    added: int = 0
    ambiguous: bool = False

    def put(self, kind: str, text: str) -> bool:
        """Take one token; False when it has no one meaning."""
        if self.word:
            if kind != "colon":
                return False
            self._write("string", json.dumps(self.word, ensure_ascii=False))
            self.word = ""
        if kind in ("string", "single", "curly"):
            decoded = _decoded(kind, text)
            return decoded is not None and self._write("string", decoded)
        return self._take(kind, text)

    def _take(self, kind: str, text: str) -> bool:
        if kind == "word":
            return self._take_word(text)
        if kind == "open":
            return self._open(text)
        if kind == "close":
            return self._close(CLOSERS[text])
        self._watch(kind)
        return self._write(kind, text.translate(HALF_WIDTH))

    def _take_word(self, text: str) -> bool:
        if text in LITERALS:
            return self._write("literal", LITERALS[text])
        self.word = text
        return True

    def _open(self, text: str) -> bool:
        holds_arguments = self.last == "colon" and len(self.out) > 1 and self.out[-2] in ARGUMENTS
        self.stack.append((OPENERS[text], holds_arguments))
        return len(self.stack) <= DEPTH_LIMIT and self._write("open", text.translate(HALF_WIDTH))

    def _watch(self, kind: str) -> None:
        """Note where a lost closer would go unseen: a container in one of its own kind with a second member.

        The arguments of a call are such a container, but what may follow them in a call is known.
        """
        closer, holds_arguments = self.stack[-1] if self.stack else ("", False)
        if kind == "comma" and len(self.stack) > 1 and closer == self.stack[-2][0] and not holds_arguments:
            self.ambiguous = True
        if kind == "colon" and holds_arguments and self.out[-1] in CALL_FIELDS:
            self.ambiguous = True

    def _close(self, closer: str) -> bool:
        if all(closer != expected for expected, _ in self.stack):
            return False
        if self.last == "comma":
            self.out.pop()
        while (expected := self.stack.pop()[0]) != closer:
            self.added += 1
            self._write("close", expected)
        return self._write("close", closer)

    def finish(self) -> bool:
        """Add the closers that are missing at the end; False when a value may have been cut."""
        if self.word or self.last not in ("string", "literal", "close"):
            return False
        self.added += len(self.stack)
        while self.stack:
            self._write("close", self.stack.pop()[0])
        return True

    @property
    def sure(self) -> bool:
        """Whether the closers that were added can stand nowhere else."""
        return self.added == 0 or (self.added <= ADDED_LIMIT and not self.ambiguous)

    def _write(self, kind: str, text: str) -> bool:
        self.out.append(text)
        self.last = kind
        return True


HALF_WIDTH = str.maketrans("｛｝［］，：", "{}[],:")


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
            return Strict("whole", " ".join(writer.out), position) if writer.sure else Strict("unclear")
    if writer.finish() and writer.sure:
        return Strict("whole", " ".join(writer.out), position, closed=False)
    return Strict("cut")


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
