"""Accounts: which live links lead to which bot account, and what is known of it while none does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Literal

from loguru import logger

from bridge.envelope import Envelope
from bridge.link import Link
from bridge.onebot import PLATFORM
from bridge.recent import RecentKeys
from bridge.wire import Wire

Role = Literal["universal", "api", "event"]
Direction = Literal["forward", "reverse"]

MESSAGES_REMEMBERED = 4096
DUPLICATE_MESSAGE_SECONDS = 60.0
DUPLICATE_NOTICE_SECONDS = 3.0
SHORTEST_SILENCE = 1.0
HEARTBEATS_MISSED = 3


class Upstream(Link):
    """A link to a protocol end. ``account`` is None until the end has said who it is."""

    def __init__(self, wire: Wire, name: str, *, direction: Direction, role: Role = "universal") -> None:
        super().__init__(wire, name)
        self.direction: Direction = direction
        self.role: Role = role
        self.account: Account | None = None
        self.healthy = False
        self.refused = False
        self._watch: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def takes_calls(self) -> bool:
        """True when actions may be sent over it."""
        return self.role != "event" and self.is_open and not self.refused

    def note_heartbeat(self, interval: float) -> None:
        """A heartbeat came, the next one is promised in ``interval`` seconds: a long silence now ends the link."""
        self._stop_watch()
        limit = max(interval * HEARTBEATS_MISSED, SHORTEST_SILENCE)
        self._watch = asyncio.get_running_loop().call_later(limit, self._fall_silent)

    def retire(self) -> None:
        """The link is over."""
        self._stop_watch()

    def _stop_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def _fall_silent(self) -> None:
        logger.warning("{}: heartbeats stopped, closing the link", self.name)
        self._ending = asyncio.create_task(self.close(1001, "no heartbeat"))


class Account:
    """One bot account with its links, oldest first; at most the first healthy one is given actions."""

    def __init__(self, self_id: str) -> None:
        self.self_id = self_id
        self.links: list[Upstream] = []
        self.online = True
        self.seen = False
        self.login: bytes | None = None
        self.version: bytes | None = None
        self.own_messages = RecentKeys(MESSAGES_REMEMBERED)
        self._messages = RecentKeys(MESSAGES_REMEMBERED, DUPLICATE_MESSAGE_SECONDS)
        self._notices = RecentKeys(MESSAGES_REMEMBERED, DUPLICATE_NOTICE_SECONDS)

    @property
    def door(self) -> str:
        """The name that events of this account and replies to it carry."""
        return f"{PLATFORM}:{self.self_id}"

    def actor(self) -> Upstream | None:
        """The link that takes actions now."""
        return next((link for link in self.links if link.takes_calls), None)

    def twins(self, link: Upstream) -> list[Upstream]:
        """Other links of the same direction and role: a restarted peer, or a peer connected twice."""
        same = (link.direction, link.role)
        return [other for other in self.links if other is not link and (other.direction, other.role) == same]

    def is_new(self, frame: bytes, envelope: Envelope) -> bool:
        """False for an event that came already, over this link or another one of the account."""
        if envelope.message_id is not None and envelope.post_type in ("message", "message_sent"):
            return self._messages.add((str(envelope.message_id), str(envelope.time)))
        return self._notices.add(hash(frame))


class Accounts:
    """All accounts seen since the start, or named by cores, in the order of their first appearance."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}

    def __iter__(self) -> Iterator[Account]:
        return iter(self._accounts.values())

    def get(self, self_id: str) -> Account | None:
        """The account, None when it was neither seen nor named."""
        return self._accounts.get(self_id)

    def first(self) -> Account | None:
        """The account that a protocol end showed first, None before any."""
        return next((account for account in self._accounts.values() if account.seen), None)

    def named(self, self_id: str) -> Account:
        """The account, made when it is new."""
        return self._accounts.setdefault(self_id, Account(self_id))
