"""Session settings and tool switches, stored as differences from the defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from plugin_host.store.tables import flags, switches
from plugin_host.store.tx import Prepared, Tx

_insert_flag = insert(flags).values(session=bindparam("session"), name=bindparam("name"), value=bindparam("value"))
_SET_FLAG = Prepared(
    _insert_flag.on_conflict_do_update(
        index_elements=["session", "name"], set_={"value": _insert_flag.excluded["value"]}
    )
)
_DROP_FLAG = Prepared(delete(flags).where(flags.c.session == bindparam("s"), flags.c.name == bindparam("n")))
_FLAGS = Prepared(select(flags.c.name, flags.c.value).where(flags.c.session == bindparam("s")))
_insert_switch = insert(switches).values(session=bindparam("session"), tool=bindparam("tool"), state=bindparam("state"))
_SET_SWITCH = Prepared(
    _insert_switch.on_conflict_do_update(
        index_elements=["session", "tool"], set_={"state": _insert_switch.excluded.state}
    )
)
_DROP_SWITCH = Prepared(delete(switches).where(switches.c.session == bindparam("s"), switches.c.tool == bindparam("n")))
_SWITCHES = Prepared(select(switches.c.tool, switches.c.state).where(switches.c.session == bindparam("s")))


def read_session(tx: Tx, session: str) -> tuple[dict[str, Any], dict[str, bool]]:
    """(flags, switches) of a session; empty where everything is at its default."""
    found = {name: json.loads(value) for name, value in tx.run(_FLAGS, {"s": session})}
    return found, {tool: bool(state) for tool, state in tx.run(_SWITCHES, {"s": session})}


def write_session(tx: Tx, session: str, new_flags: Mapping[str, Any], new_switches: Mapping[str, bool | None]) -> None:
    """Store changed flags and switches; None is back to the default, of which nothing is stored."""
    for name, value in new_flags.items():
        if value is None:
            tx.count(_DROP_FLAG, {"s": session, "n": name})
        else:
            tx.count(_SET_FLAG, {"session": session, "name": name, "value": json.dumps(value, ensure_ascii=False)})
    for tool, state in new_switches.items():
        if state is None:
            tx.count(_DROP_SWITCH, {"s": session, "n": tool})
        else:
            tx.count(_SET_SWITCH, {"session": session, "tool": tool, "state": int(state)})
