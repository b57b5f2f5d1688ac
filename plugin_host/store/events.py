"""The inbox table: an event is accepted once, started at most twice, and ends done or failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.sqlite import insert

from plugin_host.store.encoding import encode_body
from plugin_host.store.journal import Entry, write_entries
from plugin_host.store.tables import events
from plugin_host.store.tx import Prepared, Tx, purge
from plugin_host.values import Event

KEY_LIFE = 48 * 3600.0

_ACCEPT = Prepared(
    insert(events)
    .values({name: bindparam(name) for name in ("key", "session", "door", "state", "attempts", "body", "accepted")})
    .on_conflict_do_nothing(index_elements=["key"])
    .returning(events.c.seq)
)
_START = Prepared(update(events).where(events.c.key == bindparam("k")).values(attempts=events.c.attempts + 1))
_END = Prepared(
    update(events).where(events.c.key == bindparam("k")).values(state=bindparam("s"), body=None, ended=bindparam("t"))
)
_OPEN = Prepared(
    select(events.c.body, events.c.attempts, events.c.accepted)
    .where(events.c.state == bindparam("s"))
    .order_by(events.c.seq)
)
_PURGE = purge(events.c.seq, events.c.accepted < bindparam("t"), events.c.state != bindparam("s"))

_LAST_DOOR = Prepared(
    select(events.c.door)
    .where(events.c.session == bindparam("s"), events.c.door.not_like("terminal:%"))
    .order_by(events.c.seq.desc())
    .limit(1)
)

OPEN, DONE, FAILED = "open", "done", "failed"


@dataclass(frozen=True, slots=True)
class Accepting:
    """An event on its way into the inbox."""

    event: Event
    now: float


@dataclass(frozen=True, slots=True)
class OpenEvent:
    """An event that was accepted and has not ended; ``attempts`` counts how often it was started."""

    event: Event
    attempts: int
    accepted: float


class AcceptEvents:
    """Append: accept events; says True for a new key, False for one that is known."""

    def apply(self, tx: Tx, rows: list[Any]) -> list[Any]:
        """One row per event, with its ``event.accepted`` line in the journal."""
        results = []
        entries = []
        for row in rows:
            event: Event = row.event
            fresh = bool(tx.run(_ACCEPT, _values(row)))
            results.append(fresh)
            if fresh:
                entries.append(Entry(row.now, event.session, event.key, "event.accepted", payload=_about(row)))
        write_entries(tx, entries)
        return results


class StartEvents:
    """Append: count one more start of each event; rows are keys."""

    def apply(self, tx: Tx, rows: list[Any]) -> list[Any]:
        """Add one to ``attempts``."""
        tx.run_many(_START, [{"k": key} for key in rows])
        return [None] * len(rows)


def end_events(tx: Tx, keys: list[str], now: float, *, failed: bool = False) -> None:
    """Mark events done (or failed) and drop their bodies; the keys live on for 48 h."""
    tx.run_many(_END, [{"k": key, "s": FAILED if failed else DONE, "t": now} for key in keys])


def open_events(tx: Tx) -> list[OpenEvent]:
    """Every accepted event that has not ended, in order of acceptance."""
    rows = tx.run(_OPEN, {"s": OPEN})
    return [OpenEvent(msgspec.json.decode(body, type=Event), attempts, accepted) for body, attempts, accepted in rows]


def last_door(tx: Tx, session: str) -> str | None:
    """The account through which the session was last heard, as long as its keys live."""
    rows = tx.run(_LAST_DOOR, {"s": session})
    return str(rows[0][0]) if rows else None


def purge_events(tx: Tx, now: float) -> int:
    """Forget the keys of ended events after 48 h, a bounded number at once; returns how many."""
    return tx.count(_PURGE, {"t": now - KEY_LIFE, "s": OPEN})


def _about(row: Accepting) -> dict[str, Any]:
    about: dict[str, Any] = {"key": row.event.key, "age": 0.0}
    if row.event.time:
        about["age"] = round(max(0.0, row.now - row.event.time), 3)
    if origin := row.event.detail.get("from"):
        about["from"] = origin
    return about


def _values(row: Accepting) -> dict[str, Any]:
    event = row.event
    return {
        "key": event.key,
        "session": event.session,
        "door": event.door,
        "state": OPEN,
        "attempts": 0,
        "body": encode_body(event),
        "accepted": row.now,
    }
