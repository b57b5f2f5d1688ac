"""Migrations: a plugin's own tables, steps that run once, a store newer than the code, a step that fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, inspect, select, text

from plugin_host.errors import StoreError
from plugin_host.store import Database, Tx
from plugin_host.store import migrations as host_migrations
from plugin_host.store.migrations import migrate
from plugin_host.store.tables import metadata, migrations

CARDS = Table("cards", MetaData(), Column("id", Integer, primary_key=True), Column("name", String(64)))


def number_of(owner: str) -> Callable[[Tx], Any]:
    return lambda tx: tx.execute(select(migrations.c.number).where(migrations.c.owner == owner)).scalar()


def columns_of(table: str) -> Callable[[Tx], list[str]]:
    return lambda tx: [column["name"] for column in inspect(tx._connection).get_columns(table)]


def add_level(operations: Any) -> None:
    operations.add_column("cards", Column("level", Integer, server_default="1"))


def add_title(operations: Any) -> None:
    operations.add_column("cards", Column("title", String(64)))


async def test_a_new_store_has_every_table_of_the_host(store: Database) -> None:
    assert set(await store.read(lambda tx: inspect(tx._connection).get_table_names())) - {"sqlite_sequence"} == set(
        metadata.tables
    )
    assert await store.read(number_of("host")) == len(host_migrations.HOST_MIGRATIONS)


async def test_a_new_plugin_gets_its_tables_as_they_are_today_and_runs_no_step(store: Database) -> None:
    await store.migrate("cards", [CARDS], [add_level, add_title])
    assert await store.read(columns_of("cards")) == ["id", "name"]
    assert await store.read(number_of("cards")) == 2


async def test_only_steps_that_were_not_seen_run_and_each_once(store: Database) -> None:
    await store.migrate("cards", [CARDS], [])
    await store.unit(lambda tx: tx.execute(CARDS.insert(), {"id": 1, "name": "调查员"}))
    await store.migrate("cards", [CARDS], [add_level])
    assert await store.read(columns_of("cards")) == ["id", "name", "level"]
    await store.migrate("cards", [CARDS], [add_level, add_title])
    await store.migrate("cards", [CARDS], [add_level, add_title])
    assert await store.read(columns_of("cards")) == ["id", "name", "level", "title"]
    assert await store.read(number_of("cards")) == 2
    rows = await store.read(lambda tx: tx.execute(text("SELECT * FROM cards")).all())
    assert rows == [(1, "调查员", 1, None)]


async def test_a_step_that_fails_leaves_the_store_as_it_was(store: Database) -> None:
    def fail(operations: Any) -> None:
        operations.execute("INSERT INTO cards (id, name) VALUES (1, 'half')")
        raise LookupError("no such column")

    await store.migrate("cards", [CARDS], [])
    with pytest.raises(LookupError):
        await store.migrate("cards", [CARDS], [add_level, fail])
    assert await store.read(columns_of("cards")) == ["id", "name"]
    assert await store.read(number_of("cards")) == 0
    assert await store.read(lambda tx: tx.execute(text("SELECT count(*) FROM cards")).scalar()) == 0
    await store.migrate("cards", [CARDS], [add_level, add_title])
    assert await store.read(columns_of("cards")) == ["id", "name", "level", "title"]


async def test_a_table_that_cannot_be_made_leaves_no_trace_of_the_plugin(store: Database) -> None:
    wrong = Table("wrong", MetaData(), Column("id", Integer, primary_key=True), Column("id2", Integer), prefixes=["NO"])
    with pytest.raises(Exception, match="syntax error"):
        await store.migrate("cards", [CARDS, wrong], [])
    assert not await store.read(lambda tx: inspect(tx._connection).has_table("cards"))
    assert await store.read(number_of("cards")) is None


async def test_owners_are_numbered_apart(store: Database) -> None:
    await store.migrate("one", [], [add_level])
    await store.migrate("two", [], [])
    assert (await store.read(number_of("one")), await store.read(number_of("two"))) == (1, 0)


async def test_a_plugins_tables_newer_than_its_code_are_refused(store: Database) -> None:
    await store.migrate("cards", [CARDS], [add_level])
    with pytest.raises(StoreError, match=r"the store of cards has version 1, this program knows 0: it is newer"):
        await store.migrate("cards", [CARDS], [])


async def test_a_store_newer_than_the_program_is_refused_and_left_alone(path: Path) -> None:
    newer = len(host_migrations.HOST_MIGRATIONS) + 1
    database = Database(path).open()
    await database.unit(lambda tx: tx.execute(migrations.update().values(number=newer)))
    database.close()
    with pytest.raises(StoreError, match=rf"bot\.db: the store of host has version {newer}, .*it is newer"):
        Database(path).open()
    reader = Database(path).open_for_reading()
    assert reader.read_now(number_of("host")) == newer
    reader.close()


async def test_the_hosts_own_steps_run_when_an_older_store_is_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Database(path).open().close()

    def add_mark(operations: Any) -> None:
        operations.add_column("flags", Column("mark", Integer))

    monkeypatch.setattr(host_migrations, "HOST_MIGRATIONS", (*host_migrations.HOST_MIGRATIONS, add_mark))
    for _ in range(2):
        database = Database(path).open()
        assert await database.read(columns_of("flags")) == ["session", "name", "value", "mark"]
        database.close()


async def test_the_writer_goes_on_while_a_plugin_migrates(store: Database) -> None:
    def fill(operations: Any) -> None:
        for number in range(200):
            operations.execute(f"INSERT INTO cards (id) VALUES ({number})")

    await store.migrate("cards", [CARDS], [])
    await store.migrate("cards", [CARDS], [fill])
    assert await store.unit(lambda tx: tx.execute(text("SELECT count(*) FROM cards")).scalar()) == 200


async def test_the_number_is_returned(store: Database) -> None:
    assert await store.unit(lambda tx: migrate(tx._connection, "cards", [CARDS], [add_level])) == 1
