"""The writer thread: one commit takes all that waits (group commit); a unit that fails spares the others."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from dataclasses import dataclass
from typing import Any

import sqlalchemy.exc
from loguru import logger
from sqlalchemy import Connection, Engine, ExceptionContext, event

from plugin_host.errors import StoreError, UnitOverrunError
from plugin_host.store.tx import Append, Tx
from plugin_host.watch.daemon import Interrupted
from plugin_host.watch.watchdog import Watch, Watchdog

BATCH_LIMIT = 512
UNIT_LIMIT = 0.25
PROGRESS_STEPS = 10_000
SQLITE_TRANSACTION, SQLITE_SAVEPOINT = 22, 32


@dataclass(slots=True)
class Job:
    """One row to append (``append`` is set) or one unit of work to run, and who waits for it."""

    payload: Any
    append: Append | None
    owner: str
    loop: asyncio.AbstractEventLoop | None
    future: asyncio.Future[Any] | None


@dataclass(slots=True)
class Done:
    """What became of a job."""

    job: Job
    value: Any = None
    error: BaseException | None = None


class Writer:
    """Owns the only writing connection and its thread."""

    def __init__(self, engine: Engine, watchdog: Watchdog, *, unit_limit: float = UNIT_LIMIT) -> None:
        self._engine = engine
        event.listen(engine, "handle_error", _keep_connection)
        self._watchdog = watchdog
        self._unit_limit = unit_limit
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._watch: Watch | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._working = False
        self.commits = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue a job; its future is resolved once it is durable."""
        with self._lock:
            if self._closed:
                raise StoreError("the store is closed")
            self._jobs.put(job)

    def stop(self) -> None:
        """Commit what is queued, then end the thread."""
        with self._lock:
            self._closed = True
            self._jobs.put(None)
        self._thread.join(timeout=10)

    def _run(self) -> None:
        with self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.set_authorizer(self._authorize)
            self._watch = Watch(threading.get_ident(), self._unit_limit, self._overrun)
            self._watchdog.add(self._watch.check)
            open_ = True
            while open_:
                batch, open_ = self._next_batch()
                if batch:
                    _settle(self._commit_or_reconnect(connection, batch))

    def _next_batch(self) -> tuple[list[Job], bool]:
        batch: list[Job] = []
        job = self._jobs.get()
        while job is not None:
            batch.append(job)
            if len(batch) >= BATCH_LIMIT:
                return batch, True
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _commit_or_reconnect(self, connection: Connection, batch: list[Job]) -> list[Done]:
        try:
            return self._commit(connection, batch)
        except Exception as error:
            # Not even the rollback went through: the thread must live, or everybody would wait for ever.
            logger.opt(exception=error).error("the store's connection is lost; it is opened anew")
            connection.invalidate(error)
            connection.rollback()
            return [Done(job, error=StoreError(f"the store could not be written: {error}")) for job in batch]

    def _commit(self, connection: Connection, batch: list[Job]) -> list[Done]:
        try:
            done = self._apply(connection, batch)
            connection.commit()
            self.commits += 1
            return done
        except (Exception, Interrupted) as error:
            connection.rollback()
            if len(batch) == 1:
                return [Done(batch[0], error=_as_store_error(error, batch[0].owner))]
        # Whose fault it was cannot be told from here: alone, each job stands or falls by itself. Outside the handler,
        # so that the error's frames, and cursors that they hold, are gone.
        return [done for job in batch for done in self._commit_or_reconnect(connection, [job])]

    def _apply(self, connection: Connection, batch: list[Job]) -> list[Done]:
        connection.begin()
        tx = Tx(connection)
        driver: Any = connection.connection.driver_connection
        # Not driver.interrupt(): that one sticks to the connection while a half-read cursor is alive, and can hit the
        # next unit.
        driver.set_progress_handler(self._overdue, PROGRESS_STEPS)
        done = [Done(job, value) for job, value in _append_all(tx, batch)]
        for job in batch:
            if job.append is None:
                done.append(self._run_unit(tx, job))
        return done

    def _run_unit(self, tx: Tx, job: Job) -> Done:
        assert self._watch is not None
        tx.driver("SAVEPOINT unit")
        try:
            try:
                self._watch.begin(job.owner)
                self._working = True
                value = job.payload(tx)
            finally:
                self._working = False
                self._watch.end()
            if self._watch.fired:
                raise Interrupted
        except BaseException as error:
            self._watch.end()  # once more: the interrupt may have surfaced inside the first
            failure = Interrupted() if self._watch.fired else _contained(error, job.owner)
            if not tx.open:
                # SQLite ends the whole transaction when it interrupts a write.
                raise failure from error
            tx.driver("ROLLBACK TO unit")
            tx.driver("RELEASE unit")
            return Done(job, error=_as_store_error(failure, job.owner))
        tx.driver("RELEASE unit")
        return Done(job, value)

    def _overrun(self, owner: str) -> None:
        logger.error("unit of {} held the writer past {} s and is interrupted", owner, self._unit_limit)

    def _authorize(self, action: int, *_: object) -> int:
        """A unit must not begin or end a transaction: it would tear the batch of all others."""
        ends = self._working and action in (SQLITE_TRANSACTION, SQLITE_SAVEPOINT)
        return sqlite3.SQLITE_DENY if ends else sqlite3.SQLITE_OK

    def _overdue(self) -> int:
        return int(self._watch is not None and self._watch.overdue)


def _keep_connection(context: ExceptionContext) -> None:
    """SQLAlchemy takes a connection for broken when a BaseException crosses it; ours still holds the batch."""
    if isinstance(context.original_exception, Interrupted):
        context.is_disconnect = False


def _append_all(tx: Tx, batch: list[Job]) -> list[tuple[Job, Any]]:
    groups: dict[int, tuple[Append, list[Job]]] = {}
    for job in batch:
        if job.append is not None:
            groups.setdefault(id(job.append), (job.append, []))[1].append(job)
    results: list[tuple[Job, Any]] = []
    for append, jobs in groups.values():
        results.extend(zip(jobs, append.apply(tx, [job.payload for job in jobs]), strict=True))
    return results


def _contained(error: BaseException, owner: str) -> BaseException:
    """What would end the thread or whoever waits (SystemExit, a stray CancelledError) ends its unit only."""
    if isinstance(error, Exception | Interrupted):
        return error
    return StoreError(f"unit of {owner} raised {type(error).__name__}: {error}")


def _as_store_error(error: BaseException, owner: str) -> BaseException:
    if isinstance(error, Interrupted):
        return UnitOverrunError(f"unit of {owner} ran past its limit and was rolled back")
    if isinstance(error, sqlite3.OperationalError | sqlalchemy.exc.OperationalError):
        return StoreError(f"the store could not be written: {error}")
    return error


def _settle(done: list[Done]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[Done]] = {}
    for item in done:
        if item.job.loop is not None:
            loops.setdefault(item.job.loop, []).append(item)
        elif item.error is not None:
            logger.opt(exception=item.error).error("a write of {} that nobody waits for failed", item.job.owner)
    for loop, items in loops.items():
        try:
            loop.call_soon_threadsafe(_wake, items)
        except RuntimeError:  # a loop that closed while its write was on the way has nobody left to tell
            continue


def _wake(items: list[Done]) -> None:
    for item in items:
        future = item.job.future
        if future is None or future.done():
            continue
        if item.error is not None:
            future.set_exception(item.error)
        else:
            future.set_result(item.value)
