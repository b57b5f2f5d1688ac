"""Reloader: watches the home's plugin folder and has each saved, new or removed plugin loaded again or dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from loguru import logger

from plugin_host.loading.lifecycle import PluginLife

TICK = 1000


class Reloader:
    """Hot reload on save. A broken save keeps the old version running; the report's ``stale_reason`` says why.

    ``watching`` is set once changes are seen, at most ``tick`` milliseconds after the start.
    """

    def __init__(self, life: PluginLife, *, tick: int = TICK) -> None:
        self._life = life
        self._tick = tick
        self.watching = asyncio.Event()

    async def run(self) -> None:
        """Watch until cancelled; makes the folder when it is missing, returns at once when the bot has none."""
        home = self._life.loader.home
        if home is None:
            return
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            logger.warning("no hot reload: {} cannot be made: {}", home, error)
            return
        folder = home.resolve()
        # Imported here: only a host that runs for long watches anything.
        from watchfiles import awatch

        async for changes in awatch(folder, yield_on_timeout=True, rust_timeout=self._tick):
            self.watching.set()
            for name in self.names_of(folder, (Path(path) for _, path in changes)):
                await self._changed(name)

    def names_of(self, folder: Path, paths: Iterable[Path]) -> list[str]:
        """The plugins that changed files belong to, in order of name; data files of a package are nobody's."""
        suffixes = {".py", *self._life.loader.loaders}
        found = set()
        for path in paths:
            parts = path.relative_to(folder).parts
            if path.suffix not in suffixes or not parts or any(part.startswith(("_", ".")) for part in parts[:-1]):
                continue
            top = Path(parts[0])
            if not top.name.startswith(("_", ".")):
                found.add(top.stem if len(parts) > 1 or top.suffix == ".py" else top.name)
        return sorted(found)

    async def _changed(self, name: str) -> None:
        loader = self._life.loader
        try:
            if name in loader.names:
                reports = await self._life.load(name)
            else:
                reports = await self._life.remove(name)
                logger.info("plugin {} was removed", name)
        except Exception:
            # Whatever else goes wrong in one change, the next save must still be seen.
            logger.exception("reload of plugin {} failed", name)
            return
        for report in reports:
            if report.ok and not report.stale_reason:
                logger.info("plugin {} was loaded", report.name)
