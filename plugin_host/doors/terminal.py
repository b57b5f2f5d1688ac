"""Terminal: a terminal as a chat — the door of ``chat`` and ``say``."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plugin_host.clock import Clock
from plugin_host.errors import HostError
from plugin_host.host import Host
from plugin_host.post import SESSION
from plugin_host.standing import TERMINAL
from plugin_host.values import Action, Event, Outcome, Role, Segment, Sender, side_of
from plugin_host.watch.daemon import run_in_daemon

SAY_LIMIT = 120.0
USER = re.compile(r"[A-Za-z0-9_-]{1,64}")
WELCOME = "plugin_host 终端聊天。试试：.r 3d6+2 、 .ai tool 、 .jrrp 、 帮我掷 3d6 （Ctrl-D 退出）"


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who types, and where."""

    session: str
    user_id: str
    role: Role
    name: str = "我"

    def __post_init__(self) -> None:
        """Raises HostError when session or user cannot be meant."""
        if not SESSION.fullmatch(self.session):
            raise HostError(f"--session 应写成 group:群号 或 private:号码，实际是 {self.session[:64]!r}")
        if not USER.fullmatch(self.user_id):
            raise HostError(f"--user 应为号码（字母、数字、_、-，1 到 64 个），实际是 {self.user_id[:64]!r}")


class Terminal:
    """The way out to a terminal: each action is written as a line, or as one JSON object."""

    def __init__(self, write: Callable[[str], None], *, as_json: bool = False) -> None:
        self.door = f"{TERMINAL}{secrets.token_hex(8)}"
        self._write = write
        self._as_json = as_json
        self._count = 0

    async def send(self, action: Action, timeout: float) -> Outcome:
        """Write one action; a terminal never refuses."""
        self._count += 1
        shown = as_reply(action)
        self._write(json.dumps(shown, ensure_ascii=False) if self._as_json else in_words(shown))
        return Outcome("sent", message_id=str(self._count))

    def event(self, speaker: Speaker, text: str, clock: Clock) -> Event:
        """A typed line as an event; it always counts as addressed to the bot."""
        return Event(
            key=f"{self.door}:{secrets.token_hex(8)}",
            kind="message",
            session=speaker.session,
            platform="QQ",
            self_id="",
            user_id=speaker.user_id,
            sender=Sender(name=speaker.name, role=speaker.role),
            segments=(Segment.text(text),),
            text=text,
            time=clock.now(),
            addressed=True,
            door=self.door,
        )


def as_reply(action: Action) -> dict[str, Any]:
    """An action as the object that ``say --json`` prints."""
    segments = list(action.params.get("message", []))
    text = "".join(s["data"].get("text", "") if s["type"] == "text" else f"[{s['type']}]" for s in segments)
    private = action.action == "send_private_msg"
    return {
        "session": action.session,
        "to": "private" if private else "group",
        "user_id": action.params.get("user_id"),
        "text": text,
        "segments": segments,
        "hidden": action.hidden,
        "source": action.source,
    }


def in_words(shown: dict[str, Any]) -> str:
    """A reply as a person reads it; one that leaves the group privately says so."""
    whispered = shown["to"] == "private" and side_of(shown["session"]) == "group"
    return f"[私聊 → {shown['user_id']}] {shown['text']}" if whispered else str(shown["text"])


def refuse_empty(texts: Sequence[str]) -> None:
    """Raises HostError when one of the messages says nothing."""
    if any(not text.strip() for text in texts):
        raise HostError("有一条消息是空的；每个参数应是一条消息")


async def say(host: Host, terminal: Terminal, speaker: Speaker, texts: Sequence[str]) -> None:
    """Hand in each text when the one before is done and its replies are printed; at most 120 s in all.

    Raises HostError when that is not enough.
    """
    refuse_empty(texts)
    host.open_door(terminal)
    try:
        async with asyncio.timeout(SAY_LIMIT):
            for text in texts:
                await host.receive(terminal.event(speaker, text, host.clock))
                await host.quiet()
    except TimeoutError:
        raise HostError(f"{SAY_LIMIT:g} 秒内没有处理完，已停止等待。") from None


async def chat(host: Host, terminal: Terminal, speaker: Speaker) -> None:
    """Read lines until the end of input; replies appear as they come."""
    host.open_door(terminal)
    while (line := await run_in_daemon(_read, limit=None, name="terminal input")) is not None:
        if line.strip():
            await host.receive(terminal.event(speaker, line, host.clock))
            if not sys.stdin.isatty():
                await host.quiet()
    await host.quiet()


def _read() -> str | None:
    try:
        return input("> " if sys.stdin.isatty() else "")
    except EOFError:
        return None
