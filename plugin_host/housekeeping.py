"""Housekeeping: once at start and once an hour, what has outlived its retention is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from loguru import logger

from plugin_host.clock import Clock
from plugin_host.config.settings import Settings
from plugin_host.store import Database, Tx
from plugin_host.store.events import purge_events
from plugin_host.store.journal import purge_journal
from plugin_host.store.originals import purge_originals
from plugin_host.store.outgoing import purge_outbox

PERIOD = 3600.0
DAY = 86_400.0


class Housekeeping:
    """Retention of keys, rows, journal and originals."""

    def __init__(self, database: Database, clock: Clock, settings: Callable[[], Settings]) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            try:
                await self.sweep()
            except Exception:
                logger.exception("housekeeping failed")
            await asyncio.sleep(PERIOD)

    async def sweep(self) -> None:
        """Forget what is too old, in small units so that none holds the writer for long."""
        now = self._clock.now()
        for purge in (purge_events, purge_outbox, purge_originals):
            await self._all(partial(purge, now=now))
        if days := self._settings().journal.keep:
            await self._all(partial(purge_journal, before=now - days * DAY))

    async def _all(self, purge: Callable[[Tx], int]) -> None:
        while await self._database.unit(purge, owner="housekeeping"):
            pass
