"""Post: the one door for events of the host's own making — a plugin's background task, a refused private message.

Each plugin posts through a face of its own: its rate, its keys, its name.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
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
EARLY_PAUSE = 0.5
KEY_LIMIT = 128
REFUSED = "refused"
SESSION = re.compile(r"([A-Za-z0-9_-]{1,32}/)?(group|private):[A-Za-z0-9_-]{1,64}")

Send = Callable[[str], Awaitable[Any]]


class PluginPost:
    """What ``startup(host)`` hands to one plugin. Everything posted has level 0 and source ``plugin:<name>``."""

    def __init__(self, post: Post, plugin: str, clock: Clock) -> None:
        self._post = post
        self._clock = clock
        self._recent: deque[float] = deque()
        self.plugin = plugin

    async def post(self, session: str, text: str = "", *, prompt: str = "", key: str | None = None) -> str:
        """Say ``text`` in a session, or start an AI turn there with ``prompt``; ``key`` makes it happen once.

        Returns ``accepted``, ``duplicate`` (the key is known), or ``waiting`` (in memory until the first door opens).
        At most 20 a minute; what fails does not count. Raises CallError over that, for what is no session, text or
        key, and when no account can be told or too much waits.
        """
        _check(session, text, prompt, key)
        now = self._take()
        try:
            return await self._post.from_plugin(self.plugin, session, text, prompt, key)
        except BaseException:
            with suppress(ValueError):  # it may have grown old meanwhile
                self._recent.remove(now)
            raise

    def _take(self) -> float:
        """Counted before it is awaited: posts made at once must not pass together."""
        now = self._clock.monotonic()
        while self._recent and now - self._recent[0] >= WINDOW:
            self._recent.popleft()
        if len(self._recent) >= RATE:
            raise CallError(f"插件 {self.plugin} 的主动消息太多：每分钟最多 {RATE} 条", code="post_rate")
        self._recent.append(now)
        return now


class Post:
    """Makes internal events and hands them to the inbox; ``last_door`` says where a session was heard before."""

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
        self._faces: dict[str, PluginPost] = {}
        self._early: deque[tuple[str, Send]] = deque()
        self._leaving: asyncio.Task[None] | None = None
        self._closed = False

    def of(self, plugin: str) -> PluginPost:
        """The face of one plugin; the same one after a reload, so that its rate goes on."""
        return self._faces.setdefault(plugin, PluginPost(self, plugin, self._clock))

    async def from_plugin(self, plugin: str, session: str, text: str, prompt: str, key: str | None) -> str:
        """Post for a plugin; see PluginPost.post."""
        detail: dict[str, Any] = {"from": f"plugin:{plugin}"}
        detail |= {"prompt": prompt} if prompt else {"say": text, "source": "notice"}
        name = f"plugin:{plugin}:{key or secrets.token_hex(12)}"

        async def send(door: str) -> str:
            acceptance = await self._send(name, session, door, detail, prompt)
            if acceptance == REFUSED:
                raise CallError(f"{session} 等待处理的消息太多，没有接受这一条", code=REFUSED)
            return str(acceptance)

        door = await self._door(session)
        return await send(door) if door is not None else self._wait(session, send)

    def door_opened(self, door: str) -> None:
        """A door is open: what was posted before the first one leaves, in order."""
        if self._early and (self._leaving is None or self._leaving.done()):
            self._leaving = asyncio.create_task(self._leave(door), name="posts that waited for a door")

    def _wait(self, session: str, send: Send) -> str:
        if self._closed:
            raise CallError("程序正在停止", code="stopping")
        if len(self._early) >= EARLY_LIMIT:
            raise CallError(f"还没有账号连上，已有 {EARLY_LIMIT} 条主动消息在等待", code="no_door")
        self._early.append((session, send))
        return "waiting"

    async def _leave(self, door: str) -> None:
        while self._early:
            session, send = self._early[0]
            try:
                await send(await self._known(session) or door)
            except CallError as error:
                if error.code == REFUSED:
                    await asyncio.sleep(EARLY_PAUSE)
                    continue
                logger.error("a message posted to {} before a door was open is lost: {}", session, error)
            except Exception:
                logger.exception("a message posted to {} before a door was open is lost", session)
            if self._early:
                self._early.popleft()

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
        """Take nothing more; says in the log what waited in vain."""
        self._closed = True
        if self._leaving is not None:
            self._leaving.cancel()
        for session, _ in self._early:
            logger.error("a message posted to {} is lost: no door opened before the program stopped", session)
        self._early.clear()

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
        """Where the session was last heard, else the only door that is open; None when none is.

        An open terminal takes what belongs to an account: where there is one, no account will come.
        """
        doors = self._doors()
        known = await self._known(session)
        terminal = next((door for door in doors if door.startswith(TERMINAL)), None)
        if known in doors or (known and terminal is None):
            return known
        if terminal is None and len(doors) > 1:
            raise CallError(f"不知道从哪个账号向 {session} 发送", code="no_door")
        return terminal or (doors[0] if doors else None)

    async def _known(self, session: str) -> str | None:
        """Where the session was last heard, unless that was a terminal which is gone."""
        awake = self._session(session)
        door = awake.door if awake is not None and awake.door else await self._last_door(session)
        gone = not door or (door.startswith(TERMINAL) and door not in self._doors())
        return None if gone else door


def _check(session: object, text: object, prompt: object, key: object) -> None:
    if not (isinstance(session, str) and SESSION.fullmatch(session)):
        raise CallError(f"会话应写成 group:群号 或 private:号码，实际是 {str(session)[:64]!r}", code="wrong_session")
    if not (isinstance(text, str) and isinstance(prompt, str)) or bool(text.strip()) == bool(prompt.strip()):
        raise CallError("text 和 prompt 应恰好给一个，是不空的文字", code="wrong_post")
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= KEY_LIMIT):
        raise CallError(f"key 的长度应为 1–{KEY_LIMIT}", code="wrong_post")
