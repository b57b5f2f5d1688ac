"""Originals: the full text of what was cut, compressed, readable by the session it belongs to."""

from __future__ import annotations

import zlib

from sqlalchemy import bindparam, insert, select

from plugin_host.store.tables import raw_text
from plugin_host.store.tx import Prepared, Tx, purge

KEEP_SECONDS = 30 * 86_400.0

_ADD = Prepared(insert(raw_text))
_GET = Prepared(select(raw_text.c.body).where(raw_text.c.id == bindparam("i"), raw_text.c.session == bindparam("s")))
_PURGE = purge(raw_text.c.id, raw_text.c.time < bindparam("t"))


def keep_original(tx: Tx, id: str, session: str, kind: str, name: str, text: str, now: float) -> None:
    """Store a text under a fresh id."""
    body = zlib.compress(text.encode(), 6)
    tx.count(_ADD, {"id": id, "session": session, "kind": kind, "name": name, "body": body, "time": now})


def read_original(tx: Tx, id: str, session: str) -> str | None:
    """The text, or None when that session has no such id."""
    rows = tx.run(_GET, {"i": id, "s": session})
    return zlib.decompress(rows[0][0]).decode() if rows else None


def purge_originals(tx: Tx, now: float) -> int:
    """Forget originals after 30 days, a bounded number at once; returns how many."""
    return tx.count(_PURGE, {"t": now - KEEP_SECONDS})
