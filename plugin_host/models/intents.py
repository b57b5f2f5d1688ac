"""What the demo model understands: patterns in a person's words, and the tool call that answers each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_DICE = r"\d*[dD]\d+(?:\s*[-+*]\s*\d*(?:[dD]\d+)?)*"


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing a person may ask: ``arguments(match)`` is what ``tool`` gets, ``words`` come before the call."""

    pattern: re.Pattern[str]
    tool: str
    arguments: Callable[[re.Match[str]], dict[str, Any]]
    words: str


INTENTS = (
    Intent(
        pattern=re.compile(rf"(?:掷|投|扔|骰|丢|\broll\b)[^\d\n]{{0,8}}?({_DICE})", re.IGNORECASE),
        tool="roll_dice",
        arguments=lambda match: {"expression": re.sub(r"\s+", "", match.group(1))},
        words="好的，我来掷。",
    ),
)
