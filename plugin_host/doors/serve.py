"""Serve: ``plugin-host run`` — host and bridge in one process, until a signal; the config file is watched."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loguru import logger

from plugin_host.config import Settings, load_config
from plugin_host.errors import BridgeError, ConfigError
from plugin_host.home import Home
from plugin_host.host import Host
from plugin_host.models import build_chain
from plugin_host.values import Event

STOP_LIMIT = 4.0


async def serve(home: Home, settings: Settings, bridge: Callable[..., Any], config: Path) -> None:
    """Run until SIGINT or SIGTERM. ``bridge`` makes the bridge; raises what its start raises."""
    stop = asyncio.Event()
    _on_signals(stop)
    doors = _Doors()
    link = bridge(
        settings.bridge,
        settings.bot,
        on_event=doors.event,
        on_channel=doors.opened,
        on_channel_lost=doors.lost,
        on_late=doors.late,
    )
    host = Host(home, settings, models=build_chain(settings.models), core=link)
    doors.host = host
    await host.start(reloads=True)
    try:
        await _listen(link, settings.bridge.listen)
        if host.models is not None:
            host.spawn(host.models.warm(), "warm models")
        host.spawn(_watch_config(host, config), "config watch")
        logger.info("plugin_host is ready on port {}", link.port)
        await stop.wait()
        logger.info("stopping")
    finally:
        async with asyncio.timeout(STOP_LIMIT):
            await link.stop()
            await host.stop()


async def _listen(link: Any, address: str) -> None:
    try:
        await link.start()
    except OSError as error:
        advice = "可能端口被占用：改 bridge.listen，或停止占用它的程序"
        raise BridgeError(f"桥接无法监听 {address}（{error.strerror or error}）。{advice}") from error


class _Doors:
    """The bridge's callbacks; the bridge is made before the host that they lead to."""

    def __init__(self) -> None:
        self.host: Host | None = None

    async def event(self, event: Event) -> None:
        if self.host is not None:
            await self.host.receive(event)

    def opened(self, channel: Any) -> None:
        if self.host is not None:
            self.host.open_door(channel)

    def lost(self, door: str) -> None:
        if self.host is not None:
            self.host.shut_door(door)

    def late(self, key: str, outcome: Any) -> None:
        if self.host is not None:
            self.host.sender.late(key, outcome)


def _on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(name, stop.set)
        except NotImplementedError:  # Windows: Ctrl-C then arrives as KeyboardInterrupt
            signal.signal(name, lambda *_: loop.call_soon_threadsafe(stop.set))


async def _watch_config(host: Host, file: Path) -> None:
    """Put a saved config in force where that is safe; a broken one changes nothing and says why."""
    # Imported here: watching needs a compiled library that no other command loads.
    from watchfiles import awatch

    async for changes in awatch(file.parent, recursive=False):
        if any(Path(changed).name == file.name for _, changed in changes):
            _apply_config(host, file)


def _apply_config(host: Host, file: Path) -> None:
    try:
        late = host.control.change(load_config(file))
    except ConfigError as error:
        logger.error("config.yaml is not applied: {}", error)
        return
    if late:
        logger.warning("config.yaml applied; restart for: {}", ", ".join(late))
    else:
        logger.info("config.yaml applied")
