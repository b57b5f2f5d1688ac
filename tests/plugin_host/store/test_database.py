"""Database: opening, closing, reading beside a writer, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from plugin_host.errors import StoreError
from plugin_host.store import Database, Tx
from plugin_host.store.journal import AppendEntries, Entry, read_lines
from plugin_host.store.kept import get_kept, set_kept


def entry(name: str) -> Entry:
    return Entry(1.0, "group:1", "event", "note", name=name)


def names(tx: Tx) -> list[str]:
    return [line.entry.name for line in read_lines(tx, limit=0)]


async def test_what_was_written_is_there_after_reopening(path: Path) -> None:
    first = Database(path).open()
    await first.unit(lambda tx: set_kept(tx, "luck", "bot", "", "n", {"a": [1, "二"]}))
    first.close()
    second = Database(path).open()
    assert await second.read(lambda tx: get_kept(tx, "luck", "bot", "", "n")) == {"a": [1, "二"]}
    second.close()


async def test_every_commit_is_synced_and_the_journal_is_a_wal(store: Database) -> None:
    def pragmas(tx: Tx) -> tuple[str, int]:
        mode = tx.execute(text("PRAGMA journal_mode")).scalar()
        return str(mode), int(tx.execute(text("PRAGMA synchronous")).scalar() or 0)

    assert await store.unit(pragmas) == ("wal", 2)


async def test_close_commits_what_was_queued(path: Path) -> None:
    database = Database(path).open()
    append = AppendEntries()
    for number in range(500):
        database.append_later(append, entry(str(number)))
    unit = asyncio.ensure_future(database.unit(lambda tx: set_kept(tx, "p", "bot", "", "n", 1)))
    await asyncio.sleep(0)
    database.close()
    async with asyncio.timeout(5):
        await unit
    reader = Database(path).open_for_reading()
    assert reader.read_now(names) == [str(number) for number in range(500)]
    assert reader.read_now(lambda tx: get_kept(tx, "p", "bot", "", "n")) == 1
    reader.close()


async def test_a_closed_store_refuses_everything(path: Path) -> None:
    database = Database(path).open()
    database.close()
    with pytest.raises(StoreError, match="closed"):
        await database.unit(lambda tx: None)
    with pytest.raises(StoreError, match="closed"):
        await database.append(AppendEntries(), entry("a"))
    with pytest.raises(StoreError, match="closed"):
        database.append_later(AppendEntries(), entry("a"))
    with pytest.raises(StoreError, match="not open"):
        await database.read(names)
    with pytest.raises(StoreError, match="not open"):
        database.read_now(names)
    with pytest.raises(StoreError, match="not open"):
        await database.migrate("p", [], [])


async def test_a_store_that_was_never_opened_refuses(path: Path) -> None:
    database = Database(path)
    with pytest.raises(StoreError, match="not open"):
        await database.unit(lambda tx: None)
    with pytest.raises(StoreError, match="not open"):
        await database.read(names)
    database.close()


def test_close_may_be_called_twice_and_ends_its_threads(path: Path) -> None:
    before = set(threading.enumerate())
    database = Database(path).open()
    assert {thread.name for thread in set(threading.enumerate()) - before} == {"watchdog", "store-writer"}
    database.close()
    database.close()
    assert set(threading.enumerate()) <= before


def test_a_file_that_is_no_database_is_one_clear_error(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    with pytest.raises(StoreError, match=r"打不开数据库 bot\.db（.*not a database"):
        Database(path).open()


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"打不开数据库 bot\.db"):
        Database(tmp_path / "file" / "bot.db").open()


@pytest.mark.parametrize("folder", ["with space", "a?b=c", "a#b", "100%25", "骰子"])
async def test_the_path_may_hold_any_character(tmp_path: Path, folder: str) -> None:
    database = Database(tmp_path / folder / "bot.db").open()
    await database.append(AppendEntries(), entry("a"))
    database.close()
    assert (tmp_path / folder / "bot.db").stat().st_size > 0


async def test_reading_waits_for_no_writer(store: Database, path: Path) -> None:
    """A second process's reader sees the last commit while a unit is under way."""
    await store.append(AppendEntries(), entry("before"))
    inside, leave = threading.Event(), threading.Event()

    def work(tx: Tx) -> None:
        set_kept(tx, "p", "bot", "", "n", 1)
        inside.set()
        leave.wait(0.2)

    unit = asyncio.ensure_future(store.unit(work))
    assert await asyncio.to_thread(inside.wait, 5)
    reader = Database(path).open_for_reading()
    assert reader.read_now(names) == ["before"]
    assert await store.read(lambda tx: get_kept(tx, "p", "bot", "", "n")) is None
    leave.set()
    await unit
    assert reader.read_now(lambda tx: get_kept(tx, "p", "bot", "", "n")) == 1
    reader.close()


async def test_a_query_of_several_statements_sees_one_state(store: Database) -> None:
    read_first, go_on = threading.Event(), threading.Event()

    def query(tx: Tx) -> tuple[object, object]:
        first = get_kept(tx, "p", "bot", "", "n")
        read_first.set()
        assert go_on.wait(5)
        return first, get_kept(tx, "p", "bot", "", "n")

    await store.unit(lambda tx: set_kept(tx, "p", "bot", "", "n", "old"))
    reading = asyncio.ensure_future(store.read(query))
    assert await asyncio.to_thread(read_first.wait, 5)
    await store.unit(lambda tx: set_kept(tx, "p", "bot", "", "n", "new"))
    go_on.set()
    assert await reading == ("old", "old")
    assert await store.read(lambda tx: get_kept(tx, "p", "bot", "", "n")) == "new"


async def test_a_reader_cannot_write(store: Database) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await store.read(lambda tx: set_kept(tx, "p", "bot", "", "n", 1))
