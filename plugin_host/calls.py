"""One execution of a tool or command: ToolCall in, ToolResult out."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Origin = Literal["native", "prompt", "verbatim", "command", "timer", "internal"]
Verdict = Literal["clean", "repaired", "guessed", "truncated"]
Status = Literal["ok", "error", "denied", "timeout", "cancelled", "unknown_outcome"]
PartType = Literal["text", "json", "image", "audio", "file", "resource", "diff"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to run one tool.

    ``arguments`` is the parsed object, or None when only ``raw_arguments`` (the text as the model wrote it) is known;
    ``verdict`` says what a repair of that text was worth.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | None = None
    raw_arguments: str = ""
    origin: Origin = "internal"
    verdict: Verdict = "clean"

    @property
    def identity(self) -> str:
        """A digest of name and key-sorted arguments (as written, when unread): equal for calls that ask the same."""
        asked = self.raw_arguments if self.arguments is None else self.arguments
        body = json.dumps([self.name, asked], sort_keys=True, default=str)
        return hashlib.sha256(body.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a result's content; ``value`` is a str for text and any JSON value for json."""

    type: PartType
    value: Any


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of one call. Exactly one exists per call, also for refused and cancelled ones."""

    call_id: str
    name: str
    status: Status
    content: tuple[Part, ...] = ()
    error_code: str = ""
    recoverable: bool = True
    structured: Any = None
    ms: float = 0.0
    trust: Literal["trusted", "untrusted"] = "trusted"
    truncated: bool = False
    raw_id: str = ""
    delivered: bool = False
    end_turn: bool = False
    resource_refs: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """True when the tool did what was asked."""
        return self.status == "ok"

    @property
    def text(self) -> str:
        """The content as the model reads it; half characters (lone surrogates) cannot be stored and become ``?``."""
        return "\n".join(_shown(part) for part in self.content).encode(errors="replace").decode()


@dataclass(slots=True)
class TurnCalls:
    """What was called so far in one turn or command: counts by tool, results by identity, the next step's number.

    Step 0 is the unit that ends a command; steps of calls begin at 1, in call order.
    """

    counts: Counter[str] = field(default_factory=Counter)
    results: dict[str, list[ToolResult]] = field(default_factory=dict)
    steps: int = 0

    def next_step(self) -> int:
        """The number of the step that starts now."""
        self.steps += 1
        return self.steps


def _shown(part: Part) -> str:
    if isinstance(part.value, str):
        return part.value
    return json.dumps(part.value, ensure_ascii=False, default=str)
