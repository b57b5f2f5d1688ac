"""Units: what commits together — state, journal, outgoing rows, "event done" — and the one place that commits it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from plugin_host.clock import Clock
from plugin_host.context import DELETED, Effects
from plugin_host.conversation import Message
from plugin_host.outbox import rows_of
from plugin_host.store import Database, Tx
from plugin_host.store.events import end_events
from plugin_host.store.history import add_messages, trim_history
from plugin_host.store.journal import Entry, write_entries
from plugin_host.store.kept import set_kept
from plugin_host.store.outgoing import Outgoing, queue_rows
from plugin_host.store.sessions import write_session
from plugin_host.values import Change, Reply


@dataclass(frozen=True, slots=True)
class Settled:
    """What a finished call adds to its unit: replies, journal lines, and a value for its caller."""

    replies: tuple[Reply, ...] = ()
    entries: tuple[Entry, ...] = ()
    value: Any = None


@dataclass(slots=True)
class Unit:
    """One unit of work of an event.

    ``change`` runs first; ``settle`` turns what the handler said (or the change's words) into replies and lines, inside
    the same savepoint. ``done`` and ``failed`` are keys of events that end with it.
    """

    session: str
    door: str
    event: str
    step: int
    effects: Effects = field(default_factory=Effects)
    entries: list[Entry] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    change: Change | None = None
    settle: Callable[[Any], Settled] | None = None
    owner: str = "host"


BeforeSend = Callable[[Reply], Awaitable[Reply | None]]
OnCommitted = Callable[[str, Mapping[str, Any], Mapping[str, bool | None]], None]


class Units:
    """Commits units and hands their rows to the sender, in the order of the commits."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        before_send: BeforeSend,
        take: Callable[[list[Outgoing]], None],
        committed: OnCommitted,
        segments: Callable[[], int],
        starts_on: Callable[[str], bool | None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._before_send = before_send
        self._take = take
        self._committed = committed
        self._segments = segments
        self._starts_on = starts_on

    async def commit(self, unit: Unit) -> Any:
        """Commit a unit; returns its settled value.

        Raises what its change or a plugin's SQL raises; nothing of the unit has happened then. A caller that is
        cancelled meanwhile does not keep what was committed from being sent.
        """
        return await asyncio.shield(asyncio.ensure_future(self._commit(unit)))

    async def _commit(self, unit: Unit) -> Any:
        settled = Settled()
        if unit.change is None and unit.settle is not None:
            settled = unit.settle(None)
        replies = [r for reply in [*unit.effects.replies, *settled.replies] if (r := await self._before_send(reply))]
        value, rows = await self._database.unit(lambda tx: self._apply(tx, unit, replies, settled), owner=unit.owner)
        self._committed(unit.session, unit.effects.flags, self._differences(unit))
        if rows:
            self._take(rows)
        return value

    def _differences(self, unit: Unit) -> dict[str, bool | None]:
        """Switches as they are stored: None where the tool's default says the same."""
        return {name: None if on == self._starts_on(name) else on for name, on in unit.effects.switches.items()}

    def _apply(self, tx: Tx, unit: Unit, replies: list[Reply], settled: Settled) -> tuple[Any, list[Outgoing]]:
        now = self._clock.now()
        if unit.change is not None:
            said = unit.change.words(unit.change.work(tx))
            if unit.settle is not None:
                settled = unit.settle(said)
                # Made on the writer thread, where no hook may run: what a change says passes no before_send.
                replies = [*replies, *settled.replies]
        _write_state(tx, unit, self._differences(unit))
        notes = [Entry(now, unit.session, unit.event, kind, payload=data) for kind, data in unit.effects.notes]
        write_entries(tx, [*unit.entries, *notes, *settled.entries])
        if unit.messages:
            add_messages(tx, unit.session, unit.event, unit.messages, now)
            trim_history(tx, unit.session)
        rows = rows_of(
            replies,
            session=unit.session,
            event=unit.event,
            step=unit.step,
            door=unit.door,
            now=now,
            segments=self._segments(),
        )
        queued = queue_rows(tx, rows)
        if unit.done:
            end_events(tx, unit.done, now)
        if unit.failed:
            end_events(tx, unit.failed, now, failed=True)
        return settled.value, queued


def _write_state(tx: Tx, unit: Unit, switches: Mapping[str, bool | None]) -> None:
    effects = unit.effects
    for (plugin, name), value in effects.kept.items():
        set_kept(tx, plugin, "session", unit.session, name, None if value is DELETED else value)
    if effects.flags or switches:
        write_session(tx, unit.session, effects.flags, switches)
    for _owner, work in effects.works:
        work(tx)
