"""The plugins' key-value rows: by plugin, scope (session, person, bot) and owner."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from plugin_host.errors import InvalidArgumentsError
from plugin_host.store.tables import kept
from plugin_host.store.tx import Prepared, Tx

VALUE_LIMIT = 64 * 1024

_insert = insert(kept).values({name: bindparam(name) for name in ("plugin", "scope", "owner", "name", "value")})
_SET = Prepared(
    _insert.on_conflict_do_update(
        index_elements=["plugin", "scope", "owner", "name"], set_={"value": _insert.excluded["value"]}
    )
)
_where = (
    kept.c.plugin == bindparam("p"),
    kept.c.scope == bindparam("s"),
    kept.c.owner == bindparam("o"),
)
_GET = Prepared(select(kept.c.value).where(*_where, kept.c.name == bindparam("n")))
_NAMES = Prepared(select(kept.c.name).where(*_where).order_by(kept.c.name))
_DROP = Prepared(delete(kept).where(*_where, kept.c.name == bindparam("n")))


def get_kept(tx: Tx, plugin: str, scope: str, owner: str, name: str) -> Any:
    """The stored value, or None."""
    rows = tx.run(_GET, {"p": plugin, "s": scope, "o": owner, "n": name})
    return json.loads(rows[0][0]) if rows else None


def kept_names(tx: Tx, plugin: str, scope: str, owner: str) -> list[str]:
    """The names stored, sorted."""
    return [name for (name,) in tx.run(_NAMES, {"p": plugin, "s": scope, "o": owner})]


def set_kept(tx: Tx, plugin: str, scope: str, owner: str, name: str, value: Any) -> None:
    """Store a JSON value; None forgets the name. Raises InvalidArgumentsError when it is no JSON or too large."""
    if value is None:
        tx.count(_DROP, {"p": plugin, "s": scope, "o": owner, "n": name})
        return
    tx.count(_SET, {"plugin": plugin, "scope": scope, "owner": owner, "name": name, "value": encode(name, value)})


def encode(name: str, value: Any) -> str:
    """The value as JSON text; raises InvalidArgumentsError when it is no JSON or over 64 KiB."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentsError(f"存储值 {name} 不是 JSON：{error}") from error
    if size > VALUE_LIMIT:
        raise InvalidArgumentsError(f"存储值 {name} 超过 {VALUE_LIMIT} 字节")
    return text
