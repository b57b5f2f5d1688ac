"""What the toolbox answers: frozen values without a word of wording, for chat, command line and model alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from plugin_host.policy import Verdict
from plugin_host.toolbox.groups import Group


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A group with how many of its tools are on and off here; ``total`` is their sum, blocked tools left out."""

    group: Group
    total: int
    on: int
    off: int


@dataclass(frozen=True, slots=True)
class Overview:
    """All groups of a session. ``blocked`` tools are in no count; ``collisions`` are sentences."""

    platform: str
    total: int
    on: int
    off: int
    groups: tuple[GroupLine, ...]
    blocked: int
    collisions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolLine:
    """One tool in a list; ``summary`` is the first line of its description."""

    name: str
    summary: str
    on: bool
    blocked: bool
    group: str
    source: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """The tools of one group."""

    group: Group
    tools: tuple[ToolLine, ...]


@dataclass(frozen=True, slots=True)
class SourceView:
    """The tools of one source; ``kind`` as in ``Source``."""

    kind: str
    id: str
    tools: tuple[ToolLine, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool; ``type`` in JSON Schema words (``integer``, ``"a"|"b"``)."""

    name: str
    type: str
    required: bool
    description: str
    default: Any = None


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """Everything about one tool, and what policy says for this session and this person."""

    name: str
    title: str
    description: str
    group: str
    source_kind: str
    source_id: str
    parameters: tuple[Parameter, ...]
    schema: Mapping[str, Any]
    privilege: int
    flags: tuple[str, ...]
    approval: str
    default_on: bool
    on: bool
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Switched:
    """What one switching did. Each addressed tool is in exactly one of the four tuples.

    ``kind`` says what was addressed; ``title`` names it (empty for all).
    """

    on: bool
    kind: Literal["all", "group", "tool"]
    title: str
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    skipped_blocked: tuple[str, ...]
    skipped_core: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many tools were addressed."""
        return len(self.changed) + len(self.unchanged) + len(self.skipped_blocked) + len(self.skipped_core)


@dataclass(frozen=True, slots=True)
class ToolStat:
    """How a tool fared: finished calls, failures among them, mean time in milliseconds."""

    name: str
    calls: int
    failures: int
    mean_ms: float


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of this session and of the whole bot."""

    session: tuple[ToolStat, ...] = field(default=())
    overall: tuple[ToolStat, ...] = field(default=())


def parameters_of(schema: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """The arguments that an input schema describes, in its order."""
    required = schema.get("required", ())
    return tuple(
        Parameter(
            name=name,
            type=type_words(part, schema),
            required=name in required,
            description=str(part.get("description", "")),
            default=part.get("default"),
        )
        for name, part in schema.get("properties", {}).items()
        if isinstance(part, Mapping)
    )


def type_words(part: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> str:
    """A short name of a schema's type; references within ``schema`` are followed four levels deep."""
    reference = str(part.get("$ref", ""))
    if reference.startswith("#/$defs/") and depth < 4:
        target = schema.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
        return type_words(target, schema, depth + 1)
    if "const" in part:
        return repr(part["const"])
    if "enum" in part:
        return "|".join(str(value) for value in part["enum"])
    for union in ("anyOf", "oneOf"):
        if union in part:
            return "|".join(type_words(choice, schema, depth + 1) for choice in part[union]) if depth < 4 else "any"
    return _plain_type(part, schema, depth)


def _plain_type(part: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> str:
    kind = part.get("type", "any")
    if isinstance(kind, list):
        return "|".join(map(str, kind))
    items = part.get("items")
    if kind == "array" and isinstance(items, Mapping) and depth < 4:
        return f"array[{type_words(items, schema, depth + 1)}]"
    return str(kind)
