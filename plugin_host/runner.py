"""Runner: ToolCall → ToolResult. The one door for every tool call; it never raises for what a tool does."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from plugin_host import policy, textcalls
from plugin_host.answers import parts_of, spoken_by
from plugin_host.call_log import CallLog
from plugin_host.calls import Part, ToolCall, ToolResult
from plugin_host.clock import Clock
from plugin_host.config.settings import Settings
from plugin_host.context import CallContext, Effects
from plugin_host.execution import Ran, execute, failed
from plugin_host.parsing import Refused, parsed_arguments
from plugin_host.policy import Rules, TurnUse
from plugin_host.registry import Registry
from plugin_host.store import Database
from plugin_host.store.journal import AppendEntries, Entry
from plugin_host.store.originals import keep_original
from plugin_host.strikes import Strikes
from plugin_host.tools import Tool
from plugin_host.truncation import shortened
from plugin_host.units import Settled, Unit
from plugin_host.usage import MinuteUse
from plugin_host.values import Change

CommitUnit = Callable[[Unit, CallContext], Awaitable[Any]]
Finished = Callable[[ToolCall, ToolResult], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that passed every check: what to run, with what, as which step."""

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Any]
    step: int


class Runner:
    """Runs calls in the order: alias, registered, policy, arguments, schema, budgets, start, execute, result."""

    def __init__(
        self,
        registry: Registry,
        database: Database,
        commit: CommitUnit,
        clock: Clock,
        *,
        settings: Callable[[], Settings],
        rules: Callable[[], Rules],
        switches: Callable[[str], Mapping[str, bool]],
        settings_of: Callable[[str], Any],
        strikes: Strikes,
        finished: Finished,
    ) -> None:
        self._registry = registry
        self._database = database
        self._commit = commit
        self._clock = clock
        self._settings = settings
        self._rules = rules
        self._switches = switches
        self._settings_of = settings_of
        self._strikes = strikes
        self._finished = finished
        self._append = AppendEntries()
        self._log = CallLog(registry, clock)
        self._minute = MinuteUse(clock)

    async def execute_function_calls(self, calls: Collection[ToolCall], ctx: CallContext) -> list[ToolResult]:
        """Run calls of one response in order; neighbours that only read run side by side. One result per call."""
        results: list[ToolResult] = []
        for group in self._groups(list(calls)):
            steps = [ctx.calls.next_step() for _ in group]
            runs = (self.run(call, ctx, step=step) for call, step in zip(group, steps, strict=True))
            results.extend(await asyncio.gather(*runs))
        return results

    async def execute_prompt_calls(
        self, text: str, names: Collection[str], ctx: CallContext
    ) -> tuple[textcalls.Parsed, list[ToolResult]]:
        """Parse a response of prompt mode and run its calls through the same door."""
        parsed = textcalls.parse(text, names, verbatim=False)
        return parsed, await self.execute_function_calls(calls_of(parsed, ctx), ctx)

    async def run(self, call: ToolCall, ctx: CallContext, *, step: int | None = None) -> ToolResult:
        """Run one call as a step of ``ctx``'s event, in a unit of its own."""
        step = ctx.calls.next_step() if step is None else step
        ready = self._check(call, ctx, step)
        if isinstance(ready, Refused):
            return await self._refuse(call, ctx, step, ready)
        if (known := self._repeated(ready, ctx)) is not None:
            return await self._reuse(ready, ctx, known)
        self._count(ready, ctx)
        result = await self._perform(ready, ctx)
        ctx.calls.results.setdefault(replace(ready.call, name=ready.tool.name).identity, []).append(result)
        await self._finished(ready.call, result)
        return result

    def _groups(self, calls: list[ToolCall]) -> list[list[ToolCall]]:
        groups: list[list[ToolCall]] = []
        parallel = False
        for call in calls:
            tool = self._registry.tool(call.name)
            reads = tool is not None and tool.annotations.read_only
            if reads and parallel:
                groups[-1].append(call)
            else:
                groups.append([call])
            parallel = reads
        return groups

    def _check(self, call: ToolCall, ctx: CallContext, step: int) -> Ready | Refused:
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
        return Ready(replace(call, arguments=arguments), tool, arguments, step)

    def _switches_of(self, ctx: CallContext) -> Mapping[str, bool]:
        return {**self._switches(ctx.session), **ctx.effects.switches}

    def _unknown(self, name: str, ctx: CallContext) -> str:
        rules, switches = self._rules(), self._switches_of(ctx)
        names = [t.name for t in self._registry.tools if policy.decide(t, ctx, switches=switches, rules=rules).callable]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        return f"没有叫 {name} 的工具函数" + (f"；相近的有：{'、'.join(near)}" if near else "")

    def _count(self, ready: Ready, ctx: CallContext) -> None:
        ctx.calls.counts[ready.tool.name] += 1
        self._minute.add(ctx.session, ready.tool.name)

    def _repeated(self, ready: Ready, ctx: CallContext) -> ToolResult | None:
        """Reuse a success only where asking again cannot differ; the third identical failure is not run again."""
        former = ctx.calls.results.get(replace(ready.call, name=ready.tool.name).identity, [])
        flags = ready.tool.annotations
        if former and former[-1].ok and flags.idempotent and not flags.random:
            return former[-1]
        if len(former) >= 2 and not any(result.ok for result in former[-2:]):
            return former[-1]
        return None

    async def _perform(self, ready: Ready, ctx: CallContext) -> ToolResult:
        call, tool, step = ready.call, ready.tool, ready.step
        inner = self._inner_context(ready, ctx)
        entries = [self._log.requested(call, inner.context), self._log.started(call, inner.context)]
        if tool.outside:
            for entry in entries:
                await self._database.append(self._append, entry)
            entries = []
        ran = await self._execute(ready, inner)
        if not ran_ok(ran):
            inner.effects = Effects()
        unit = Unit(ctx.session, ctx.door, ctx.turn, step, inner.effects, entries, owner=tool.source.id)
        unit.change = ran.value if isinstance(ran.value, Change) else None
        unit.settle = lambda said: self._settle(ready, inner, ran, said, unit)
        try:
            result: ToolResult = await self._commit(unit, ctx)
        except Exception as error:
            result = await self._undone(ready, inner, entries, failed(error, tool.name, tool.source.id, ran.ms))
        return result

    def _inner_context(self, ready: Ready, ctx: CallContext) -> InnerContext:
        tool = ready.tool
        limit = min(tool.timeout or self._settings().tools.timeout, self._settings().tools.timeout)
        context = replace(
            ctx.of(tool.source.id, self._settings_of(tool.source.id)),
            effects=Effects(),
            request_id=f"{ctx.turn}:{ready.step}",
            deadline=min(ctx.deadline, self._clock.monotonic() + limit),
        )
        return InnerContext(context, context.effects, max(0.0, context.deadline - self._clock.monotonic()))

    async def _execute(self, ready: Ready, inner: InnerContext) -> Ran:
        tool = ready.tool
        arguments = dict(ready.arguments)
        if tool.arguments_model is not None:
            model = tool.arguments_model.model_validate(arguments)
            arguments = {name: getattr(model, name) for name in type(model).model_fields}
        if tool.context_parameter:
            arguments[tool.context_parameter] = inner.context
        ran = await execute(
            tool.function,
            arguments,
            limit=inner.limit,
            cancel=inner.context.cancel,
            name=tool.name,
            plugin=tool.source.id,
        )
        if ran.abandoned:
            self._strikes.abandoned(tool.source.id)
        return ran

    def _settle(self, ready: Ready, inner: InnerContext, ran: Ran, said: Any, unit: Unit) -> Settled:
        said = said if isinstance(ran.value, Change) else ran.value
        content = parts_of(said) if ran_ok(ran) else (Part("text", ran.sentence),)
        replies = spoken_by(said, inner.context) if ran_ok(ran) else ()
        result = ToolResult(
            call_id=ready.call.id,
            name=ready.tool.name,
            status=ran.status,
            content=content,
            error_code=ran.error_code,
            ms=ran.ms,
            trust="untrusted" if ready.tool.annotations.open_world else "trusted",
            delivered=bool(replies or inner.effects.replies),
        )
        if isinstance(said, ToolResult):
            # A tool that ran another one hands its result on: status, trust and original stay those of the inner call.
            result = replace(said, call_id=ready.call.id, name=ready.tool.name, ms=ran.ms)
        limit = 0 if result.truncated else self._settings().tools.result_limit
        result, original = shortened(result, limit)
        if original is not None:
            now, session, name = self._clock.now(), inner.context.session, result.name
            raw_id = result.raw_id
            unit.effects.works.append(
                ("host", lambda tx: keep_original(tx, raw_id, session, "tool", name, original, now))
            )
        return Settled(replies, (self._log.ended(ready.call, result, inner.context),), result)

    async def _undone(self, ready: Ready, inner: InnerContext, entries: list[Entry], ran: Ran) -> ToolResult:
        unit = Unit(inner.context.session, inner.context.door, inner.context.turn, ready.step, entries=entries)
        unit.settle = lambda said: self._settle(ready, inner, ran, None, unit)
        inner.effects = Effects()
        result: ToolResult = await self._commit(unit, inner.context)
        return result

    async def _refuse(self, call: ToolCall, ctx: CallContext, step: int, refused: Refused) -> ToolResult:
        inner = InnerContext(replace(ctx, request_id=f"{ctx.turn}:{step}"), Effects(), 0.0)
        result = ToolResult(
            call_id=call.id,
            name=call.name,
            status="denied" if refused.denied else "error",
            content=(Part("text", refused.sentence),),
            error_code=refused.code,
        )
        ctx.calls.results.setdefault(call.identity, []).append(result)
        return await self._record(call, inner, step, result)

    async def _reuse(self, ready: Ready, ctx: CallContext, known: ToolResult) -> ToolResult:
        inner = InnerContext(replace(ctx, request_id=f"{ctx.turn}:{ready.step}"), Effects(), 0.0)
        former = ctx.calls.results.setdefault(replace(ready.call, name=ready.tool.name).identity, [])
        result = replace(known, call_id=ready.call.id, ms=0.0, end_turn=not known.ok and len(former) >= 4)
        former.append(result)
        return await self._record(ready.call, inner, ready.step, result, kind="tool_call_reused")

    async def _record(
        self, call: ToolCall, inner: InnerContext, step: int, result: ToolResult, kind: str = "tool_call_refused"
    ) -> ToolResult:
        ctx = inner.context
        entries = [self._log.requested(call, ctx), self._log.ended(call, result, ctx, kind)]
        await self._commit(Unit(ctx.session, ctx.door, ctx.turn, step, entries=entries), ctx)
        return result


@dataclass(slots=True)
class InnerContext:
    """The context one call runs in, the effects that will be committed, and its time limit in seconds."""

    context: CallContext
    effects: Effects
    limit: float


def ran_ok(ran: Ran) -> bool:
    """True when the function returned."""
    return ran.status == "ok"


def calls_of(parsed: textcalls.Parsed, ctx: CallContext) -> list[ToolCall]:
    """The calls that a text holds, with ids of the host's own making where the text has none."""
    made = []
    for number, call in enumerate(parsed.calls):
        made.append(
            ToolCall(
                id=call.call_id or f"text_{ctx.calls.steps + number + 1}",
                name=call.name,
                arguments=call.arguments,
                raw_arguments=call.raw,
                origin="prompt",
                verdict=call.verdict,
            )
        )
    return made
