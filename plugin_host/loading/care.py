"""PluginCare: the plugins of a running host — loaded, switched, reloaded, and watched for what they cost it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from loguru import logger

from plugin_host.config.settings import PluginSettings
from plugin_host.control import Control
from plugin_host.hooks import Hooks
from plugin_host.loading.desk import PluginDesk
from plugin_host.loading.lifecycle import PluginLife
from plugin_host.loading.loader import Loader
from plugin_host.loading.reload import Reloader
from plugin_host.loading.reports import PluginReport
from plugin_host.registry import Contribution, Registry
from plugin_host.runner.strikes import Strikes
from plugin_host.store import Database, Tx
from plugin_host.store.kept import get_kept, set_kept
from plugin_host.watch.loopwatch import LoopWatch
from plugin_host.watch.watchdog import Watchdog

SWITCHES_KEY = ("host", "bot", "bot", "plugins.switches")
Spawn = Callable[[Coroutine[Any, Any, Any], str], None]


class PluginCare:
    """Owns the loader, the hooks and everything else about plugins; ``open`` and ``close`` bracket their life."""

    def __init__(
        self,
        registry: Registry,
        database: Database,
        control: Control,
        settings: PluginSettings,
        home: Path,
        spawn: Spawn,
    ) -> None:
        self._database = database
        self._control = control
        self._spawn = spawn
        self._life: PluginLife | None = None
        self.strikes = Strikes()
        self.loader = Loader(registry, settings, home)
        self.hooks = Hooks(self.loader)
        self._loopwatch = LoopWatch(self.loader.owner_of, self._loop_held)

    def load(self, handed: Any) -> PluginDesk:
        """Load every plugin that is not switched off; ``handed`` is what their ``startup(host)`` gets."""
        for name, on in (self._database.read_now(lambda tx: get_kept(tx, *SWITCHES_KEY)) or {}).items():
            (self.loader.disabled.discard if on else self.loader.disabled.add)(name)
        self._life = PluginLife(self.loader, self.hooks, handed, self._changed, self._migrate)
        self.loader.load_all()
        return PluginDesk(self._life, self._save_switch)

    async def open(self, watchdog: Watchdog, *, reloads: bool) -> None:
        """Start the plugins, and watch the event loop and (with ``reloads``) the plugin folder."""
        assert self._life is not None
        watchdog.add(self._loopwatch.check)
        self._loopwatch.start()
        await self._life.start()
        if reloads:
            self._spawn(Reloader(self._life).run(), "plugin reload")

    async def close(self) -> None:
        """Shut the plugins down."""
        if self._life is not None:
            await self._life.stop()

    def end_watch(self) -> None:
        """Stop watching the event loop, as the last thing before it ends."""
        self._loopwatch.stop()

    async def _migrate(self, plugin: Contribution) -> None:
        await self._database.migrate(plugin.source.id, plugin.tables, plugin.migrations)

    async def _save_switch(self, name: str, on: bool) -> None:
        def work(tx: Tx) -> None:
            set_kept(tx, *SWITCHES_KEY, {**(get_kept(tx, *SWITCHES_KEY) or {}), name: on})

        await self._database.unit(work, owner="host")

    def _changed(self, report: PluginReport) -> None:
        self.strikes.clear(report.name)
        self._control.publish("plugin", report)

    def _loop_held(self, plugin: str, file: str, line: int) -> None:
        """Called by the watchdog's thread."""
        loop: asyncio.AbstractEventLoop | None = self._loopwatch.loop
        if self.strikes.interrupted(plugin) and loop is not None:
            loop.call_soon_threadsafe(self._switch_off, plugin)

    def _switch_off(self, plugin: str) -> None:
        logger.error("plugin {} held the event loop three times and is switched off", plugin)
        assert self._life is not None
        self._spawn(self._life.switch(plugin, False), f"switch off {plugin}")
