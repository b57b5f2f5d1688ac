"""PluginLife: starts, stops and changes plugins while the host runs; one change at a time, imports off the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from loguru import logger

from plugin_host.hooks import HookFailure, Hooks, Implementation
from plugin_host.loading.candidate import Candidate
from plugin_host.loading.importing import PluginFile
from plugin_host.loading.loader import Loader, Settlement
from plugin_host.loading.reports import PluginReport, failed
from plugin_host.registry import Contribution
from plugin_host.watch.daemon import run_in_daemon


@runtime_checkable
class Faces(Protocol):
    """A host that shows each plugin a face of its own."""

    def of(self, plugin: str) -> Any:
        """The face of one plugin."""
        ...


class PluginLife:
    """The plugins of a running host.

    ``host`` is what ``startup`` and ``shutdown`` are handed; ``on_change`` hears of each report that a change brings.
    A new version counts as soon as it is installed; then the old one is shut down and the new one started. When that
    start fails, the old version is put back and started again. ``migrate`` brings the tables of a plugin up to date
    before its start; when that raises, the start has failed.
    """

    def __init__(
        self,
        loader: Loader,
        hooks: Hooks,
        host: Any,
        on_change: Callable[[PluginReport], None] | None = None,
        migrate: Callable[[Contribution], Awaitable[None]] | None = None,
    ) -> None:
        self.loader = loader
        self._hooks = hooks
        self._host = host
        self._on_change = on_change
        self._migrate = migrate
        self._lock = asyncio.Lock()
        self._started = False

    async def start(self) -> list[PluginReport]:
        """Start all loaded plugins; one whose start fails is dropped. Returns the reports of those."""
        async with self._lock:
            self._started = True
            reports: list[PluginReport] = []
            for candidate in self.loader.running.values():
                reports.extend(await self._start(candidate, None))
            return self._told(reports)

    async def stop(self) -> None:
        """Shut all plugins down, in reverse load order."""
        async with self._lock:
            self._started = False
            for candidate in reversed(self.loader.running.values()):
                await self._hooks.shutdown(self._face(candidate), _those(candidate, "shutdown"))

    async def load(self, name: str) -> list[PluginReport]:
        """Load or reload a plugin; a broken version leaves the running one. Raises PluginError when it is unknown."""
        async with self._lock:
            return self._told(await self._place(self.loader.group(name), fresh=True))

    async def remove(self, name: str) -> list[PluginReport]:
        """Drop a plugin whose file has gone; returns the reports of those that may run now."""
        async with self._lock:
            return self._told(await self._leave(self.loader.unload(name)))

    async def switch(self, name: str, on: bool) -> list[PluginReport]:
        """Switch a plugin on or off. Raises PluginError when it is to go on and there is none of that name."""
        async with self._lock:
            if not on:
                return self._told(await self._leave(self.loader.disable(name)))
            group = self.loader.group(name)
            self.loader.disabled.discard(name)
            return self._told(await self._place(group, fresh=False))

    async def _place(self, plugins: Sequence[PluginFile], *, fresh: bool) -> list[PluginReport]:
        if not plugins:
            return []
        prepared = await run_in_daemon(
            lambda: self.loader.prepare(plugins, fresh=fresh), limit=None, name="import of plugins"
        )
        return await self._follow(self.loader.settle(prepared))

    async def _leave(self, settlement: Settlement) -> list[PluginReport]:
        reports = await self._follow(settlement)
        return reports + await self._place(self.loader.contested(), fresh=True)

    async def _follow(self, settlement: Settlement) -> list[PluginReport]:
        """Shut down what went, start what came, then load the files that new loaders of other languages take."""
        reports = {(report.source, report.name): report for report in settlement.reports}
        for candidate in settlement.gone:
            await self._stop(candidate)
        former = {candidate.name: candidate for candidate in settlement.gone}
        for candidate in settlement.came:
            failed = await self._start(candidate, former.get(candidate.name))
            reports.update({(report.source, report.name): report for report in failed})
        return [*reports.values(), *await self._place(self.loader.foreign(settlement.came), fresh=True)]

    async def _start(self, candidate: Candidate, former: Candidate | None) -> list[PluginReport]:
        if not self._started:
            return []
        failure = await self._migrated(candidate)
        if failure is None:
            failures = await self._hooks.startup(self._face(candidate), _those(candidate, "startup"))
            failure = failures[0] if failures else None
        if failure is None:
            return []
        settlement = self.loader.fail(failure, former)
        for restored in settlement.came:
            await self._hooks.startup(self._face(restored), _those(restored, "startup"))
        return settlement.reports

    async def _migrated(self, candidate: Candidate) -> HookFailure | None:
        contribution = candidate.contribution
        if self._migrate is None or not (contribution.tables or contribution.migrations):
            return None
        try:
            await self._migrate(contribution)
        except Exception as error:
            logger.exception("plugin {}: its tables could not be brought up to date", candidate.name)
            report = failed(candidate.plugin, error)
            return HookFailure(
                candidate.name, "tables", report.file, report.line or 1, f"{type(error).__name__}: {error}"
            )
        return None

    def _face(self, candidate: Candidate) -> Any:
        """What this plugin is handed: a face of its own where the host has such."""
        return self._host.of(candidate.name) if isinstance(self._host, Faces) else self._host

    async def _stop(self, candidate: Candidate) -> None:
        if self._started:
            await self._hooks.shutdown(self._face(candidate), _those(candidate, "shutdown"))

    def _told(self, reports: list[PluginReport]) -> list[PluginReport]:
        for report in reports:
            if self._on_change is not None:
                self._on_change(report)
        return reports


def _those(candidate: Candidate, hook: str) -> list[Implementation]:
    return [one for one in candidate.implementations if one.hook == hook]
