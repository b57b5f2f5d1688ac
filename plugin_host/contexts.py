"""Contexts: builds every CallContext from its event, and is the host's side of what a context offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from plugin_host.calls import TurnCalls
from plugin_host.clock import Clock, iso
from plugin_host.config.settings import Settings
from plugin_host.context import CallContext, Effects, Scope
from plugin_host.errors import CallError, InvalidArgumentsError, ServiceMissingError
from plugin_host.registry import Registry
from plugin_host.standing import level_of
from plugin_host.store import Database, Tx
from plugin_host.store.journal import STARTED, AppendEntries, Entry, write_entries
from plugin_host.store.kept import encode, get_kept, kept_names, set_kept
from plugin_host.values import CorePort, Event, Surface

TURN_LIMIT = 3600.0
# By shape, so that an action nobody has heard of cannot send: every send is a row of the outbox.
SILENT = ("get_", "_get_", ".get_", "nc_get_", "fetch_", "check_", "can_send_", "set_", "delete_", "mark_", "ocr_image")


class Contexts:
    """Makes contexts and serves them (it is their ContextPort)."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        clock: Clock,
        settings: Callable[[], Settings],
        core: CorePort | None,
    ) -> None:
        self._database = database
        self._registry = registry
        self._clock = clock
        self._settings = settings
        self._core = core
        self._append = AppendEntries()

    def of(self, event: Event, surface: Surface) -> CallContext:
        """A fresh context for an event; rights and identity come from it alone."""
        settings = self._settings()
        return CallContext(
            session=event.session,
            platform=event.platform,
            self_id=event.self_id,
            user_id=event.user_id,
            name=event.sender.shown,
            role=event.sender.role,
            level=level_of(event.user_id, event.sender.role, settings),
            surface=surface,
            request_id=f"{event.key}:0",
            sent_at=iso(event.time or self._clock.now()),
            deadline=self._clock.monotonic() + TURN_LIMIT,
            turn=event.key,
            door=event.door,
            cancel=asyncio.Event(),
            effects=Effects(),
            port=self,
            message_id=event.message_id,
            event=event,
            calls=TurnCalls(),
            zone=settings.timezone,
        )

    async def kept(self, ctx: CallContext, scope: Scope, name: str) -> Any:
        """See ContextPort."""
        owner = _owner(ctx, scope)
        return await self._database.read(lambda tx: get_kept(tx, ctx.plugin, scope, owner, name))

    async def kept_names(self, ctx: CallContext, scope: Scope) -> list[str]:
        """See ContextPort."""
        owner = _owner(ctx, scope)
        return await self._database.read(lambda tx: kept_names(tx, ctx.plugin, scope, owner))

    async def add(self, ctx: CallContext, scope: Scope, name: str, amount: float) -> float:
        """See ContextPort; raises InvalidArgumentsError when the stored value is no number."""
        owner = _owner(ctx, scope)

        def work(tx: Tx) -> float:
            before = get_kept(tx, ctx.plugin, scope, owner, name) or 0
            if isinstance(before, bool) or not isinstance(before, int | float):
                raise InvalidArgumentsError(f"{name} 存的不是数字，不能累加")
            after = before + amount
            set_kept(tx, ctx.plugin, scope, owner, name, after)
            self._note_step(tx, ctx, "store.add", {"scope": scope, "name": name})
            return after

        return await self._database.unit(work, owner=ctx.plugin)

    async def swap(self, ctx: CallContext, scope: Scope, name: str, old: Any, new: Any) -> bool:
        """See ContextPort."""
        owner = _owner(ctx, scope)
        expected = None if old is None else encode(name, old)

        def work(tx: Tx) -> bool:
            stored = get_kept(tx, ctx.plugin, scope, owner, name)
            if (None if stored is None else encode(name, stored)) != expected:
                return False
            set_kept(tx, ctx.plugin, scope, owner, name, new)
            self._note_step(tx, ctx, "store.swap", {"scope": scope, "name": name})
            return True

        return await self._database.unit(work, owner=ctx.plugin)

    async def action(self, ctx: CallContext, action: str, params: Mapping[str, Any]) -> Any:
        """See ContextPort; journalled before it leaves. Raises CallError when there is no protocol end."""
        if not action.startswith(SILENT):
            raise CallError(f"{action} 可能会发送消息，不能这样调用；要说话请返回 Reply", code="action_sends")
        if self._core is None:
            raise CallError("没有连接协议端，无法执行 OneBot 动作", code="OB11_DEPENDENCY_REQUIRED")
        request = f"{ctx.turn}:{ctx.calls.next_step()}"
        await self._database.append(self._append, self._entry(ctx, STARTED, request, action, {"params": dict(params)}))
        try:
            data = await self._core.call(ctx.self_id, action, params)
        except Exception as error:
            failed = self._entry(ctx, "tool_call_failed", request, action, {"status": "error", "text": str(error)})
            await self._database.append(self._append, failed)
            raise CallError(f"动作 {action} 失败：{error}", code="action_failed") from error
        done = self._entry(ctx, "tool_call_completed", request, action, {"status": "ok"})
        await self._database.append(self._append, done)
        return data

    def service(self, name: str) -> Any:
        """See ContextPort."""
        found = self._registry.service(name)
        if found is None:
            raise ServiceMissingError(f"没有插件提供 {name} 服务")
        return found

    def _note_step(self, tx: Tx, ctx: CallContext, name: str, payload: dict[str, Any]) -> None:
        request = f"{ctx.turn}:{ctx.calls.next_step()}"
        write_entries(tx, [self._entry(ctx, "step", request, name, payload)])

    def _entry(self, ctx: CallContext, kind: str, request: str, name: str, payload: dict[str, Any]) -> Entry:
        return Entry(self._clock.now(), ctx.session, ctx.turn, kind, request, name, payload)


def _owner(ctx: CallContext, scope: Scope) -> str:
    if scope == "session":
        return ctx.session
    if scope == "bot":
        return "bot"
    if ctx.user_id is None:
        raise CallError("这次没有提问的人，不能读写个人数据", code="anonymous")
    return f"{ctx.platform}:{ctx.user_id}"
