"""What a parse of model text yields: the calls, the text around them, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from plugin_host.calls import Verdict


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """One call found in text.

    ``name`` is the declared spelling when the name is known, else as written. ``raw`` is the call as the model wrote
    it; when ``arguments`` is None it is the text of the arguments alone (they are no JSON object).
    """

    name: str
    arguments: dict[str, Any] | None
    verdict: Verdict
    raw: str
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """``before`` is all that may be shown (no outer blanks), ``after`` the text behind the first call.

    ``problems`` are Chinese sentences, one for each call that could not be read: what is wrong and where.
    """

    before: str
    calls: list[ParsedCall] = field(default_factory=list)
    after: str = ""
    problems: list[str] = field(default_factory=list)
