"""Dispatcher: Event → command or AI turn. What a session's lane runs for each event, one after another."""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from loguru import logger

from plugin_host.agent.prompt import spoken
from plugin_host.answers import replies_of, text_reply
from plugin_host.clock import Clock
from plugin_host.commands import Command, CommandArgs, Match, strip_prefix
from plugin_host.config.settings import Settings
from plugin_host.context import CallContext, Effects
from plugin_host.contexts import Contexts
from plugin_host.hooks import Hooks
from plugin_host.registry import Registry
from plugin_host.runner.execution import Ran, execute, failed
from plugin_host.runner.strikes import Strikes
from plugin_host.sessions import Session
from plugin_host.standing import TERMINAL, Standing, intent_of, level_of
from plugin_host.store.journal import Entry
from plugin_host.units import Settled, Unit
from plugin_host.values import Change, Event, Reply, Segment, side_of
from plugin_host.watch.daemon import Interrupted

CommitUnit = Callable[[Unit], Awaitable[Any]]
StartTurn = Callable[[Session, Event], None]


class Dispatcher:
    """Handles one event; its unit commits state, journal, replies and "event done" together."""

    def __init__(
        self,
        *,
        registry: Registry,
        hooks: Hooks,
        contexts: Contexts,
        commit: CommitUnit,
        clock: Clock,
        settings: Callable[[], Settings],
        settings_of: Callable[[str], Any],
        standing: Callable[[Session, Event], Standing],
        strikes: Strikes,
        start_turn: StartTurn,
    ) -> None:
        self._registry = registry
        self._hooks = hooks
        self._contexts = contexts
        self._commit = commit
        self._clock = clock
        self._settings = settings
        self._settings_of = settings_of
        self._standing = standing
        self._strikes = strikes
        self._start_turn = start_turn

    def line_of(self, event: Event) -> str | None:
        """The command line of an event without its prefix, or None when it does not look like a command."""
        if event.kind != "message":
            return None
        return strip_prefix(event.text, self._settings().bot.prefixes)

    def is_command(self, event: Event) -> bool:
        """True when a registered word begins the line."""
        line = self.line_of(event)
        return line is not None and next(self._registry.match(line), None) is not None

    async def handle(self, session: Session, event: Event) -> None:
        """Handle an accepted event to the end of its unit, or hand it to a turn. Raises only what the store raises."""
        await self._hooks.on_event(event)
        if not self._hooks.should_handle(event):
            await self._finish(event)
        elif event.kind == "internal":
            await self._internal(session, event)
        elif (line := self.line_of(event)) is not None and await self._command(session, event, line):
            return
        else:
            await self._talk(session, event, line)

    async def _command(self, session: Session, event: Event, line: str) -> bool:
        standing = self._standing(session, event)
        for match in self._registry.match(line):
            if not standing.bot and not match.command.always:
                continue
            if await self._run(event, match):
                return True
        return False

    async def _run(self, event: Event, match: Match) -> bool:
        """Run a command; False when its function says that the line is not its own."""
        command = match.command
        ctx = self._contexts.of(event, "command").of(command.source.id, self._settings_of(command.source.id))
        if ctx.level < command.level:
            sentence = f"权限不足：.{command.words[0]} 需要权限 {command.level}，你的权限是 {ctx.level}"
            ran = Ran("denied", 0.0, error_code="permission_denied", sentence=sentence)
        else:
            ran = await self._execute(ctx, match)
        if ran.status == "ok" and ran.value is False:
            return False
        await self._settle(event, ctx, command, ran)
        return True

    async def _execute(self, ctx: CallContext, match: Match) -> Ran:
        command = match.command
        at = tuple(str(s.data.get("qq", "")) for s in (ctx.event.segments if ctx.event else ()) if s.type == "at")
        ran = await execute(
            command.function,
            _arguments(command, ctx, replace(match.args, at=at)),
            limit=command.timeout or self._settings().commands.timeout,
            cancel=ctx.cancel,
            name=f".{match.args.word}",
            plugin=command.source.id,
        )
        if ran.abandoned:
            self._strikes.abandoned(command.source.id)
        return ran

    async def _settle(self, event: Event, ctx: CallContext, command: Command, ran: Ran) -> None:
        try:
            await self._commit(self._unit(event, ctx, command, ran))
        except (Exception, Interrupted) as error:
            again = failed(error, f".{command.words[0]}", command.source.id, ran.ms)
            await self._commit(self._unit(event, ctx, command, again))

    def _unit(self, event: Event, ctx: CallContext, command: Command, ran: Ran) -> Unit:
        effects = ctx.effects if ran.status == "ok" else Effects()
        unit = Unit(event.session, event.door, event.key, 0, effects, done=[event.key], owner=command.source.id)
        unit.entries.append(self._entry(ctx, "tool_call_started", command, {"origin": "command"}))
        unit.change = ran.value if isinstance(ran.value, Change) else None

        def settle(said: Any) -> Settled:
            if ran.status != "ok":
                replies: tuple[Reply, ...] = (text_reply(ran.sentence, ctx, "command"),)
            else:
                replies = replies_of(said if unit.change is not None else ran.value, ctx, "command")
            kind = "tool_call_completed" if ran.status == "ok" else "tool_call_failed"
            ended = self._entry(ctx, kind, command, {"status": ran.status, "code": ran.error_code})
            return Settled(replies, (replace(ended, ms=ran.ms),))

        unit.settle = settle
        return unit

    def _entry(self, ctx: CallContext, kind: str, command: Command, payload: dict[str, Any]) -> Entry:
        return Entry(self._clock.now(), ctx.session, ctx.turn, kind, ctx.request_id, f".{command.words[0]}", payload)

    async def _talk(self, session: Session, event: Event, line: str | None) -> None:
        standing = self._standing(session, event)
        if line is not None and _looks_like_word(line):
            await self._finish(event, reply=self._unknown(event, line) if standing.bot else None)
            return
        intent = intent_of(event, standing)
        if intent == "turn" and level_of(event.user_id, event.sender.role, self._settings()) >= 0:
            self._start_turn(session, event)
        elif intent == "record":
            unit = Unit(event.session, event.door, event.key, 0, messages=[spoken(event)], done=[event.key])
            await self._commit(unit)
        else:
            await self._finish(event)

    def _unknown(self, event: Event, line: str) -> Reply | None:
        """In a terminal every line is meant for the bot: an unknown word is told there, in a group it is not."""
        if not event.door.startswith(TERMINAL):
            return None
        words = sorted({word for command in self._registry.commands for word in command.words})
        head = line.split()[0]
        near = difflib.get_close_matches(head.casefold(), words, n=3, cutoff=0.5)
        text = f"没有这个指令：{head}" + (f"；相近的有：{'、'.join('.' + word for word in near)}" if near else "")
        return text_reply(text, self._contexts.of(event, "command"), "command")

    async def _internal(self, session: Session, event: Event) -> None:
        """An event of the host's own making: a prompt to answer, session flags to set, a line to say."""
        standing = self._standing(session, event)
        if event.detail.get("prompt") and standing.level >= 1 and standing.ai:
            self._start_turn(session, event)
            return
        effects = Effects(flags=dict(event.detail.get("flags", {})))
        if say := event.detail.get("say"):
            source = event.detail.get("source", "notice")
            said = (Segment.text(say),)
            effects.replies.append(Reply(event.session, said, side_of(event.session), event.user_id, source=source))
        await self._commit(Unit(event.session, event.door, event.key, 0, effects, done=[event.key]))

    async def _finish(self, event: Event, *, reply: Reply | None = None) -> None:
        effects = Effects(replies=[reply] if reply else [])
        await self._commit(Unit(event.session, event.door, event.key, 0, effects, done=[event.key]))

    async def refuse(self, event: Event) -> None:
        """Say that the session has more messages waiting than it takes."""
        ctx = self._contexts.of(event, "command")
        effects = Effects(replies=[text_reply("消息太多，来不及处理，请稍后再试。", ctx, "notice")])
        key = f"refused:{secrets.token_hex(12)}"
        await self._commit(Unit(event.session, event.door, key, 0, effects))

    async def fail(self, event: Event, error: BaseException) -> None:
        """The handler itself broke: log it, tell the person, end the event."""
        logger.opt(exception=error).error("handling {} failed", event.key)
        ctx = self._contexts.of(event, "command")
        effects = Effects(replies=[text_reply("处理这条消息时出错了（详情见日志）。", ctx, "notice")])
        await self._commit(Unit(event.session, event.door, event.key, 0, effects, failed=[event.key]))


def _arguments(command: Command, ctx: CallContext, args: CommandArgs) -> dict[str, Any]:
    given = ((command.context_parameter, ctx), (command.text_parameter, args.rest), (command.args_parameter, args))
    return {name: value for name, value in given if name}


def _looks_like_word(line: str) -> bool:
    return line[:1].isascii() and line[:1].isalpha()
