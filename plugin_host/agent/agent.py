"""Agent: one AI turn, the only loop in the program: ask, run the calls, append, ask again."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from loguru import logger

from plugin_host.agent.listening import Response, listen
from plugin_host.agent.prompt import build, spoken
from plugin_host.answers import text_reply
from plugin_host.calls import ToolCall, ToolResult
from plugin_host.clock import Clock
from plugin_host.config.settings import Settings
from plugin_host.context import CallContext, Effects
from plugin_host.conversation import Message, Mode, ModelRequest, RequestBuilder, ToolSpec
from plugin_host.errors import ModelError
from plugin_host.runner.runner import Runner
from plugin_host.sessions import Session
from plugin_host.standing import level_of
from plugin_host.store.journal import Entry
from plugin_host.textcalls import repair
from plugin_host.units import Unit
from plugin_host.values import Event

TurnStatus = Literal["completed", "error", "empty_response", "stopped_by_user", "budget"]

SOFT_ROUNDS = 20
PATIENCE = 8.0
SOFT_NOTE = "（提示：本回合已经调用了很多轮工具，请尽快给出最终回答。）"

MODEL_WORDS = {
    "balance": "模型余额不足",
    "context_length": "对话太长，超过了模型的上限",
    "rate_limit": "模型限流",
    "overload": "模型服务过载",
    "auth": "模型密钥无效",
    "permission": "没有权限使用该模型",
    "content": "模型拒绝了这次内容",
    "parameter": "模型不接受这次请求",
    "server": "模型服务出错",
    "network": "连不上模型服务",
    "timeout": "模型太久没有回应",
    "missing_id": "模型的工具调用缺少编号",
    "unconfigured": "骰主还没有配置模型",
}


@dataclass(slots=True)
class Turn:
    """One turn: the event that began it, what it has said and called, and its stop signal."""

    session: Session
    event: Event
    ctx: CallContext
    tools: Sequence[ToolSpec] = ()
    system: str = ""
    history: list[Message] = field(default_factory=list)
    fresh: list[Message] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    segments: int = 0
    errors: int = 0
    told_working: bool = False

    def stop(self) -> None:
        """End the turn for real: the stream and the running tools are cancelled."""
        self.ctx.cancel.set()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended and what is still to be said."""

    status: TurnStatus
    text: str = ""
    note: str = ""


class Agent:
    """Runs turns. Steps are posted to the session's lane as units; nothing else of a turn holds the lane."""

    def __init__(
        self,
        *,
        stream: Callable[[RequestBuilder], Any],
        runner: Runner,
        commit: Callable[[Unit, CallContext], Awaitable[Any]],
        clock: Clock,
        settings: Callable[[], Settings],
        prepare: Callable[[Turn], Awaitable[None]],
        log: Callable[[Entry], None],
    ) -> None:
        self._stream = stream
        self._runner = runner
        self._commit = commit
        self._clock = clock
        self._settings = settings
        self._prepare = prepare
        self._log = log

    async def run(self, turn: Turn) -> None:
        """Run a turn to its end; its last unit says the rest, ends its events and writes how it ended."""
        self._note(turn, "run_started")
        try:
            await self._prepare(turn)
            turn.fresh.append(spoken(turn.event))
            ending = await self._rounds(turn)
        except ModelError as error:
            logger.warning("turn {}: model failed: {} ({})", turn.event.key, error, error.kind)
            words = MODEL_WORDS.get(error.kind, "模型出错")
            ending = Ending("error", f"{words}，这次没能回答。骰点照常。", error.kind)
        except Exception:
            logger.exception("turn {} failed", turn.event.key)
            ending = Ending("error", "处理时出错了（详情见日志）。骰点照常。", "system")
        await self._end(turn, ending)

    async def _rounds(self, turn: Turn) -> Ending:
        limits = self._settings().agent
        for number in range(1, limits.max_rounds + 1):
            self._take_waiting(turn)
            response = await self._ask(turn, number)
            if response is None or turn.ctx.cancel.is_set():
                return Ending("stopped_by_user")
            if response.problems and not response.calls:
                ended = await self._unreadable(turn, response)
            elif response.calls:
                ended = await self._call(turn, response)
            else:
                turn.fresh.append(Message("assistant", response.text))
                return Ending("completed" if response.text.strip() else "empty_response", response.unsaid)
            if ended is not None:
                return ended
        return Ending("budget", f"本回合已达到 {limits.max_rounds} 轮上限，先到这里。", "rounds")

    def _take_waiting(self, turn: Turn) -> None:
        for event in turn.session.waiting:
            turn.fresh.append(spoken(event))
            turn.merged.append(event.key)
            if event.user_id != turn.ctx.user_id:
                # Several people in one turn: nobody may borrow the rights of another, nor have things done in the
                # other's name. It goes on with the least of their rights and without an asker.
                level = min(turn.ctx.level, level_of(event.user_id, event.sender.role, self._settings()))
                turn.ctx = replace(turn.ctx, user_id=None, name="", role="member", level=level)
        turn.session.waiting.clear()

    async def _ask(self, turn: Turn, number: int) -> Response | None:
        def request(mode: Mode) -> ModelRequest:
            history = [*turn.history, *turn.fresh]
            if number == SOFT_ROUNDS:
                history.append(Message("user", SOFT_NOTE))
            return build(turn.system, history, turn.tools, mode)

        self._note(turn, "model_request", round=number)
        names = frozenset(tool.name for tool in turn.tools)
        hearing = asyncio.ensure_future(
            listen(self._stream(request), names, lambda text: self._show(turn, text), mint=_mint)
        )
        stop = asyncio.ensure_future(turn.ctx.cancel.wait())
        try:
            await asyncio.wait({hearing, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not hearing.done():
                hearing.cancel()
                await asyncio.wait({hearing}, timeout=1)
                return None
        finally:
            stop.cancel()
            if not hearing.done():
                hearing.cancel()
        response = hearing.result()
        self._note(turn, "model_response", round=number, text=response.text, calls=[c.name for c in response.calls])
        return response

    async def _show(self, turn: Turn, text: str) -> bool:
        """Say a finished segment while the answer goes on; False when the last place is kept for the end."""
        if not text.strip():
            return True
        if turn.segments >= self._settings().send.segments - 1:
            return False
        turn.segments += 1
        await self._say(turn, text.strip())
        return True

    async def _say(self, turn: Turn, text: str) -> None:
        unit = self._unit(turn)
        unit.effects.replies.append(text_reply(text, turn.ctx, "ai"))
        await self._commit(unit, turn.ctx)

    async def _still_working(self, turn: Turn, response: Response) -> None:
        """One line after 8 s, once a turn, so that the table knows."""
        await asyncio.sleep(PATIENCE)
        if not turn.told_working:
            turn.told_working = True
            await self._say(turn, f"（还在处理：{'、'.join(sorted({call.name for call in response.calls}))}……）")

    async def _call(self, turn: Turn, response: Response) -> Ending | None:
        await self._show(turn, response.unsaid)
        working = asyncio.create_task(self._still_working(turn, response))
        try:
            results = await self._runner.execute_function_calls(response.calls, turn.ctx)
        finally:
            working.cancel()
        turn.fresh.append(Message("assistant", response.text, calls=tuple(_canonical(c) for c in response.calls)))
        turn.fresh.extend(Message("tool", result.text, call_id=result.call_id, name=result.name) for result in results)
        if response.problems:
            turn.fresh.append(Message("user", f"解析函数调用失败：{'；'.join(response.problems)}"))
        await self._keep(turn)
        return self._judge(turn, results)

    async def _unreadable(self, turn: Turn, response: Response) -> Ending | None:
        """Calls that could not be read at all: the model is told what and where, within the error budget."""
        turn.fresh.append(Message("assistant", response.text or "（无法解析的函数调用）"))
        turn.fresh.append(Message("user", f"解析函数调用失败：{'；'.join(response.problems)}"))
        await self._keep(turn)
        turn.errors += 1
        return self._over_budget(turn)

    def _judge(self, turn: Turn, results: list[ToolResult]) -> Ending | None:
        if turn.ctx.cancel.is_set():
            return Ending("stopped_by_user")
        if all(result.ok and result.end_turn for result in results):
            return Ending("completed")
        if any(result.end_turn and not result.ok for result in results):
            return Ending("budget", "同一个工具调用反复失败，先到这里。", "repeated")
        turn.errors = 0 if any(result.ok for result in results) else turn.errors + len(results)
        return self._over_budget(turn)

    def _over_budget(self, turn: Turn) -> Ending | None:
        if turn.errors >= self._settings().agent.max_errors:
            return Ending("budget", "工具连续出错，先到这里。", "errors")
        return None

    async def _keep(self, turn: Turn) -> None:
        """Commit a round: its messages, and the end of the events that it took in."""
        unit = self._unit(turn)
        unit.messages, unit.done = turn.fresh, turn.merged
        await self._commit(unit, turn.ctx)
        turn.history.extend(turn.fresh)
        turn.fresh, turn.merged = [], []

    async def _end(self, turn: Turn, ending: Ending) -> None:
        unit = self._unit(turn)
        unit.messages = [message for message in turn.fresh if message.text or message.calls]
        unit.done = [*turn.merged, turn.event.key]
        kind = {"completed": "run_completed", "stopped_by_user": "run_cancelled"}.get(ending.status, "run_failed")
        payload = {"status": ending.status, "note": ending.note}
        unit.entries.append(self._entry(turn, kind, payload))
        if text := ending.text.strip():
            unit.effects.replies.append(text_reply(text, turn.ctx, "ai"))
        elif ending.status == "empty_response":
            unit.effects.replies.append(text_reply("（模型没有给出回答）", turn.ctx, "ai"))
        await self._commit(unit, turn.ctx)

    def _note(self, turn: Turn, kind: str, **payload: Any) -> None:
        self._log(self._entry(turn, kind, payload))

    def _entry(self, turn: Turn, kind: str, payload: dict[str, Any]) -> Entry:
        return Entry(self._clock.now(), turn.session.id, turn.event.key, kind, payload=payload)

    def _unit(self, turn: Turn) -> Unit:
        step = turn.ctx.calls.next_step()
        return Unit(turn.session.id, turn.ctx.door, turn.event.key, step, effects=Effects())


def _mint() -> str:
    """An id for a call of a text mode, where the model gives none."""
    return f"text_{secrets.token_hex(6)}"


def _canonical(call: ToolCall) -> ToolCall:
    """The call as it goes out in later requests: arguments as an object, nothing of the provider's spelling."""
    arguments = call.arguments
    if arguments is None:
        value, verdict = repair(call.raw_arguments)
        arguments = value if isinstance(value, dict) and verdict in ("clean", "repaired") else {}
    return ToolCall(call.id, call.name, arguments, origin=call.origin)
