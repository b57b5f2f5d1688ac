"""A running bridge for tests: port 0, short periods, nothing from the environment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from bridge.bridge import Bridge
from bridge.timing import Timing
from plugin_host.config.bridge import BridgeSettings
from plugin_host.config.settings import BotSettings
from tests.bridge.rig import FAST, HostSide, Rig


@pytest.fixture
async def rig() -> AsyncIterator[Callable[..., Any]]:
    """``async with rig(settings...) as r`` runs a bridge."""

    @asynccontextmanager
    async def start(
        timing: Timing = FAST, names: tuple[str, ...] = (), environ: dict[str, str] | None = None, **settings: Any
    ) -> AsyncIterator[Rig]:
        host = HostSide()
        bridge = Bridge(
            BridgeSettings.model_validate({"listen": "127.0.0.1:0", **settings}),
            BotSettings(names=names),
            on_event=host.on_event,
            on_channel=host.on_channel,
            on_channel_lost=host.on_channel_lost,
            on_late=host.on_late,
            timing=timing,
            environ=environ or {},
        )
        async with AsyncExitStack() as stack:
            await bridge.start()
            try:
                yield Rig(bridge, host, stack)
            finally:
                await bridge.stop()

    return start
