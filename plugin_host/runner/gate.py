"""Gate: all that may keep a call from running — name, policy, arguments, budgets, approval, repetition."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plugin_host import policy
from plugin_host.calls import ToolCall, ToolResult
from plugin_host.clock import Clock
from plugin_host.config.settings import Settings
from plugin_host.context import CallContext
from plugin_host.policy import Rules, TurnUse
from plugin_host.registry import Registry
from plugin_host.runner.arguments import Refused, parsed_arguments
from plugin_host.runner.usage import MinuteUse
from plugin_host.tools import Tool

FAILURES = 2
LAST_FAILURE = 5


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that passed every check: what to run, with what, as which step."""

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Any]
    step: int


class Gate:
    """Checks a call in the order that decides which reason is told; it changes nothing but the counts."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        *,
        settings: Callable[[], Settings],
        rules: Callable[[], Rules],
        switches: Callable[[str], Mapping[str, bool]],
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._rules = rules
        self._switches = switches
        self._minute = MinuteUse(clock)

    def check(self, call: ToolCall, ctx: CallContext, step: int) -> Ready | Refused:
        """The call ready to run, or why it may not."""
        tool = self._registry.tool(call.name)
        if tool is None:
            return Refused("unknown_tool", self._unknown(call.name, ctx))
        use = TurnUse(in_turn=ctx.calls.counts, in_minute=self._minute.of(ctx.session))
        verdict = policy.decide(tool, ctx, switches=self._switches_of(ctx), rules=self._rules(), turn=use)
        if not verdict.callable:
            return Refused(verdict.reason, verdict.sentence, denied=True)
        arguments = parsed_arguments(call, tool)
        if isinstance(arguments, Refused):
            return arguments
        limit = self._settings().agent.max_calls
        if limit and ctx.surface != "command" and ctx.calls.counts.total() >= limit:
            return Refused("budget_calls", f"工具调用超过上限：本回合最多 {limit} 次", denied=True)
        if verdict.needs_approval:
            sentence = f"工具 {tool.name} 需要骰主批准，当前还不能在聊天里批准"
            return Refused("approval_required", sentence, denied=True)
        return Ready(replace(call, name=tool.name, arguments=arguments), tool, arguments, step)

    def _switches_of(self, ctx: CallContext) -> Mapping[str, bool]:
        return {**self._switches(ctx.session), **ctx.effects.switches}

    def _unknown(self, name: str, ctx: CallContext) -> str:
        rules, switches = self._rules(), self._switches_of(ctx)
        names = [t.name for t in self._registry.tools if policy.decide(t, ctx, switches=switches, rules=rules).callable]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        return f"没有叫 {name} 的工具函数" + (f"；相近的有：{'、'.join(near)}" if near else "")

    def count(self, ready: Ready, ctx: CallContext) -> None:
        """The call runs now: it counts in every budget."""
        ctx.calls.counts[ready.tool.name] += 1
        self._minute.add(ctx.session, ready.tool.name)

    def repeated(self, ready: Ready, ctx: CallContext) -> ToolResult | None:
        """Reuse a success only where asking again cannot differ; the third identical failure is not run again."""
        former = ctx.calls.results.get(ready.call.identity, [])
        flags = ready.tool.annotations
        if former and former[-1].ok and flags.idempotent and not flags.random:
            return former[-1]
        return former[-1] if failures(former) >= FAILURES else None


def failures(results: Sequence[ToolResult]) -> int:
    """How many results at the end are failures."""
    return sum(1 for _ in itertools.takewhile(lambda result: not result.ok, reversed(results)))
