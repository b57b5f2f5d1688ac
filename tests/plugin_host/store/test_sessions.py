"""Session settings and switches: only differences are stored, None is back to the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from plugin_host.store import Database
from plugin_host.store.sessions import read_session, write_session
from plugin_host.store.tables import flags, switches


async def write(store: Database, session: str, new_flags: dict[str, Any], new_switches: dict[str, Any]) -> None:
    await store.unit(lambda tx: write_session(tx, session, new_flags, new_switches))


async def read(store: Database, session: str = "group:1") -> tuple[dict[str, Any], dict[str, bool]]:
    return await store.read(lambda tx: read_session(tx, session))


async def count(store: Database) -> int:
    def query(tx: Any) -> int:
        return sum(tx.execute(select(func.count()).select_from(table)).scalar() for table in (flags, switches))

    return await store.read(query)


async def test_an_unknown_session_is_at_its_defaults(store: Database) -> None:
    assert await read(store) == ({}, {})


async def test_flags_and_switches_come_back_with_their_types(path: Path) -> None:
    kept = {"level": 1, "ai": True, "bot": False, "names": ["小骰"], "rate": 0.5, "mode": "群"}
    first = Database(path).open()
    await write(first, "group:1", kept, {"roll": True, "ban": False})
    first.close()
    second = Database(path).open()
    found, on = await read(second)
    assert (found, on) == (kept, {"roll": True, "ban": False})
    assert found["ai"] is True
    assert on["ban"] is False
    second.close()


async def test_none_is_back_to_the_default_and_nothing_of_it_is_stored(store: Database) -> None:
    await write(store, "group:1", {"level": 1, "ai": True}, {"roll": True, "ban": False})
    await write(store, "group:1", {"level": None, "never": None}, {"ban": None, "never": None})
    assert await read(store) == ({"ai": True}, {"roll": True})
    await write(store, "group:1", {"ai": None}, {"roll": None})
    assert await count(store) == 0


async def test_false_and_zero_are_values_of_their_own(store: Database) -> None:
    await write(store, "group:1", {"ai": False, "level": 0}, {"roll": False})
    assert await read(store) == ({"ai": False, "level": 0}, {"roll": False})


async def test_the_last_write_counts_and_others_stay(store: Database) -> None:
    await write(store, "group:1", {"level": 1, "ai": True}, {"roll": True, "ban": True})
    await write(store, "group:1", {"level": 2}, {"ban": False})
    assert await read(store) == ({"level": 2, "ai": True}, {"roll": True, "ban": False})


async def test_sessions_do_not_meet(store: Database) -> None:
    await write(store, "group:1", {"level": 1}, {"roll": False})
    await write(store, "private:1", {"level": 2}, {"roll": True})
    await write(store, "private:1", {"level": None}, {"roll": None})
    assert await read(store) == ({"level": 1}, {"roll": False})
    assert await read(store, "private:1") == ({}, {})
