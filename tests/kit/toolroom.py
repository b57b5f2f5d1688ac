"""A registry, a toolbox and contexts for tests of tools: real parts, with a port that knows services only."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from plugin_host.calls import Part, ToolCall, ToolResult
from plugin_host.config.settings import ToolSettings
from plugin_host.context import CallContext, Effects
from plugin_host.errors import CallError, ServiceMissingError
from plugin_host.policy import Rules, TurnUse, decide
from plugin_host.registry import Contribution, Registry
from plugin_host.toolbox.box import Toolbox
from plugin_host.toolbox.views import ToolStat
from plugin_host.tools import Annotations, Source, Tool

EMPTY_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


class Port:
    """A host's side that offers services and stores nothing."""

    def __init__(self, services: Mapping[str, Any] | None = None) -> None:
        self.services = dict(services or {})

    async def kept(self, ctx: CallContext, scope: str, name: str) -> Any:
        return None

    async def kept_names(self, ctx: CallContext, scope: str) -> list[str]:
        return []

    async def add(self, ctx: CallContext, scope: str, name: str, amount: float) -> float:
        raise ServiceMissingError("此处没有存储")

    async def swap(self, ctx: CallContext, scope: str, name: str, old: Any, new: Any) -> bool:
        raise ServiceMissingError("此处没有存储")

    async def action(self, ctx: CallContext, action: str, params: Mapping[str, Any]) -> Any:
        raise ServiceMissingError("此处没有协议端")

    def service(self, name: str) -> Any:
        if name not in self.services:
            raise ServiceMissingError(f"没有插件提供 {name}")
        return self.services[name]


def context(level: int = 0, session: str = "group:100", *, port: Port | None = None, **given: Any) -> CallContext:
    """A context of one person (``user_id`` 1001) in a session; any field may be given."""
    values: dict[str, Any] = {
        "session": session,
        "platform": "QQ",
        "self_id": "1",
        "user_id": "1001",
        "name": "小明",
        "role": "member",
        "level": level,
        "surface": "group",
        "request_id": "event:1",
        "sent_at": "2026-01-01T00:00:00.000Z",
        "deadline": 1e9,
        "turn": "event",
        "door": "QQ:1",
        "cancel": asyncio.Event(),
        "effects": Effects(),
        "port": port or Port(),
    }
    return CallContext(**(values | given))


def tool(name: str, group: str = "other", kind: Any = "builtin", source: str = "house", **options: Any) -> Tool:
    """A tool that answers its own name; flags of Annotations and fields of Tool may be given."""
    flags = {flag: options.pop(flag) for flag in Annotations.__slots__ if flag in options}
    values: dict[str, Any] = {"description": f"{name} 的说明", "input_schema": EMPTY_SCHEMA, "function": lambda: name}
    return Tool(
        name=name, group=group, source=Source(kind, source), annotations=Annotations(**flags), **values | options
    )


@dataclass
class Room:
    """A toolbox over some tools; ``settings``, ``saved`` switches, ``shut`` and ``numbers`` are a test's to change."""

    tools: list[Tool]
    settings: ToolSettings = field(default_factory=ToolSettings)
    saved: dict[str, dict[str, bool]] = field(default_factory=dict)
    shut: frozenset[str] = frozenset()
    numbers: dict[str | None, list[ToolStat]] = field(default_factory=dict)
    ran: list[ToolCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.registry = Registry()
        self.install(self.tools)
        self.box = Toolbox(self.registry, self.rules, lambda s: self.saved.get(s, {}), self.run, self.stats)
        self.port = Port({"toolbox": self.box})

    def install(self, tools: list[Tool]) -> None:
        """Install tools as contributions of their sources, in the order given."""
        contributions: dict[Source, Contribution] = {}
        for one in tools:
            contributions.setdefault(one.source, Contribution(one.source)).tool(one)
        for contribution in contributions.values():
            self.registry.install(contribution)

    def rules(self) -> Rules:
        return Rules.of(self.settings, registry=self.registry, shut=self.shut)

    def ctx(self, level: int = 0, session: str = "group:100", **given: Any) -> CallContext:
        return context(level, session, port=self.port, **given)

    def commit(self, ctx: CallContext) -> None:
        """What the event's unit does with switches."""
        self.saved.setdefault(ctx.session, {}).update(ctx.effects.switches)

    async def stats(self, session: str | None) -> list[ToolStat]:
        return self.numbers.get(session, [])

    async def run(self, call: ToolCall, ctx: CallContext) -> ToolResult:
        """The order of a runner, in short: registered, policy, schema, function."""
        self.ran.append(call)
        found = self.registry.tool(call.name)
        if found is None:
            return _failed(call, "error", "unknown_tool", f"没有叫 {call.name} 的工具函数")
        use = TurnUse(in_turn=ctx.calls.counts)
        verdict = decide(found, ctx, switches=self.box.switches(ctx), rules=self.rules(), turn=use)
        if not verdict.callable:
            return _failed(call, "denied", verdict.reason, verdict.sentence)
        if complaints := found.schema.complaints(call.arguments or {}):
            return _failed(call, "error", "invalid_arguments", "；".join(complaints))
        ctx.calls.counts[call.name] += 1
        given = {found.context_parameter: ctx} if found.context_parameter else {}
        try:
            value = found.function(**given, **(call.arguments or {}))
            value = await value if inspect.isawaitable(value) else value
        except CallError as error:
            return _failed(call, "error", error.code, str(error))
        if isinstance(value, ToolResult):
            return replace(value, call_id=call.id, name=found.name)
        return ToolResult(call.id, found.name, "ok", (Part("text", value),))


def _failed(call: ToolCall, status: Any, code: str, sentence: str) -> ToolResult:
    return ToolResult(call.id, call.name, status, (Part("text", sentence),), error_code=code)
