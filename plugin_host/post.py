"""Post: the one door for events of the host's own making — a plugin's background task, a refused private message.

Each plugin posts through a face of its own: its rate, its keys, its name.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from loguru import logger

from plugin_host.clock import Clock
from plugin_host.errors import CallError
from plugin_host.sessions import Session
from plugin_host.standing import TERMINAL
from plugin_host.store.outgoing import Outgoing
from plugin_host.values import Event

RATE = 20
WINDOW = 60.0
EARLY_LIMIT = 100
SESSION = re.compile(r"^([A-Za-z0-9_-]{1,32}/)?(group|private):[A-Za-z0-9_-]{1,64}$")

Send = Callable[[str], Awaitable[Any]]


class PluginPost:
    """What ``startup(host)`` hands to one plugin. Everything posted has level 0 and source ``plugin:<name>``."""

    def __init__(self, post: Post, plugin: str, clock: Clock) -> None:
        self._post = post
        self._clock = clock
        self._recent: deque[float] = deque(maxlen=RATE)
        self.plugin = plugin

    async def post(self, session: str, text: str = "", *, prompt: str = "", key: str | None = None) -> str:
        """Say ``text`` in a session, or start an AI turn there with ``prompt``; ``key`` makes it happen once.

        Returns what the inbox says (``accepted``, ``duplicate``, …), or ``waiting`` before the first door is open. At
        most 20 a minute; raises CallError over that, for a wrong session id, and when several accounts could mean the
        session and none has been heard there.
        """
        if not SESSION.match(session):
            raise CallError(f"会话应写成 group:群号 或 private:号码，实际是 {session[:64]!r}", code="wrong_session")
        now = self._clock.monotonic()
        if len(self._recent) == RATE and now - self._recent[0] < WINDOW:
            raise CallError(f"插件 {self.plugin} 的主动消息太多：每分钟最多 {RATE} 条", code="post_rate")
        acceptance = await self._post.from_plugin(self.plugin, session, text, prompt, key)
        self._recent.append(now)
        return acceptance


class Post:
    """Makes internal events and hands them to the inbox."""

    def __init__(
        self,
        receive: Callable[[Event], Awaitable[Any]],
        session: Callable[[str], Session | None],
        doors: Callable[[], tuple[str, ...]],
        clock: Clock,
        last_door: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self._receive = receive
        self._session = session
        self._doors = doors
        self._clock = clock
        self._last_door = last_door
        self._early: list[tuple[str, Send]] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def of(self, plugin: str) -> PluginPost:
        """The face of one plugin."""
        return PluginPost(self, plugin, self._clock)

    async def from_plugin(self, plugin: str, session: str, text: str, prompt: str, key: str | None) -> str:
        """Post for a plugin; raises CallError when no door can be told."""
        detail: dict[str, Any] = {"from": f"plugin:{plugin}"}
        detail |= {"prompt": prompt} if prompt else {"say": text, "source": "notice"}
        name = f"plugin:{plugin}:{key or secrets.token_hex(12)}"
        send: Send = lambda door: self._send(name, session, door, detail, prompt)  # noqa: E731 - kept for later
        door = await self._door(session)
        if door is not None:
            return str(await send(door))
        if len(self._early) >= EARLY_LIMIT:
            raise CallError("还没有账号连上，等待的主动消息已满", code="no_door")
        self._early.append((session, send))
        return "waiting"

    def door_opened(self, door: str) -> None:
        """The first door is open: what was posted before leaves through it."""
        early, self._early = self._early, []
        for session, send in early:
            task = asyncio.ensure_future(self._late(session, send, door))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _late(self, session: str, send: Send, door: str) -> None:
        try:
            await send(await self._door(session) or door)
        except CallError as error:
            logger.error("a message posted to {} before the first door was open is lost: {}", session, error)

    async def of_row(self, row: Outgoing, text: str) -> None:
        """Tell the session of a row what became of it; once per row."""
        detail = {"say": text, "source": "command"}
        await self._send(f"{row.action.key}:failed", row.session, row.action.door, detail, "")

    async def to_masters(self, masters: Iterable[str], door: str, text: str) -> None:
        """Tell every master privately, through the door where it happened."""
        for master in masters:
            detail = {"say": text, "source": "notice"}
            await self._send(f"internal:{secrets.token_hex(12)}", f"private:{master}", door, detail, "", master)

    def close(self) -> None:
        """Take nothing more."""
        self._closed = True

    async def _send(
        self, key: str, session: str, door: str, detail: dict[str, Any], prompt: str, user: str | None = None
    ) -> Any:
        if self._closed:
            raise CallError("程序正在停止", code="stopping")
        platform, _, self_id = ("terminal", "", "") if door.startswith(TERMINAL) else door.partition(":")
        event = Event(
            key=key,
            kind="internal",
            session=session,
            platform=platform,
            self_id=self_id,
            user_id=user,
            text=prompt,
            time=self._clock.now(),
            addressed=bool(prompt),
            door=door,
            detail=detail,
        )
        return await self._receive(event)

    async def _door(self, session: str) -> str | None:
        """Where the session was last heard, else the only door that is open; None when none is."""
        awake = self._session(session)
        known = awake.door if awake is not None and awake.door else await self._last_door(session)
        doors = self._doors()
        if known and (known in doors or not known.startswith(TERMINAL)):
            return known
        if len(doors) > 1:
            raise CallError(f"不知道从哪个账号向 {session} 发送", code="no_door")
        return doors[0] if doors else None
