"""Model text piece by piece: what may be shown at once, what is held back, and the envelopes with calls in between.

Every decision waits until the text that it depends on has come, so any cutting of a text gives the same result.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from plugin_host.textcalls.envelopes import ENVELOPES, Envelope
from plugin_host.textcalls.reading import CallReader
from plugin_host.textcalls.repairing import THINKING_CLOSES, THINKING_OPENS
from plugin_host.textcalls.shown import ShownText
from plugin_host.textcalls.values import Parsed, ParsedCall

ENVELOPE_LIMIT = 256
PROBLEM_LIMIT = 20
TAIL = len("</tool_call>")

# A mark is where an envelope, thinking or code may begin, or an end of text that may still become one.
MARK = re.compile(
    r"`{3,}|`+\Z|<(?=tool_call>|think(?:ing)?>)|<(?:t(?:o(?:o(?:l(?:_(?:c(?:a(?:l(?:l)?)?)?)?)?)?)?"
    r"|h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?\Z",
    re.IGNORECASE,
)
RUN = re.compile(r"`+|<")
THINKING_PARTIAL = re.compile(r"<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?\Z", re.IGNORECASE)
CODE_OPENS = re.compile(r"(`{3,})[^`\n]{0,200}\n")
CODE_PARTIAL = re.compile(r"`+[^`\n]{0,200}\Z")
CODE_CLOSER_PARTIAL = re.compile(r"[ \t]*`*[ \t\r]*\Z")
CUT_OPENING = re.compile(r"(?:`{3,}[ \t]*|<)[a-z_]{4,}", re.IGNORECASE)


class StreamSplitter:
    """Takes a response in pieces. ``feed`` returns text that is safe to show, ``finish`` the parse of the whole.

    The pieces that ``feed`` returned, joined, are the first ``shown`` characters of ``Parsed.before``.
    """

    def __init__(self, names: Collection[str], *, verbatim: bool = True) -> None:
        self._reader = CallReader(names)
        self._envelopes = [envelope for envelope in ENVELOPES if verbatim or not envelope.verbatim]
        self._text = ShownText()
        self._calls: list[ParsedCall] = []
        self._problems: list[str] = []
        self._held = ""
        self._at = 0  # what stands before this place of the held text is decided
        self._skip = 0  # so much of what follows is known to be no mark
        self._line_blank = True  # only blanks stand between the last line break and that place
        self._last = ""  # the character in front of it
        self._scan = self._prose
        self._envelope: Envelope = ENVELOPES[0]
        self._opening = ""
        self._searched = 0  # the open envelope does not end before this place
        self._opened = 0
        self._ticks = 0
        self._over = False

    @property
    def shown(self) -> int:
        """How many characters of ``Parsed.before`` were returned so far."""
        return self._text.shown

    def feed(self, chunk: str) -> str:
        """Take the next piece; the text that may be shown now."""
        self._held = self._held[self._at :] + chunk
        self._searched -= self._at
        self._at = 0
        self._run()
        return self._text.take()

    def finish(self) -> Parsed:
        """The end of the response: everything held back is decided."""
        self._over = True
        self._run()
        return Parsed(self._text.before, self._calls, self._text.after, self._problems[:PROBLEM_LIMIT])

    def _run(self) -> None:
        while self._at < len(self._held) and self._scan():
            pass

    def _pass(self, end: int) -> None:
        """What is held before ``end`` is text."""
        self._text.add(self._held[self._at : end])
        self._drop(end)

    def _drop(self, end: int) -> None:
        if end <= self._at:
            return
        newline = self._held.rfind("\n", self._at, end)
        line = self._held[max(newline + 1, self._at) : end]
        self._line_blank = not line.strip() and (self._line_blank or newline >= 0)
        self._last = self._held[end - 1]
        self._at = end

    def _prose(self) -> bool:
        """Text up to the next mark; then what the mark opens."""
        mark = MARK.search(self._held, self._at + self._skip)
        self._skip = 0
        if mark is None or self._opened >= ENVELOPE_LIMIT:
            self._pass(len(self._held))
            return False
        self._pass(mark.start())
        return self._mark()

    def _mark(self) -> bool:
        if self._open_envelope() or (self._line_blank and (self._open_thinking() or self._open_code())):
            return True
        if not self._over and self._undecided():
            return False
        if self._over and self._cut_opening():
            self._problems.append("调用块刚开始就断了")
            self._drop(len(self._held))
            return False
        run = RUN.match(self._held, self._at)
        self._skip = run.end() - self._at if run else 1
        return True

    def _undecided(self) -> bool:
        if self._line_blank and (
            THINKING_PARTIAL.match(self._held, self._at) or CODE_PARTIAL.match(self._held, self._at)
        ):
            return True
        return self._held_opening(certain=False)

    def _held_opening(self, *, certain: bool) -> bool:
        """Whether the rest of the held text may become the opening of an envelope (of a certain one)."""
        for envelope in self._envelopes:
            if (envelope.certain or not certain) and envelope.partial.match(self._held, self._at):
                return True
        return False

    def _cut_opening(self) -> bool:
        """Whether the text ends in the middle of the opening of an envelope that is never shown."""
        return CUT_OPENING.match(self._held, self._at) is not None and self._held_opening(certain=True)

    def _open_envelope(self) -> bool:
        for envelope in self._envelopes:
            if (envelope.line_start and not self._line_blank) or self._last == "`":
                continue
            if opening := envelope.opens.match(self._held, self._at):
                self._envelope, self._opening = envelope, opening.group()
                self._opened += 1
                self._drop(opening.end())
                self._searched = self._at
                self._scan = self._inside
                return True
        return False

    def _open_thinking(self) -> bool:
        if opening := THINKING_OPENS.match(self._held, self._at):
            self._drop(opening.end())
            self._scan = self._thinking
        return opening is not None

    def _open_code(self) -> bool:
        if opening := CODE_OPENS.match(self._held, self._at):
            self._ticks = len(opening.group(1))
            self._pass(opening.end())
            self._scan = self._code
        return opening is not None

    def _inside(self) -> bool:
        """The content of an envelope: held until its end is certain."""
        closing = self._envelope.closes.search(self._held, self._searched)
        if closing is not None and (closing.end() < len(self._held) or self._over):
            self._close(closing.start(), closing.end(), ended=True)
            return True
        if self._over:
            self._close(len(self._held), len(self._held), ended=False)
            return True
        if closing is None:
            solid = len(self._held.rstrip(" \t`"))
            self._searched = max(self._searched, min(solid, len(self._held) - TAIL) - 1)
        return False

    def _close(self, start: int, end: int, *, ended: bool) -> None:
        reading = self._reader.read(self._held[self._at : start], ended=ended)
        self._scan = self._prose
        if reading.foreign and not self._envelope.certain:
            self._text.add(self._opening)
            self._pass(end)
            return
        self._calls.extend(reading.calls)
        self._problems.extend(reading.problems)
        self._text.split()
        self._drop(end)

    def _thinking(self) -> bool:
        """Dropped up to the closing tag; thinking that never ends is dropped as a whole."""
        if closing := THINKING_CLOSES.search(self._held, self._at):
            self._drop(closing.end())
            self._line_blank = True
            self._scan = self._prose
            return True
        self._drop(len(self._held) if self._over else len(self._held) - TAIL)
        return False

    def _code(self) -> bool:
        """Code in another language: text, line by line, up to its closing fence."""
        newline = self._held.find("\n", self._at)
        if newline < 0 and not self._over and self._line_blank and CODE_CLOSER_PARTIAL.match(self._held, self._at):
            return False
        end = newline + 1 if newline >= 0 else len(self._held)
        line = self._held[self._at : end].strip() if self._line_blank else ""
        self._pass(end)
        if len(line) >= self._ticks and not line.strip("`"):
            self._scan = self._prose
        return True


def parse(text: str, names: Collection[str], *, verbatim: bool = True) -> Parsed:
    """The calls in a response and the text around them. Pure, linear, never raises.

    ``names`` are the tools exposed this turn; ``verbatim`` also accepts calls anchored on those names in prose. In a
    wrapping that declares calls (a ``function`` fence, ``<tool_call>``) an unknown name is returned as a call too: the
    runner answers it with "no such tool". In a ``json`` fence it stays text.
    """
    splitter = StreamSplitter(names, verbatim=verbatim)
    splitter.feed(text)
    return splitter.finish()
