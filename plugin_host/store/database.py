"""Database: opens the file, migrates it, takes writes to the writer thread and reads to a small pool."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy.exc
from sqlalchemy import URL, Engine, create_engine, event

from plugin_host.errors import StoreError
from plugin_host.store.migrations import migrate
from plugin_host.store.tables import metadata
from plugin_host.store.tx import Append, Tx
from plugin_host.store.writer import UNIT_LIMIT, Job, Writer
from plugin_host.watch.watchdog import Watchdog

T = TypeVar("T")
READERS = 2
BUSY_TIMEOUT_MS = 5_000


class Database:
    """The store of one home.

    Writes are durable when their call returns (WAL, synchronous=FULL). ``open`` raises StoreError when it cannot.
    """

    def __init__(self, path: Path, *, watchdog: Watchdog | None = None, unit_limit: float = UNIT_LIMIT) -> None:
        self.path = path
        self._watchdog = watchdog or Watchdog()
        self._owns_watchdog = watchdog is None
        self._unit_limit = unit_limit
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._read_engine: Engine | None = None
        self._write_engine: Engine | None = None
        self._writer: Writer | None = None

    def open(self) -> Database:
        """Open and migrate the file, start the writer."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._write_engine = _engine(self.path, writing=True)
            with self._write_engine.begin() as connection:
                migrate(connection, "host", list(metadata.sorted_tables), [])
        except Exception as error:
            self.close()
            raise StoreError(_unusable(self.path, error)) from error
        self.open_for_reading()
        self._watchdog.start()
        self._writer = Writer(self._write_engine, self._watchdog, unit_limit=self._unit_limit)
        self._writer.start()
        return self

    def open_for_reading(self) -> Database:
        """Open the file for reads only; needs no lock of the home."""
        self._read_engine = _engine(self.path, writing=False)
        return self

    def close(self) -> None:
        """Commit what is queued and close every connection."""
        if self._writer is not None:
            self._writer.stop()
        self._readers.shutdown(wait=True)
        engines, self._read_engine, self._write_engine = (self._read_engine, self._write_engine), None, None
        for engine in engines:
            if engine is not None:
                engine.dispose()
        if self._owns_watchdog:
            self._watchdog.stop()

    async def append(self, append: Append, row: Any, *, owner: str = "host") -> Any:
        """Write one row of a kind; waits until it is durable and returns what the kind says of it."""
        return await self._submit(row, append, owner)

    def append_later(self, append: Append, row: Any, *, owner: str = "host") -> None:
        """Write one row of a kind without waiting; a crash may lose it."""
        self._running_writer().submit(Job(row, append, owner, None, None))

    async def unit(self, work: Callable[[Tx], T], *, owner: str = "host") -> T:
        """Run ``work`` in a savepoint on the writer thread; raises what it raises, after rolling it back alone."""
        result: T = await self._submit(work, None, owner)
        return result

    async def read(self, query: Callable[[Tx], T]) -> T:
        """Run a query on the read pool; raises StoreError when the store is not open."""
        if self._read_engine is None:
            raise StoreError("the store is not open")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.read_now, query)

    def read_now(self, query: Callable[[Tx], T]) -> T:
        """Run a query in this thread; for the command line and for start-up."""
        if self._read_engine is None:
            raise StoreError("the store is not open")
        try:
            # Begun here: statements straight on the driver begin nothing, and a query of several must see one state.
            with self._read_engine.begin() as connection:
                return query(Tx(connection))
        except (sqlite3.DatabaseError, sqlalchemy.exc.DatabaseError) as error:
            if type(getattr(error, "orig", None) or error) is not sqlite3.DatabaseError:
                raise  # the query's own fault; only a file that is no database or damaged is this plain class
            raise StoreError(_unusable(self.path, error)) from error

    async def migrate(self, owner: str, tables: list[Any], steps: list[Callable[..., None]]) -> None:
        """Bring a plugin's own tables up to date; all of it or nothing. Raises what a migration raises."""
        engine = self._write_engine
        if engine is None:
            raise StoreError("the store is not open for writing")

        def work() -> None:
            # A connection of its own: a migration may take longer than a unit may hold the writer.
            with engine.begin() as connection:
                migrate(connection, owner, tables, steps)

        await asyncio.get_running_loop().run_in_executor(self._readers, work)

    @property
    def commits(self) -> int:
        """How many commits the writer has made."""
        return self._writer.commits if self._writer is not None else 0

    def _running_writer(self) -> Writer:
        if self._writer is None:
            raise StoreError("the store is not open for writing")
        return self._writer

    async def _submit(self, payload: Any, append: Append | None, owner: str) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._running_writer().submit(Job(payload, append, owner, loop, future))
        return await future


def _engine(path: Path, *, writing: bool) -> Engine:
    # Built, not written as text: in a URL a "?" would end the path.
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _connect(driver: Any, _record: Any) -> None:
        # The driver's own control would open deferred transactions: an upgrade of those cannot be waited out.
        driver.isolation_level = None
        cursor = driver.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        if writing:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
        else:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _unusable(path: Path, error: Exception) -> str:
    if isinstance(error, StoreError):
        return f"{path.name}: {error}"
    cause = getattr(error, "orig", None) or error
    return f"打不开数据库 {path.name}（{cause}）。先备份 {path.parent.name} 目录，再恢复备份，或用 --home 换一个目录"
