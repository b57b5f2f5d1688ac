"""The journal table: append-only; who asked for what, when it started, how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import bindparam, case, func, insert, select

from plugin_host.store.tables import journal
from plugin_host.store.tx import Prepared, Tx, purge

TERMINAL = ("tool_call_completed", "tool_call_failed", "tool_call_refused", "tool_call_reused")
STARTED = "tool_call_started"
PAYLOAD_LIMIT = 16 * 1024

_ENCODE = json.JSONEncoder(ensure_ascii=False, default=str).encode

_COLUMNS = ("time", "session", "turn", "call", "type", "name", "payload", "ms")
_WRITE = Prepared(insert(journal).values({name: bindparam(name) for name in _COLUMNS}))
_STEPS = Prepared(
    select(journal.c.call, journal.c.name, journal.c.session, journal.c.type)
    .where(journal.c.turn == bindparam("t"))
    .order_by(journal.c.seq)
)
_PURGE = purge(journal.c.seq, journal.c.time < bindparam("before"))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. ``turn`` is the key of the event it belongs to, ``call`` the call's id, ``ms`` a duration."""

    time: float
    session: str
    turn: str
    type: str
    call: str = ""
    name: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One entry as read back, with its number."""

    seq: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class ToolUse:
    """How a tool was used: how often, how often it failed, mean milliseconds of those that ran."""

    name: str
    calls: int
    failures: int
    mean_ms: float


class AppendEntries:
    """Append: journal lines that ride with the next commit."""

    def apply(self, tx: Tx, rows: list[Any]) -> list[Any]:
        """Write the entries."""
        write_entries(tx, rows)
        return [None] * len(rows)


def write_entries(tx: Tx, entries: Iterable[Entry]) -> None:
    """Write entries in order."""
    rows = [_values(entry) for entry in entries]
    if rows:
        tx.run_many(_WRITE, rows)


def read_lines(tx: Tx, *, session: str | None = None, limit: int = 50) -> list[Line]:
    """The newest ``limit`` lines (0 = all), oldest first."""
    statement = select(journal.c.seq, *(journal.c[name] for name in _COLUMNS)).order_by(journal.c.seq.desc())
    if session is not None:
        statement = statement.where(journal.c.session == session)
    if limit:
        statement = statement.limit(limit)
    rows = tx.execute(statement).all()
    return [_line(row) for row in reversed(rows)]


def tool_uses(tx: Tx, session: str | None = None) -> list[ToolUse]:
    """Use per tool over the kept journal, in one session or in all, by name; chat commands (``.r``) do not count."""
    failed = func.sum(case((journal.c.type == "tool_call_completed", 0), else_=1))
    statement = (
        select(journal.c.name, func.count(), failed, func.avg(journal.c.ms))
        .where(journal.c.type.in_(TERMINAL), journal.c.name.not_like(".%"))
        .group_by(journal.c.name)
        .order_by(journal.c.name)
    )
    if session is not None:
        statement = statement.where(journal.c.session == session)
    rows: list[Any] = list(tx.execute(statement).all())
    return [ToolUse(row[0], row[1], row[2], float(row[3] or 0)) for row in rows]


def steps_of(tx: Tx, turn: str) -> tuple[bool, list[tuple[str, str]]]:
    """(has the event a step, its calls that started and never ended as (call, name))."""
    started: dict[str, str] = {}
    found = False
    for call, name, _session, kind in tx.run(_STEPS, {"t": turn}):
        found = found or kind == STARTED or kind == "step"
        if kind == STARTED:
            started[call] = name
        elif kind in TERMINAL:
            started.pop(call, None)
    return found, list(started.items())


def purge_journal(tx: Tx, before: float) -> int:
    """Forget lines older than ``before``, a bounded number at once; returns how many."""
    return tx.count(_PURGE, {"before": before})


def _values(entry: Entry) -> dict[str, Any]:
    payload = _ENCODE(entry.payload)
    if len(payload) > PAYLOAD_LIMIT:
        payload = _ENCODE({"cut": payload[: PAYLOAD_LIMIT // 2]})
    # A model may write half a surrogate pair, which no driver takes; a line about it must not fail.
    payload, name = (text.encode("utf-8", "replace").decode() for text in (payload, entry.name))
    return {
        "time": entry.time,
        "session": entry.session,
        "turn": entry.turn,
        "call": entry.call,
        "type": entry.type,
        "name": name,
        "payload": payload,
        "ms": entry.ms,
    }


def _line(row: Any) -> Line:
    seq, time, session, turn, call, kind, name, payload, ms = row
    return Line(seq, Entry(time, session, turn, kind, call, name, json.loads(payload), ms))
