"""Sender: takes committed rows, one in flight per session, and writes each at most once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from loguru import logger

from plugin_host.clock import Clock
from plugin_host.config.settings import SendSettings
from plugin_host.store import Database
from plugin_host.store.journal import Entry
from plugin_host.store.outgoing import Ended, MarkEnded, MarkSending, Outgoing, RowState
from plugin_host.values import Channel, Outcome

UNKNOWN_LIMIT = 1_000

OnOutcome = Callable[[Outgoing, Outcome], None]


class Sender:
    """Rows of a session leave in order; a row whose door is shut waits for it, or expires."""

    def __init__(
        self, database: Database, clock: Clock, settings: Callable[[], SendSettings], on_outcome: OnOutcome
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._on_outcome = on_outcome
        self._channels: dict[str, Channel] = {}
        self._queues: dict[str, deque[Outgoing]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._opened = asyncio.Event()
        self._sending = MarkSending()
        self._ending = MarkEnded()
        self._unknown: OrderedDict[str, Outgoing] = OrderedDict()
        self.counts: dict[RowState, int] = {}

    def open(self, channel: Channel) -> None:
        """A door opens: its waiting rows start to leave."""
        self._channels[channel.door] = channel
        self._opened.set()
        self._opened = asyncio.Event()

    def shut(self, door: str) -> None:
        """A door shuts: its rows wait."""
        self._channels.pop(door, None)

    def late(self, key: str, outcome: Outcome) -> None:
        """The answer to a row that already reads unknown: it makes it sent or failed after all."""
        if outcome.status == "unknown":
            return
        row = self._unknown.pop(key, None)
        if row is not None:
            state: RowState = outcome.status
            ended = Ended(row, state, self._clock.now(), outcome.error, (send_entry(row, state, self._clock.now()),))
            self._database.append_later(self._ending, ended)
            self._on_outcome(row, outcome)

    @property
    def doors(self) -> tuple[str, ...]:
        """The doors that are open."""
        return tuple(sorted(self._channels))

    @property
    def waiting(self) -> int:
        """How many rows have not left."""
        return sum(len(queue) for queue in self._queues.values())

    def take(self, rows: list[Outgoing]) -> None:
        """Queue committed rows behind those of their sessions."""
        for row in rows:
            self._queues.setdefault(row.session, deque()).append(row)
            task = self._tasks.get(row.session)
            if task is None or task.done():
                self._tasks[row.session] = asyncio.create_task(self._drain(row.session), name=f"send {row.session}")

    async def drained(self) -> None:
        """Return when every row that could leave has an outcome."""
        while tasks := [task for task in self._tasks.values() if not task.done()]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop sending; rows that wait stay in the store, one in flight reads unknown after a restart."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain(self, session: str) -> None:
        queue = self._queues[session]
        while queue:
            row = queue[0]
            try:
                await self._send(row)
            except Exception:
                logger.exception("sending {} failed inside the host", row.action.key)
            queue.popleft()
        self._queues.pop(session, None)

    async def _send(self, row: Outgoing) -> None:
        channel = await self._channel(row)
        if channel is None or self._too_old(row):
            await self._ended(row, "expired", "older than send.max_age")
            return
        await self._database.append(self._sending, row)
        outcome = await channel.send(row.action, self._settings().timeout)
        await self._ended(row, outcome.status, outcome.error)
        self._on_outcome(row, outcome)

    async def _channel(self, row: Outgoing) -> Channel | None:
        while (channel := self._channels.get(row.action.door)) is None:
            left = self._left(row)
            if left <= 0:
                return None
            opened = self._opened
            try:
                async with asyncio.timeout(min(left, 3600.0)):
                    await opened.wait()
            except TimeoutError:
                continue
        return channel

    def _too_old(self, row: Outgoing) -> bool:
        return self._left(row) < 0

    def _left(self, row: Outgoing) -> float:
        ages = self._settings().max_age
        source = row.action.source
        limit = {"ai": ages.ai, "notice": ages.notice, "timer": ages.timer}.get(source, ages.command)
        return row.created + limit - self._clock.now() if limit else float("inf")

    async def _ended(self, row: Outgoing, state: RowState, error: str) -> None:
        self.counts[state] = self.counts.get(state, 0) + 1
        if state == "unknown":
            self._unknown[row.action.key] = row
            while len(self._unknown) > UNKNOWN_LIMIT:
                self._unknown.popitem(last=False)
        now = self._clock.now()
        entries = () if state == "sent" else (send_entry(row, state, now),)
        ended = Ended(row, state, now, error, entries)
        if state == "sent":
            # Not waited for: lost at a crash it reads unknown.
            self._database.append_later(self._ending, ended)
        else:
            await self._database.append(self._ending, ended)


def send_entry(row: Outgoing, state: RowState, now: float) -> Entry:
    """The journal line of a row that was not sent: key, source and age, never its body."""
    payload: dict[str, Any] = {
        "key": row.action.key,
        "source": row.action.source,
        "age": round(now - row.created, 3),
        "hidden": row.action.hidden,
    }
    return Entry(now, row.session, row.event, f"send.{state}", payload=payload)
