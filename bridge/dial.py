"""Dialling one protocol end: one attempt at a time, for ever, with a growing pause."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from loguru import logger
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

from bridge.access import is_loopback
from bridge.account import Upstream
from bridge.backoff import Backoff
from bridge.hub import Hub
from bridge.server import FRAME_LIMIT
from bridge.timing import Timing
from bridge.wire import CLOSE_LIMIT, DialledWire
from plugin_host.config.bridge import ProtocolEnd

REFUSED_STATUS = frozenset({401, 403})
POLICY_VIOLATION = 1008
NORMAL = 1000
TOKEN_WORDS = "协议端拒绝了令牌（token）：请核对 bridge.protocol 里这一项的 token"


@dataclass(frozen=True, slots=True)
class Ending:
    """How one attempt ended: whether the link was healthy, whether the token was refused, and why in words."""

    healthy: bool = False
    refused: bool = False
    message: str = ""


class Dial:
    """One target. ``dials`` counts attempts; ``state`` is connecting, connected, waiting or refused."""

    def __init__(self, end: ProtocolEnd, hub: Hub, timing: Timing) -> None:
        self.name = _shown(end.url)
        self.dials = 0
        self.state = "connecting"
        self.message = ""
        self._end = end
        self._hub = hub
        self._timing = timing
        self._backoff = Backoff(timing.first_delay, timing.longest_delay)

    async def run(self) -> None:
        """Dial, serve, wait, and again, until cancelled."""
        while True:
            ending = await self._attempt()
            if ending.healthy:
                self._backoff.reset()
            pause = self._backoff.refused() if ending.refused else self._backoff.next()
            self.state = "refused" if ending.refused else "waiting"
            if ending.message != self.message:
                logger.warning("{}: {}; next dial in {:.1f} s", self.name, ending.message, pause)
            self.message = ending.message
            await asyncio.sleep(pause)

    async def _attempt(self) -> Ending:
        self.dials += 1
        self.state = "connecting"
        try:
            async with self._connection() as socket:
                return await self._serve(DialledWire(socket))
        except InvalidStatus as error:
            status = error.response.status_code
            if status in REFUSED_STATUS:
                return Ending(refused=True, message=TOKEN_WORDS)
            return Ending(message=f"协议端以 HTTP {status} 拒绝连接：请核对地址和路径")
        except (OSError, InvalidHandshake, InvalidURI) as error:
            return Ending(message=f"连不上协议端：{type(error).__name__} {error}".rstrip())
        except Exception as error:
            logger.exception("{}: the link failed", self.name)
            return Ending(message=f"连接出错：{type(error).__name__}")

    def _connection(self) -> connect:
        url, headers = with_token(self._end.url, self._end.token.get_secret_value())
        host = urlsplit(url).hostname or ""
        return connect(
            url,
            additional_headers=headers,
            compression=None,
            proxy=None if is_loopback(host) else True,
            open_timeout=self._timing.handshake,
            ping_interval=self._timing.ping_every,
            ping_timeout=self._timing.ping_every,
            close_timeout=CLOSE_LIMIT,
            max_size=FRAME_LIMIT,
        )

    async def _serve(self, wire: DialledWire) -> Ending:
        link = Upstream(wire, f"forward {self.name} #{self.dials}", direction="forward")
        began = time.monotonic()
        self.state = "connected"
        self.message = ""
        await self._hub.serve_upstream(link, None)
        if _is_refusal(link):
            return Ending(refused=True, message=TOKEN_WORDS)
        healthy = link.healthy or time.monotonic() - began >= self._timing.healthy_after
        return Ending(healthy=healthy, message=f"连接断开（{wire.close_code}）")


def with_token(url: str, token: str) -> tuple[str, dict[str, str]]:
    """Address and headers that carry the token: in the header, or in the query when a header cannot hold it."""
    if not token:
        return url, {}
    if token.isascii() and token.isprintable():
        return url, {"Authorization": f"Bearer {token}"}
    joint = "&" if urlsplit(url).query else "?"
    return f"{url}{joint}access_token={quote(token, safe='')}", {}


def _is_refusal(link: Upstream) -> bool:
    """Ends that accept first and refuse then: retcode 1403, close 1008, or a polite close without a single frame."""
    if link.refused or link.wire.close_code == POLICY_VIOLATION:
        return True
    return link.wire.close_code == NORMAL and link.received == 0


def _shown(url: str) -> str:
    """The address without user, password and query, any of which may hold a token."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
