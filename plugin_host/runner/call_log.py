"""CallLog: the journal lines of a call — requested, started, and exactly one that ends it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from plugin_host.calls import ToolCall, ToolResult
from plugin_host.clock import Clock
from plugin_host.context import CallContext
from plugin_host.registry import Registry
from plugin_host.store.journal import STARTED, Entry

TEXT_LIMIT = 2_000


class CallLog:
    """Makes the lines; they are written with the unit of the call, or ahead of it when the call reaches outside."""

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock

    def requested(self, call: ToolCall, ctx: CallContext) -> Entry:
        """What was asked, as it was asked."""
        arguments = call.arguments if call.arguments is not None else call.raw_arguments
        return self._entry("tool_call_requested", call, ctx, arguments=arguments, origin=call.origin, id=call.id)

    def started(self, call: ToolCall, ctx: CallContext) -> Entry:
        """The call passed every check and runs."""
        return self._entry(STARTED, call, ctx)

    def ended(self, call: ToolCall, result: ToolResult, ctx: CallContext, kind: str = "") -> Entry:
        """The one line that ends the call."""
        kind = kind or ("tool_call_completed" if result.ok else "tool_call_failed")
        text = result.text[:TEXT_LIMIT]
        entry = self._entry(kind, call, ctx, status=result.status, code=result.error_code, text=text)
        return replace(entry, ms=result.ms)

    def _entry(self, kind: str, call: ToolCall, ctx: CallContext, **payload: Any) -> Entry:
        tool = self._registry.tool(call.name)
        name = tool.name if tool is not None else call.name
        return Entry(self._clock.now(), ctx.session, ctx.turn, kind, ctx.request_id, name, payload)
