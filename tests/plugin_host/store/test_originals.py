"""Originals: readable by their own session only, compressed, kept for 30 days."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import func, select

from plugin_host.store import Database
from plugin_host.store.originals import KEEP_SECONDS, keep_original, purge_originals, read_original
from plugin_host.store.tables import raw_text

TEXT = "第一行：骰子\n" * 5_000


async def keep(store: Database, id: str, session: str = "group:1", text: str = TEXT, now: float = 0.0) -> None:
    await store.unit(lambda tx: keep_original(tx, id, session, "result", "fetch", text, now))


async def read(store: Database, id: str, session: str = "group:1") -> str | None:
    return await store.read(lambda tx: read_original(tx, id, session))


async def test_a_text_comes_back_whole_after_reopening(path: Path) -> None:
    first = Database(path).open()
    await keep(first, "a")
    first.close()
    second = Database(path).open()
    assert await read(second, "a") == TEXT
    second.close()


@pytest.mark.parametrize("session", ["group:2", "private:1", "", "GROUP:1", "group:1%"])
async def test_no_other_session_can_read_it(store: Database, session: str) -> None:
    await keep(store, "a")
    assert await read(store, "a", session) is None
    assert await read(store, "a") == TEXT


async def test_an_unknown_id_is_none_and_the_empty_text_is_a_text(store: Database) -> None:
    await keep(store, "empty", text="")
    assert await read(store, "unknown") is None
    assert await read(store, "empty") == ""


async def test_an_id_is_given_once(store: Database) -> None:
    await keep(store, "a")
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await keep(store, "a", "group:2", "another")
    assert await read(store, "a") == TEXT


async def test_what_is_kept_is_compressed(store: Database) -> None:
    await keep(store, "a")
    size = await store.read(lambda tx: tx.execute(select(func.length(raw_text.c.body))).scalar())
    assert size is not None
    assert size < len(TEXT.encode()) / 10


async def test_originals_live_30_days(store: Database) -> None:
    assert KEEP_SECONDS == 30 * 86_400
    await keep(store, "older", now=99.0)
    await keep(store, "exact", now=100.0)
    await store.unit(lambda tx: purge_originals(tx, 100.0 + KEEP_SECONDS))
    assert (await read(store, "older"), await read(store, "exact")) == (None, TEXT)
