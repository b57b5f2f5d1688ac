"""Post: the one door for events of the host's own making — a plugin's background task, a refused private message."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from plugin_host.clock import Clock
from plugin_host.errors import CallError
from plugin_host.sessions import Session
from plugin_host.standing import TERMINAL
from plugin_host.store.outgoing import Outgoing
from plugin_host.values import Event

RATE = 20
WINDOW = 60.0


class Post:
    """What ``startup(host)`` hands to plugins. Everything posted has level 0 and source ``plugin:<name>``."""

    def __init__(
        self,
        receive: Callable[[Event], Awaitable[Any]],
        session: Callable[[str], Session | None],
        doors: Callable[[], tuple[str, ...]],
        clock: Clock,
    ) -> None:
        self._receive = receive
        self._session = session
        self._doors = doors
        self._clock = clock
        self._recent: deque[float] = deque(maxlen=RATE)
        self._closed = False

    async def post(self, session: str, text: str = "", *, prompt: str = "", key: str | None = None) -> Any:
        """Say ``text`` in a session, or start an AI turn there with ``prompt``; ``key`` makes it happen once.

        At most 20 a minute; raises CallError over that, and when no door leads to the session.
        """
        now = self._clock.monotonic()
        if len(self._recent) == RATE and now - self._recent[0] < WINDOW:
            raise CallError(f"主动消息太多：每分钟最多 {RATE} 条", code="post_rate")
        self._recent.append(now)
        door = self._door(session)
        detail = {"prompt": prompt} if prompt else {"say": text, "source": "notice"}
        return await self._send(key or f"internal:{secrets.token_hex(12)}", session, door, detail, prompt)

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

    def _door(self, session: str) -> str:
        awake = self._session(session)
        if awake is not None and awake.door:
            return awake.door
        doors = self._doors()
        if len(doors) != 1:
            raise CallError(f"不知道从哪个账号向 {session} 发送", code="no_door")
        return doors[0]
