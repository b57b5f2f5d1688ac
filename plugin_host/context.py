"""CallContext: what every tool and command is handed. Built by the host from the event, never from arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol
from zoneinfo import ZoneInfo

from plugin_host.calls import TurnCalls
from plugin_host.errors import CallError, InvalidArgumentsError
from plugin_host.values import Event, Reply, ReplySource, Role, Segment, Surface, side_of

if TYPE_CHECKING:
    from plugin_host.store.tx import Tx

Scope = Literal["session", "person", "bot"]
NAME_LIMIT = 128
NOTE_LIMIT = 50
KIND_LIMIT = 48
DELETED: Any = object()


@dataclass(slots=True)
class Effects:
    """What a handler has asked for so far; its unit commits it together.

    ``kept``: buffered writes of plugin stores in the own session, by (plugin, name). ``flags`` and ``switches``:
    session settings and tool switches that change. ``works``: further SQL, as (owner, work). ``notes``: journal lines,
    as (type, payload).
    """

    replies: list[Reply] = field(default_factory=list)
    kept: dict[tuple[str, str], Any] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    works: list[tuple[str, Callable[[Tx], Any]]] = field(default_factory=list)
    notes: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)


class ContextPort(Protocol):
    """The host's side of a context."""

    async def kept(self, ctx: CallContext, scope: Scope, name: str) -> Any:
        """The stored value, or None."""
        ...

    async def kept_names(self, ctx: CallContext, scope: Scope) -> list[str]:
        """Every stored name of this plugin in that scope."""
        ...

    async def add(self, ctx: CallContext, scope: Scope, name: str, amount: float) -> float:
        """Add to a stored number atomically, as a step of its own; returns the new number."""
        ...

    async def swap(self, ctx: CallContext, scope: Scope, name: str, old: Any, new: Any) -> bool:
        """Replace ``old`` by ``new`` atomically, as a step; False when the stored value is not ``old``."""
        ...

    async def action(self, ctx: CallContext, action: str, params: Mapping[str, Any]) -> Any:
        """Run an OneBot 11 action that sends nothing, as a step; returns its ``data``."""
        ...

    def service(self, name: str) -> Any:
        """The named service; raises ServiceMissingError."""
        ...


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who asked, where, with which rights, until when; and what may be done there.

    ``level`` is the asking person's privilege (0 member, 40 inviter, 50 group admin, 60 owner, 70 trusted, 100 master,
    −30 blocked); ``sent_at`` is ISO 8601 UTC ending in Z; ``deadline`` is in seconds of the monotonic clock; ``turn``
    is the key of the event that all this belongs to.
    """

    session: str
    platform: str
    self_id: str
    user_id: str | None
    name: str
    role: Role
    level: int
    surface: Surface
    request_id: str
    sent_at: str
    deadline: float
    turn: str
    door: str
    cancel: asyncio.Event
    effects: Effects
    port: ContextPort
    bot_role: Role | None = None
    message_id: str | None = None
    event: Event | None = None
    plugin: str = ""
    settings: Any = None
    calls: TurnCalls = field(default_factory=TurnCalls)
    zone: str = "UTC"

    @property
    def now(self) -> datetime:
        """When the message was sent, in the bot's time zone; its ``date()`` is what people here call today."""
        return datetime.fromisoformat(self.sent_at).astimezone(ZoneInfo(self.zone))

    @property
    def is_group(self) -> bool:
        """True when the session is a group."""
        return side_of(self.session) == "group"

    @property
    def store(self) -> PluginStore:
        """This plugin's small key-value store, scoped to the session, the person or the bot."""
        return PluginStore(self)

    def of(self, plugin: str, settings: Any) -> CallContext:
        """The same context as another plugin sees it: own settings, own store."""
        return replace(self, plugin=plugin, settings=settings)

    def service(self, name: str) -> Any:
        """What a plugin offers under ``name``; raises ServiceMissingError when none does."""
        return self.port.service(name)

    async def call_action(self, action: str, **params: Any) -> Any:
        """Run an OneBot 11 action that sends nothing (``get_group_info`` …) and return its data."""
        return await self.port.action(self, action, params)

    def roll(self, expression: str) -> Any:
        """Roll dice through the ``dice`` service; raises CallError when the expression is wrong."""
        return self.service("dice").roll(self, expression)

    def note(self, kind: str, **payload: Any) -> None:
        """Add a line to the journal, written together with this call's own; at most 50 a call, long ones are cut."""
        if len(self.effects.notes) < NOTE_LIMIT:
            self.effects.notes.append((kind[:KIND_LIMIT], payload))

    def say(self, text: str) -> None:
        """Say a line in this session; it leaves together with this call's own answer."""
        to_user = None if self.is_group else self.user_id
        said = (Segment.text(text),)
        source: ReplySource = "command" if self.surface == "command" else "tool"
        self.effects.replies.append(Reply(self.session, said, side_of(self.session), to_user, source=source))


class PluginStore:
    """A plugin's key-value store. Values are JSON; a name has at most 128 characters, a value 64 KiB.

    In the session scope, writes are buffered, seen by later reads of the same event and committed with its unit. What
    belongs to a person or to the bot is changed by ``add`` and ``swap`` only: each is atomic and a step of its own.
    """

    __slots__ = ("_ctx",)

    def __init__(self, ctx: CallContext) -> None:
        self._ctx = ctx

    async def get(self, name: str, default: Any = None, *, scope: Scope = "session") -> Any:
        """The value under ``name``, or ``default``."""
        if scope == "session":
            buffered = self._ctx.effects.kept.get((self._ctx.plugin, name))
            if buffered is not None:
                return default if buffered is DELETED else buffered
        value = await self._ctx.port.kept(self._ctx, scope, name)
        return default if value is None else value

    def set(self, name: str, value: Any) -> None:
        """Keep a JSON value in this session; committed with the reply.

        A value that is no JSON or too large fails that commit: its sentence is the answer, and nothing is kept.
        """
        if not name or len(name) > NAME_LIMIT:
            raise InvalidArgumentsError(f"存储名长度应为 1–{NAME_LIMIT}，实际 {len(name)}")
        if value is None:
            raise InvalidArgumentsError(f"存储值不能为空（删除请用 delete）：{name}")
        self._ctx.effects.kept[(self._ctx.plugin, name)] = value

    def delete(self, name: str) -> None:
        """Forget a name of this session; committed with the reply."""
        self._ctx.effects.kept[(self._ctx.plugin, name)] = DELETED

    async def names(self, *, scope: Scope = "session") -> list[str]:
        """Every name of this plugin in the scope, buffered ones included, sorted."""
        found = set(await self._ctx.port.kept_names(self._ctx, scope))
        if scope == "session":
            for (plugin, name), value in self._ctx.effects.kept.items():
                if plugin == self._ctx.plugin:
                    (found.discard if value is DELETED else found.add)(name)
        return sorted(found)

    async def add(self, name: str, amount: float, *, scope: Scope = "person") -> float:
        """Add ``amount`` to a number of the person or the bot (0 when unset); returns the new number."""
        self._refuse_session(scope)
        return await self._ctx.port.add(self._ctx, scope, name, amount)

    async def swap(self, name: str, old: Any, new: Any, *, scope: Scope = "person") -> bool:
        """Replace ``old`` (None = unset) by ``new`` (None = unset); False when something else is stored."""
        self._refuse_session(scope)
        return await self._ctx.port.swap(self._ctx, scope, name, old, new)

    def _refuse_session(self, scope: Scope) -> None:
        if scope == "session":
            raise CallError("本会话的数据用 get / set / delete", code="wrong_scope")
