"""The bridge as one object: start, stop, what the host calls, and its state for people."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from loguru import logger

from bridge.access import is_loopback, open_endpoints
from bridge.account import Account
from bridge.crew import Crew
from bridge.dial import Dial
from bridge.environment import with_environment
from bridge.health import describe
from bridge.host import HostCall, place_call
from bridge.hub import HostDoors, Hub
from bridge.relay import Relay
from bridge.server import Server
from bridge.timing import Timing
from plugin_host.config.bridge import BridgeSettings
from plugin_host.config.settings import BotSettings
from plugin_host.errors import ActionFailedError, BridgeError, ConfigError, OutcomeUnknownError, Problem
from plugin_host.values import Channel, Event, Outcome

STOP_LIMIT = 1.0


class Bridge:
    """Relays between protocol ends and cores; the host attaches in process through the callbacks.

    ``on_event`` is awaited once per event, in order per link, apart from the relay. ``on_channel`` is called when an
    account can be used for actions, ``on_channel_lost(door)`` when no link of it is left. ``on_late(key, outcome)``
    tells the outcome of an action whose ``Channel.send`` had given up waiting.
    """

    def __init__(
        self,
        settings: BridgeSettings,
        bot: BotSettings,
        *,
        on_event: Callable[[Event], Awaitable[None]] | None = None,
        on_channel: Callable[[Channel], None] | None = None,
        on_channel_lost: Callable[[str], None] | None = None,
        on_late: Callable[[str, Outcome], None] | None = None,
        timing: Timing | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = with_environment(settings, os.environ if environ is None else environ)
        self._timing = timing or Timing()
        self._crew = Crew()
        doors = HostDoors(on_event, on_channel, on_channel_lost, on_late, bot.names)
        self._relay = Relay(self._settings, self._timing)
        self._hub = Hub(self._relay, self._crew, self._timing, doors)
        self._server = Server(self._settings, self._hub, self._timing, self.health)
        self._dials = tuple(Dial(end, self._hub, self._timing) for end in self._settings.protocol)

    @property
    def port(self) -> int:
        """The port that is listened on; 0 before the start."""
        return self._server.port

    async def start(self) -> None:
        """Listen and begin to dial. Raises ConfigError for an open address without token, OSError for a taken one."""
        _refuse_open_address(self._settings)
        await self._server.start()
        logger.info("bridge listens on port {}", self.port)
        for dial in self._dials:
            self._crew.start(dial.run(), f"dial {dial.name}")

    async def stop(self) -> None:
        """Close every link and the server; takes less than three seconds."""
        links = [*self._hub.upstreams, *self._relay.cores]
        closing = [asyncio.create_task(link.close(1001, "going away")) for link in links]
        if closing:
            await asyncio.wait(closing, timeout=STOP_LIMIT)
        await self._crew.stop(STOP_LIMIT / 2)
        await self._server.stop()

    async def call(self, self_id: str, action: str, params: Mapping[str, Any]) -> Any:
        """Return the action's ``data``; raises ActionFailedError, OutcomeUnknownError or BridgeError.

        ``self_id`` "" means the account seen first.
        """
        account = self._account(self_id)
        call = HostCall(account, action)
        timeout = self._relay.limit(action)
        outcome = await place_call(self._relay.pending, account, action, params, call, timeout)
        if outcome.status == "sent":
            return outcome.data
        if outcome.status == "unknown":
            raise OutcomeUnknownError(f"{action}: {outcome.error}")
        if outcome.retcode == 0:
            raise BridgeError(f"{action}: {outcome.error}")
        raise ActionFailedError(action, outcome.retcode, outcome.error)

    def health(self) -> dict[str, Any]:
        """The state of every link, dial, account and counter; holds no secret."""
        return describe(self._hub, self._relay, self._dials)

    def _account(self, self_id: str) -> Account:
        accounts = self._relay.accounts
        account = accounts.get(self_id) if self_id else accounts.first()
        if account is None:
            raise BridgeError(f"没有连接账号 {self_id}".rstrip())
        return account


def _refuse_open_address(settings: BridgeSettings) -> None:
    host = settings.listen.rpartition(":")[0]
    if settings.allow_open or is_loopback(host):
        return
    message = f"监听 {settings.listen} 时本机以外也能连进来，必须设置口令；确实要敞开时写 allow_open: true"
    problems = tuple(Problem(path, message) for path in open_endpoints(settings))
    if problems:
        raise ConfigError("config.yaml", problems)
