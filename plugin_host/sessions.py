"""Sessions: per chat its lane (one short handler at a time), its settings, its one turn slot."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from loguru import logger

from plugin_host.store import Database
from plugin_host.store.sessions import read_session
from plugin_host.values import Event

SESSION_LIMIT = 5_000


class Lane:
    """Runs jobs of one session one after another, in the order in which they were posted.

    A job that has not returned after ``limit()`` seconds goes on off the lane, and the next one starts.
    """

    def __init__(self, name: str, limit: Callable[[], float]) -> None:
        self._name = name
        self._limit = limit
        self._jobs: deque[tuple[Callable[[], Awaitable[Any]], asyncio.Future[Any]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._loose: set[asyncio.Future[Any]] = set()

    @property
    def idle(self) -> bool:
        """True when nothing runs and nothing waits."""
        return (self._worker is None or self._worker.done()) and not self._jobs and not self._loose

    @property
    def waiting(self) -> int:
        """How many jobs wait for their turn."""
        return len(self._jobs)

    def post(self, job: Callable[[], Awaitable[Any]]) -> asyncio.Future[Any]:
        """Queue a job; the future gives what it returns or raises."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._jobs.append((job, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._run(), name=f"lane {self._name}")
        return future

    async def close(self) -> None:
        """Cancel what runs and waits."""
        for _, future in self._jobs:
            future.cancel()
        self._jobs.clear()
        tasks = [task for task in (self._worker, *self._loose) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while self._jobs:
            job, future = self._jobs.popleft()
            task = asyncio.ensure_future(job())
            self._loose.add(task)
            task.add_done_callback(partial(self._finished, future))
            await asyncio.wait({task}, timeout=self._limit())
            if not task.done():
                logger.info("a handler of {} goes on off its lane", self._name)

    def _finished(self, future: asyncio.Future[Any], task: asyncio.Future[Any]) -> None:
        self._loose.discard(task)
        if future.cancelled():
            return
        if task.cancelled():
            future.cancel()
        elif (error := task.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(task.result())


class TurnHandle(Protocol):
    """The turn that owns a session's slot."""

    def stop(self) -> None:
        """End it for real, soon."""
        ...


@dataclass(slots=True)
class Session:
    """One chat in memory; what is stored of it is read once and changed by its own units only."""

    id: str
    lane: Lane
    flags: dict[str, Any] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    turn: TurnHandle | None = None
    waiting: list[Event] = field(default_factory=list)
    pending: int = 0
    refused_at: float = -1e9
    door: str = ""


class Sessions:
    """Every session that is awake."""

    def __init__(self, database: Database, lane_limit: Callable[[], float]) -> None:
        self._database = database
        self._lane_limit = lane_limit
        self._awake: OrderedDict[str, Session] = OrderedDict()
        self._loading: dict[str, asyncio.Future[Session]] = {}

    def __iter__(self) -> Any:
        return iter(tuple(self._awake.values()))

    def awake(self, session: str) -> Session | None:
        """The session when it is in memory."""
        return self._awake.get(session)

    async def get(self, session: str) -> Session:
        """The session, read from the store when it was not awake."""
        found = self._awake.get(session)
        if found is not None:
            self._awake.move_to_end(session)
            return found
        loading = self._loading.get(session)
        if loading is None:
            loading = self._loading[session] = asyncio.ensure_future(self._load(session))
            loading.add_done_callback(lambda _: self._loading.pop(session, None))
        return await asyncio.shield(loading)

    def committed(self, session: str, flags: Mapping[str, Any], switches: Mapping[str, bool | None]) -> None:
        """A unit of the session has committed these changes; None is back to the default."""
        found = self._awake.get(session)
        if found is not None:
            _overlay(found.flags, flags)
            _overlay(found.switches, switches)

    async def close(self) -> None:
        """Stop every lane."""
        await asyncio.gather(*(session.lane.close() for session in self._awake.values()))

    async def _load(self, session: str) -> Session:
        flags, switches = await self._database.read(lambda tx: read_session(tx, session))
        found = Session(session, Lane(session, self._lane_limit), flags, switches)
        self._awake[session] = found
        self._put_to_sleep()
        return found

    def _put_to_sleep(self) -> None:
        for name in list(self._awake)[: max(0, len(self._awake) - SESSION_LIMIT)]:
            session = self._awake[name]
            if session.lane.idle and session.turn is None and not session.waiting and not session.pending:
                del self._awake[name]


def _overlay(kept: dict[str, Any], changed: Mapping[str, Any]) -> None:
    for name, value in changed.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = value
