"""The conversation of a session as the model sees it, message by message."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from sqlalchemy import bindparam, delete, insert, select

from plugin_host.conversation import Message
from plugin_host.store.encoding import encode_body
from plugin_host.store.tables import history
from plugin_host.store.tx import Prepared, Tx

KEEP = 400

_COLUMNS = ("session", "event", "body", "time")
_ADD = Prepared(insert(history).values({name: bindparam(name) for name in _COLUMNS}))
_LAST = Prepared(
    select(history.c.seq, history.c.body)
    .where(history.c.session == bindparam("s"))
    .order_by(history.c.seq.desc())
    .limit(bindparam("n"))
)
_TRIM = Prepared(delete(history).where(history.c.session == bindparam("s"), history.c.seq <= bindparam("n")))


def add_messages(tx: Tx, session: str, event: str, messages: Iterable[Message], now: float) -> None:
    """Append messages in order."""
    rows = [{"session": session, "event": event, "body": encode_body(m), "time": now} for m in messages]
    if rows:
        tx.run_many(_ADD, rows)


def last_messages(tx: Tx, session: str, limit: int) -> list[Message]:
    """The newest ``limit`` messages, oldest first."""
    rows = tx.run(_LAST, {"s": session, "n": limit})
    return [msgspec.json.decode(body, type=Message) for _, body in reversed(rows)]


def trim_history(tx: Tx, session: str) -> None:
    """Keep the newest 400 messages of a session."""
    rows = tx.run(_LAST, {"s": session, "n": KEEP + 1})
    if len(rows) > KEEP:
        tx.count(_TRIM, {"s": session, "n": rows[-1][0]})
