"""Runner: ToolCall → ToolResult. The one door for every tool call; it never raises for what a tool does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from plugin_host import textcalls
from plugin_host.answers import parts_of, spoken_by
from plugin_host.calls import Part, ToolCall, ToolResult
from plugin_host.clock import Clock
from plugin_host.config.settings import Settings
from plugin_host.context import CallContext, Effects
from plugin_host.policy import Rules
from plugin_host.registry import Registry
from plugin_host.runner.arguments import Refused
from plugin_host.runner.call_log import CallLog
from plugin_host.runner.execution import Ran, execute, failed
from plugin_host.runner.gate import LAST_FAILURE, Gate, Ready, failures
from plugin_host.runner.strikes import Strikes
from plugin_host.runner.truncation import shortened
from plugin_host.store import Database
from plugin_host.store.journal import AppendEntries, Entry
from plugin_host.store.originals import keep_original
from plugin_host.units import Settled, Unit
from plugin_host.values import Change
from plugin_host.watch.daemon import Interrupted

CommitUnit = Callable[[Unit, CallContext], Awaitable[Any]]
Finished = Callable[[ToolCall, ToolResult], Awaitable[None]]


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
        self._settings_of = settings_of
        self._strikes = strikes
        self._finished = finished
        self._append = AppendEntries()
        self._log = CallLog(registry, clock)
        self._gate = Gate(registry, clock, settings=settings, rules=rules, switches=switches)

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
        ready = self._gate.check(call, ctx, step)
        if isinstance(ready, Refused):
            return await self._refuse(call, ctx, step, ready)
        if (known := self._gate.repeated(ready, ctx)) is not None:
            return await self._reuse(ready, ctx, known)
        self._gate.count(ready, ctx)
        result = await self._perform(ready, ctx)
        ctx.calls.results.setdefault(ready.call.identity, []).append(result)
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

    async def _perform(self, ready: Ready, ctx: CallContext) -> ToolResult:
        call, tool, step = ready.call, ready.tool, ready.step
        inner = self._inner_context(ready, ctx)
        entries = [self._log.requested(call, inner), self._log.started(call, inner)]
        if tool.outside:
            for entry in entries:
                await self._database.append(self._append, entry)
            entries = []
        ran = await self._execute(ready, inner)
        effects = inner.effects if ran.ok else Effects()
        unit = Unit(ctx.session, ctx.door, ctx.turn, step, effects, entries, owner=tool.source.id)
        unit.change = ran.value if isinstance(ran.value, Change) else None
        unit.settle = lambda said: self._settle(ready, inner, ran, said, unit)
        try:
            result: ToolResult = await self._commit(unit, ctx)
        except (Exception, Interrupted) as error:
            result = await self._undone(ready, inner, entries, failed(error, tool.name, tool.source.id, ran.ms))
        return result

    def _inner_context(self, ready: Ready, ctx: CallContext) -> CallContext:
        """The context that the tool sees: its own plugin's, its own effects, its own deadline."""
        tool = ready.tool
        longest = self._settings().tools.timeout
        return replace(
            ctx.of(tool.source.id, self._settings_of(tool.source.id)),
            effects=Effects(),
            request_id=f"{ctx.turn}:{ready.step}",
            deadline=min(ctx.deadline, self._clock.monotonic() + min(tool.timeout or longest, longest)),
        )

    async def _execute(self, ready: Ready, inner: CallContext) -> Ran:
        tool = ready.tool
        try:
            given = _given(ready, inner)
        except (Exception, Interrupted) as error:
            return failed(error, tool.name, tool.source.id)
        ran = await execute(
            tool.function,
            given,
            limit=max(0.0, inner.deadline - self._clock.monotonic()),
            cancel=inner.cancel,
            name=tool.name,
            plugin=tool.source.id,
        )
        if ran.abandoned:
            self._strikes.abandoned(tool.source.id)
        return ran

    def _settle(self, ready: Ready, inner: CallContext, ran: Ran, said: Any, unit: Unit) -> Settled:
        said = said if isinstance(ran.value, Change) else ran.value
        content = parts_of(said) if ran.ok else (Part("text", ran.sentence),)
        replies = spoken_by(said, inner) if ran.ok else ()
        result = ToolResult(
            call_id=ready.call.id,
            name=ready.tool.name,
            status=ran.status,
            content=content,
            error_code=ran.error_code,
            ms=ran.ms,
            trust="untrusted" if ready.tool.annotations.open_world else "trusted",
            delivered=bool(replies or unit.effects.replies),
            end_turn=ran.ok and not ready.tool.follow_up,
            structured=said if ran.ok and isinstance(said, dict | list) else None,
        )
        if isinstance(said, ToolResult):
            # A tool that ran another one hands its result on: status, trust and original stay those of the inner call.
            result = replace(said, call_id=ready.call.id, name=ready.tool.name, ms=ran.ms)
        limit = 0 if result.truncated else self._settings().tools.result_limit
        result, original = shortened(result, limit)
        if original is not None:
            now, session, name = self._clock.now(), inner.session, result.name
            raw_id = result.raw_id
            unit.effects.works.append(
                ("host", lambda tx: keep_original(tx, raw_id, session, "tool", name, original, now))
            )
        return Settled(replies, (self._log.ended(ready.call, result, inner),), result)

    async def _undone(self, ready: Ready, inner: CallContext, entries: list[Entry], ran: Ran) -> ToolResult:
        """The unit was rolled back: write how the call ended, and nothing else of it."""
        unit = Unit(inner.session, inner.door, inner.turn, ready.step, entries=entries)
        unit.settle = lambda said: self._settle(ready, inner, ran, None, unit)
        result: ToolResult = await self._commit(unit, inner)
        return result

    async def _refuse(self, call: ToolCall, ctx: CallContext, step: int, refused: Refused) -> ToolResult:
        # Apart from what ran: a refusal is judged anew each time, for a switch or a right may have changed.
        former = ctx.calls.results.setdefault(f"refused {call.identity}", [])
        result = ToolResult(
            call_id=call.id,
            name=call.name,
            status="denied" if refused.denied else "error",
            content=(Part("text", refused.sentence),),
            error_code=refused.code,
            end_turn=len(former) + 1 >= LAST_FAILURE,
        )
        former.append(result)
        return await self._record(call, ctx, step, result)

    async def _reuse(self, ready: Ready, ctx: CallContext, known: ToolResult) -> ToolResult:
        former = ctx.calls.results.setdefault(ready.call.identity, [])
        result = replace(known, call_id=ready.call.id, ms=0.0, end_turn=failures(former) + 1 >= LAST_FAILURE)
        former.append(result)
        return await self._record(ready.call, ctx, ready.step, result, kind="tool_call_reused")

    async def _record(
        self, call: ToolCall, ctx: CallContext, step: int, result: ToolResult, kind: str = "tool_call_refused"
    ) -> ToolResult:
        ctx = replace(ctx, request_id=f"{ctx.turn}:{step}")
        entries = [self._log.requested(call, ctx), self._log.ended(call, result, ctx, kind)]
        await self._commit(Unit(ctx.session, ctx.door, ctx.turn, step, entries=entries), ctx)
        return result


def _given(ready: Ready, inner: CallContext) -> dict[str, Any]:
    """The arguments as the function takes them: Python types, and the context where it asks for one."""
    tool = ready.tool
    given = dict(ready.arguments)
    if tool.arguments_model is not None:
        model = tool.arguments_model.model_validate(given)
        given = {name: getattr(model, name) for name in type(model).model_fields}
    if tool.context_parameter:
        given[tool.context_parameter] = inner
    return given


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
