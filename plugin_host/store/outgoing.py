"""The outbox table: one row per action, queued once, sent at most once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from sqlalchemy import bindparam, case, insert, or_, select, update

from plugin_host.store.encoding import encode_body
from plugin_host.store.journal import Entry, write_entries
from plugin_host.store.tables import outbox
from plugin_host.store.tx import Prepared, Tx, purge
from plugin_host.values import Action, ReplySource

RowState = Literal["waiting", "sending", "sent", "failed", "unknown", "expired"]
SENT_LIFE = 7 * 86_400.0
OTHER_LIFE = 30 * 86_400.0

_COLUMNS = ("key", "event", "session", "door", "source", "action", "params", "hidden", "user_id", "on_failed")
_QUEUE = Prepared(
    insert(outbox).values({name: bindparam(name) for name in (*_COLUMNS, "state", "created")}).returning(outbox.c.seq)
)
_SENDING = Prepared(update(outbox).where(outbox.c.seq == bindparam("n")).values(state="sending"))
_END = Prepared(
    update(outbox)
    .where(outbox.c.seq == bindparam("n"))
    .values(
        state=bindparam("s"),
        ended=bindparam("t"),
        error=bindparam("e"),
        params=case((outbox.c.hidden == 1, None), else_=outbox.c.params),
    )
)
_IN_STATE = Prepared(
    select(outbox.c.seq, *(outbox.c[name] for name in _COLUMNS), outbox.c.created)
    .where(outbox.c.state == bindparam("s"))
    .order_by(outbox.c.seq)
)
_OF_EVENT = Prepared(select(outbox.c.seq).where(outbox.c.event == bindparam("k")).limit(1))
_PURGE_SENT = purge(outbox.c.seq, outbox.c.state == "sent", outbox.c.ended < bindparam("t"))
_ended = or_(*(outbox.c.state == state for state in ("failed", "unknown", "expired")))
_PURGE = purge(outbox.c.seq, _ended, outbox.c.ended < bindparam("t"))


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A queued action; ``seq`` is its place in the order, ``created`` unix seconds."""

    action: Action
    event: str
    created: float
    seq: int = 0
    user_id: str | None = None
    on_failed: str | None = None

    @property
    def session(self) -> str:
        """The session in whose order it leaves."""
        return self.action.session


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a row, and when."""

    row: Outgoing
    state: RowState
    now: float
    error: str = ""
    entries: tuple[Entry, ...] = field(default=())


class MarkSending:
    """Append: rows about to be written to the socket."""

    def apply(self, tx: Tx, rows: list[Any]) -> list[Any]:
        """Mark each row (an Outgoing) as sending."""
        tx.run_many(_SENDING, [{"n": row.seq} for row in rows])
        return [None] * len(rows)


class MarkEnded:
    """Append: rows whose outcome is known; the body of a hidden row is deleted."""

    def apply(self, tx: Tx, rows: list[Any]) -> list[Any]:
        """Write each outcome (an Ended) with its journal line, if it has one."""
        tx.run_many(_END, [{"n": r.row.seq, "s": r.state, "t": r.now, "e": r.error or None} for r in rows])
        write_entries(tx, [entry for row in rows for entry in row.entries])
        return [None] * len(rows)


def queue_rows(tx: Tx, rows: Iterable[Outgoing]) -> list[Outgoing]:
    """Queue actions in order; returns them with their numbers."""
    queued = []
    for row in rows:
        ((seq,),) = tx.run(_QUEUE, _values(row))
        queued.append(Outgoing(row.action, row.event, row.created, seq, row.user_id, row.on_failed))
    return queued


def rows_in(tx: Tx, state: RowState) -> list[Outgoing]:
    """Every row in a state, in order."""
    return [_row(values) for values in tx.run(_IN_STATE, {"s": state})]


def has_rows(tx: Tx, event: str) -> bool:
    """True when the event has queued anything."""
    return bool(tx.run(_OF_EVENT, {"k": event}))


def purge_outbox(tx: Tx, now: float) -> int:
    """Forget rows 7 days after they were sent, 30 days after they ended otherwise; bounded, returns how many."""
    return tx.count(_PURGE_SENT, {"t": now - SENT_LIFE}) + tx.count(_PURGE, {"t": now - OTHER_LIFE})


def _values(row: Outgoing) -> dict[str, Any]:
    action = row.action
    return {
        "key": action.key,
        "event": row.event,
        "session": action.session,
        "door": action.door,
        "source": action.source,
        "action": action.action,
        "params": encode_body(action.params),
        "hidden": int(action.hidden),
        "user_id": row.user_id,
        "on_failed": row.on_failed,
        "state": "waiting",
        "created": row.created,
    }


def _row(values: Any) -> Outgoing:
    seq, key, event, session, door, source, name, params, hidden, user_id, on_failed, created = values
    body = msgspec.json.decode(params) if params is not None else {}
    kind: ReplySource = source
    action = Action(key, session, door, name, body, bool(hidden), kind)
    return Outgoing(action, event, created, seq, user_id, on_failed)
