"""The life of links: who is connected for which account, from the first frame to the last."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from loguru import logger

from bridge.account import Account, Upstream
from bridge.core import Core
from bridge.crew import Crew
from bridge.envelope import open_envelope
from bridge.host import AccountChannel, EventFeed, OnLate
from bridge.introduction import ask_login, ask_version
from bridge.onebot import identifier
from bridge.relay import Relay
from bridge.timing import Timing
from plugin_host.values import Channel, Event


@dataclass(frozen=True, slots=True)
class HostDoors:
    """What the host wants to be told, and the names under which its bot is called; all None: no host."""

    on_event: Callable[[Event], Awaitable[None]] | None = None
    on_channel: Callable[[Channel], None] | None = None
    on_channel_lost: Callable[[str], None] | None = None
    on_late: OnLate | None = None
    names: tuple[str, ...] = ()


class Hub:
    """Runs links, binds them to accounts and tells the host which accounts can be used."""

    def __init__(self, relay: Relay, crew: Crew, timing: Timing, host: HostDoors) -> None:
        self.relay = relay
        self.upstreams: list[Upstream] = []
        self._crew = crew
        self._timing = timing
        self._host = host
        self._channels: dict[str, AccountChannel] = {}

    async def serve_upstream(self, link: Upstream, self_id: str | None) -> None:
        """Run a link to a protocol end until it is over; without ``self_id`` its first event or answer tells it."""
        feed = EventFeed(self._host.on_event, self._host.names, self.relay.counts)
        self._crew.start(feed.run(), f"feed {link.name}")
        self.upstreams.append(link)
        logger.info("{}: connected", link.name)
        try:
            if self_id:
                self._bind(link, self_id)
            if link.takes_calls:
                self._crew.start(self._learn(link), f"introduction {link.name}")
            await link.run(partial(self._receive, link, feed))
        finally:
            self._retire(link, feed)

    async def serve_core(self, core: Core, self_id: str) -> None:
        """Run a core's link until it is over; ``self_id`` "" leaves the choice to the first account seen."""
        accounts = self.relay.accounts
        account = accounts.named(self_id) if self_id else accounts.first()
        self.relay.cores.append(core)
        logger.info("{}: connected", core.name)
        if account is not None:
            core.greet(account)
        beat = asyncio.create_task(core.beat())
        try:
            await core.run(partial(self.relay.from_core, core))
        finally:
            beat.cancel()
            self.relay.cores = [other for other in self.relay.cores if other is not core]
            logger.info("{}: closed ({})", core.name, core.wire.close_code)

    def _receive(self, link: Upstream, feed: EventFeed, frame: bytes) -> None:
        if link.account is None:
            envelope = open_envelope(frame)
            if envelope is not None and envelope.is_event and (self_id := identifier(envelope.self_id)):
                self._bind(link, self_id)
        self.relay.from_upstream(link, feed, frame)

    async def _learn(self, link: Upstream) -> None:
        login = await ask_login(self.relay.pending, link, self._timing.hold)
        if login is None:
            return
        if link.account is None:
            self._bind(link, login.self_id)
        if link.account is not None:
            link.account.login = login.data
            link.account.version = await ask_version(self.relay.pending, link, self._timing.hold)

    def _bind(self, link: Upstream, self_id: str) -> None:
        account = self.relay.accounts.named(self_id)
        account.seen = True
        if not account.links:
            account.online = True
        link.account = account
        for twin in account.twins(link):
            self._crew.start(self._challenge(twin), f"challenge {twin.name}")
        account.links.append(link)
        for core in self.relay.cores:
            if core.account is None:
                core.greet(account)
        self._publish(account)

    async def _challenge(self, older: Upstream) -> None:
        """A second link of the same kind came: the older one must be alive to stay the one that acts."""
        if await older.wire.ping(self._timing.challenge):
            logger.warning("{}: the same account is connected twice; the newer link stands by", older.name)
        else:
            await older.close(1000, "replaced")

    def _retire(self, link: Upstream, feed: EventFeed) -> None:
        link.retire()
        feed.close()
        self.upstreams = [other for other in self.upstreams if other is not link]
        if link.account is not None:
            link.account.links = [other for other in link.account.links if other is not link]
            self._publish(link.account)
        self.relay.pending.lose(link)
        logger.info("{}: closed ({})", link.name, link.wire.close_code)

    def _publish(self, account: Account) -> None:
        """Tell the host when an account became usable, or ceased to be."""
        usable, known = account.actor() is not None, account.door in self._channels
        if usable and not known:
            channel = AccountChannel(account, self.relay.pending, self._timing.linger, self._host.on_late)
            self._channels[account.door] = channel
            if self._host.on_channel is not None:
                self._host.on_channel(channel)
        elif known and not usable:
            del self._channels[account.door]
            if self._host.on_channel_lost is not None:
                self._host.on_channel_lost(account.door)
