"""The one HTTP server: handshakes of protocol ends and cores, and /healthz."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from aiohttp import web

from bridge.access import Refusal, core_entry, origin_refusal, presented_tokens, refusal
from bridge.account import Role, Upstream
from bridge.core import Core
from bridge.hub import Hub
from bridge.timing import Timing
from bridge.wire import CLOSE_LIMIT, AcceptedWire
from plugin_host.config.bridge import BridgeSettings

Health = Callable[[], dict[str, Any]]
FRAME_LIMIT = 64 * 1024 * 1024
ROLES: dict[str, Role] = {"universal": "universal", "api": "api", "event": "event"}


class Server:
    """Listens on one address; ``port`` is the real one once started (also when port 0 was asked for)."""

    def __init__(
        self, settings: BridgeSettings, hub: Hub, timing: Timing, health: Callable[[], dict[str, Any]]
    ) -> None:
        self.port = 0
        self._settings = settings
        self._hub = hub
        self._timing = timing
        self._health = health
        self._numbers = itertools.count(1)
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Begin to listen; raises OSError when the address is taken."""
        host, _, port = self._settings.listen.rpartition(":")
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=CLOSE_LIMIT / 2)
        await runner.setup()
        self._runner = runner
        await web.TCPSite(runner, host.strip("[]"), int(port)).start()
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening and wait shortly for open handlers."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _application(self) -> web.Application:
        application = web.Application()
        for path in ("/core", "/core/", "/core/ws", "/core/{self_id:[0-9]+}"):
            application.router.add_get(path, self._core)
        application.router.add_get("/core/{role:api|event}", self._core)
        for path in ("/ob11", "/ob11/", "/ob11/ws"):
            application.router.add_get(path, self._upstream)
        application.router.add_get("/healthz", self._healthz)
        return application

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response(self._health())

    async def _core(self, request: web.Request) -> web.StreamResponse:
        found = core_entry(self._settings, presented_tokens(request.headers, request.query), request.query.get("core"))
        if (refused := origin_refusal(request, self._settings.origins)) is not None:
            return _refuse(refused)
        if isinstance(found, Refusal):
            return _refuse(found)
        role = ROLES[request.match_info.get("role", "universal")]
        wire = await self._accept(request)
        core = Core(wire, f"core {found.name} #{next(self._numbers)}", found, role, self._timing)
        try:
            await self._hub.serve_core(core, request.match_info.get("self_id") or found.self_id)
        finally:
            await core.close()
        return wire.socket

    async def _upstream(self, request: web.Request) -> web.StreamResponse:
        expected = self._settings.tokens.ob11.get_secret_value()
        refused = origin_refusal(request, self._settings.origins)
        refused = refused or refusal(expected, presented_tokens(request.headers, request.query))
        if refused is not None:
            return _refuse(refused)
        role = ROLES.get(request.headers.get("X-Client-Role", "").strip().lower(), "universal")
        self_id = request.headers.get("X-Self-ID", "").strip()
        wire = await self._accept(request)
        link = Upstream(wire, f"reverse {self_id or '?'} #{next(self._numbers)}", direction="reverse", role=role)
        try:
            await self._hub.serve_upstream(link, self_id if self_id.isdigit() else None)
        finally:
            await link.close()
        return wire.socket

    async def _accept(self, request: web.Request) -> AcceptedWire:
        socket = web.WebSocketResponse(
            timeout=CLOSE_LIMIT,
            autoping=False,  # pongs are ours to see: an older link of an account is challenged by a ping
            heartbeat=self._timing.ping_every,
            compress=False,
            max_msg_size=FRAME_LIMIT,
        )
        await socket.prepare(request)
        return AcceptedWire(socket, request)


def _refuse(refused: Refusal) -> web.Response:
    return web.Response(status=refused.status, text=refused.reason)
