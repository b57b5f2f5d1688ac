"""Damaged JSON → a value and what that value is worth: clean, repaired, guessed or truncated."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

import json_repair

from plugin_host.calls import Verdict
from plugin_host.textcalls.tokens import Strict, strict

SIZE_LIMIT = 64 * 1024
# The repair library takes quadratic time on hostile text (0.3 s for 4 KiB of opening brackets and quotes), and a guess
# never runs unless the tool only reads.
GUESS_LIMIT = 4 * 1024
START_LIMIT = 8

START = re.compile(r"[{\[｛［]")
THINKING_OPENS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
THINKING_CLOSES = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
# Behind the value: more members, or a second value, would be lost by taking the first one.
MORE = re.compile(r"[{\[｛［]|[\"'”’]\s*[:：]")


@dataclass(slots=True)
class Budget:
    """How many characters guessing may still read."""

    left: int = GUESS_LIMIT

    def take(self, size: int) -> bool:
        """True when ``size`` characters were left, and are now used."""
        if size > self.left:
            return False
        self.left -= size
        return True


@dataclass(frozen=True, slots=True)
class Mended:
    """A value and its verdict; ``closed`` is False when closers missing at the end of the text were added."""

    value: Any
    verdict: Verdict
    closed: bool = True


def repair(text: str) -> tuple[Any, Verdict]:
    """The value in ``text`` and its verdict; None when nothing can be made of it. Never raises.

    ``clean``: valid JSON, unchanged. ``repaired``: no part of a value was invented or lost. ``guessed``: the repair
    library chose among readings. ``truncated``: the text ends inside a value; what is there may be cut.
    """
    mended = mend(text, Budget())
    return mended.value, mended.verdict


def mend(text: str, budget: Budget) -> Mended:
    """As ``repair``; ``budget`` bounds the guessing over several texts."""
    try:
        return Mended(exact(text), "clean")
    except (ValueError, RecursionError):
        pass
    if len(text) > SIZE_LIMIT:
        return Mended(None, "guessed")
    body = without_thinking(text)
    found = _lossless(body)
    if found is not None and found.state == "whole":
        return Mended(json.loads(found.text), "repaired", found.closed)
    verdict: Verdict = "truncated" if found is not None and found.state == "cut" else "guessed"
    return Mended(_guess(body, budget), verdict)


def exact(text: str) -> Any:
    """Strict JSON; raises ValueError also for NaN and Infinity, RecursionError for hostile depth."""
    return json.loads(text, parse_constant=refuse_constant)


def without_thinking(text: str) -> str:
    """The text without its closed thinking blocks."""
    kept, position = [], 0
    while (opened := THINKING_OPENS.search(text, position)) is not None:
        closed = THINKING_CLOSES.search(text, opened.end())
        if closed is None:
            break
        kept.append(text[position : opened.start()])
        position = closed.end()
    return "".join(kept) + text[position:]


def refuse_constant(name: str) -> NoReturn:
    """For ``json`` decoders: NaN and the infinities are Python's, not JSON's."""
    raise ValueError(f"{name} is not JSON")


def _lossless(text: str) -> Strict | None:
    """The first value that reads without a choice; None when there is no bracket at all."""
    found: Strict | None = None
    starts = [match.start() for _, match in zip(range(START_LIMIT), START.finditer(text), strict=False)]
    for index, start in enumerate(starts):
        found = strict(text, start)
        following = starts[index + 1] if index + 1 < len(starts) else len(text)
        # A later bracket is another value only when the first one is closed prose like ``[note]`` or ``{x}``.
        if found.state != "unclear" or not _closed(text[start:following]):
            return _checked(found, text)
    return found


def _checked(found: Strict, text: str) -> Strict:
    if found.state != "whole":
        return found
    try:
        value = exact(found.text)
    except (ValueError, RecursionError):
        return Strict("unclear" if found.closed else "cut")
    rest = text[found.end :].lstrip("}]｝］ \t\r\n")
    return found if _nothing_lost(value, rest) else Strict("unclear")


def _nothing_lost(value: Any, rest: str) -> bool:
    if MORE.search(rest) is None:
        return not rest.startswith((",", "，")) or not rest.strip(",， \t\r\n")
    second = strict(rest, 0) if START.match(rest) else Strict("unclear")
    if second.state != "whole" or MORE.search(rest[second.end :]):
        return False
    try:
        return bool(exact(second.text) == value)  # the model wrote its block twice
    except (ValueError, RecursionError):
        return False


def _closed(text: str) -> bool:
    opened = sum(text.count(bracket) for bracket in "{[｛［")
    return opened == sum(text.count(bracket) for bracket in "}]｝］")


def _guess(text: str, budget: Budget) -> Any:
    match = START.search(text)
    if match is None or not budget.take(len(text)):
        return None
    try:
        value = json_repair.repair_json(text[match.start() :], return_objects=True)
    except Exception:  # the library promises nothing on hostile text, and this function promises not to raise
        return None
    return value if isinstance(value, dict | list) and value and _is_json(value) else None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True
