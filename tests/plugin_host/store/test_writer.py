"""The writer: group commit, one failure spares the others, a unit that holds it too long is interrupted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from plugin_host.errors import StoreError, UnitOverrunError
from plugin_host.store import Database, Tx
from plugin_host.store.journal import AppendEntries, Entry, read_lines
from plugin_host.store.kept import get_kept, kept_names, set_kept

ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
APPEND = AppendEntries()


def entry(name: str) -> Entry:
    return Entry(1.0, "group:1", "event", "note", name=name)


def put(name: str) -> Callable[[Tx], None]:
    return lambda tx: set_kept(tx, "p", "bot", "", name, True)


def put_and(name: str, then: Callable[[Tx], Any]) -> Callable[[Tx], None]:
    def work(tx: Tx) -> None:
        set_kept(tx, "p", "bot", "", name, True)
        then(tx)

    return work


async def stored(database: Database) -> list[str]:
    return await database.read(lambda tx: kept_names(tx, "p", "bot", ""))


async def journal(database: Database) -> list[str]:
    return [line.entry.name for line in await database.read(lambda tx: read_lines(tx, limit=0))]


async def all_of(*waiting: Any) -> list[Any]:
    async with asyncio.timeout(10):
        return await asyncio.gather(*waiting, return_exceptions=True)


async def test_fifty_producers_share_commits(store: Database) -> None:
    async def produce(producer: int) -> None:
        for number in range(20):
            await store.append(APPEND, entry(f"{producer}.{number}"))

    before = store.commits
    assert await all_of(*(produce(number) for number in range(50))) == [None] * 50
    names = await journal(store)
    assert sorted(names) == sorted(f"{producer}.{number}" for producer in range(50) for number in range(20))
    assert store.commits - before <= 200
    for producer in range(50):
        own = [name for name in names if name.startswith(f"{producer}.")]
        assert own == [f"{producer}.{number}" for number in range(20)]


async def test_units_share_commits_and_give_their_values(store: Database) -> None:
    def work(number: int) -> Callable[[Tx], int]:
        def add(tx: Tx) -> int:
            total = (get_kept(tx, "p", "bot", "", "sum") or 0) + number
            set_kept(tx, "p", "bot", "", "sum", total)
            return number * 2

        return add

    before = store.commits
    assert await all_of(*(store.unit(work(number)) for number in range(100))) == [n * 2 for n in range(100)]
    assert await store.read(lambda tx: get_kept(tx, "p", "bot", "", "sum")) == 4950
    assert store.commits - before <= 20


async def test_a_unit_that_fails_spares_the_others_of_its_batch(store: Database) -> None:
    def fail(tx: Tx) -> None:
        raise LookupError("no such card")

    units = [put("a"), put_and("bad", fail), put("b")]
    before = store.commits
    results = await all_of(*(store.unit(work) for work in units), store.append(APPEND, entry("kept")))
    assert [type(result) for result in results] == [type(None), LookupError, type(None), type(None)]
    assert await stored(store) == ["a", "b"]
    assert await journal(store) == ["kept"]
    assert store.commits - before <= 2


async def test_a_unit_that_breaks_a_constraint_fails_with_that_error_and_spares_the_others(store: Database) -> None:
    def twice(tx: Tx) -> None:
        for _ in range(2):
            tx.execute(text("INSERT INTO switches (session, tool, state) VALUES ('s', 't', 1)"))

    results = await all_of(store.unit(put("a")), store.unit(put_and("bad", twice)), store.unit(put("b")))
    assert isinstance(results[1], IntegrityError)
    assert await stored(store) == ["a", "b"]


async def test_an_append_that_fails_fails_only_its_caller(store: Database) -> None:
    bad: Any = Entry(1.0, None, "event", "note")  # type: ignore[arg-type]
    results = await all_of(
        store.append(APPEND, entry("first")),
        store.append(APPEND, bad),
        store.append(APPEND, entry("second")),
        store.unit(put("unit")),
    )
    assert [result is None for result in results] == [True, False, True, True]
    assert "NOT NULL" in str(results[1])
    assert sorted(await journal(store)) == ["first", "second"]
    assert await stored(store) == ["unit"]


async def test_a_failed_write_that_nobody_waits_for_is_logged(store: Database, logs: list[str]) -> None:
    bad: Any = Entry(1.0, None, "event", "note")  # type: ignore[arg-type]
    store.append_later(APPEND, bad, owner="luck")
    await store.append(APPEND, entry("after"))
    assert await journal(store) == ["after"]
    assert any("a write of luck that nobody waits for failed" in line for line in logs)


async def test_a_caller_that_gave_up_disturbs_nobody(store: Database) -> None:
    waiting = asyncio.ensure_future(store.unit(put("given up")))
    await asyncio.sleep(0)
    waiting.cancel()
    results = await all_of(waiting, store.unit(put("after")))
    assert isinstance(results[0], asyncio.CancelledError)
    assert await stored(store) == ["after", "given up"]


def loop_for_ever(tx: Tx) -> None:
    while True:
        pass


def query_for_ever(tx: Tx) -> None:
    tx.execute(text(f"{ENDLESS} SELECT count(*) FROM c"))


def write_for_ever(tx: Tx) -> None:
    insert = "INSERT INTO kept (plugin, scope, owner, name, value) "
    tx.execute(text(f"{insert} {ENDLESS} SELECT 'q', 'bot', '', n, '1' FROM c"))


def leave_a_cursor_half_read(tx: Tx) -> None:
    rows = tx.execute(text(f"{ENDLESS} SELECT n FROM c"))
    rows.fetchone()
    loop_for_ever(tx)


def read_row_by_row(tx: Tx) -> None:
    for _ in tx.execute(text(f"{ENDLESS} SELECT n FROM c")):
        pass


def swallow_every_exception(tx: Tx) -> None:
    try:
        query_for_ever(tx)
    except Exception:
        loop_for_ever(tx)


def swallow_the_first_interrupt(tx: Tx) -> None:
    try:
        loop_for_ever(tx)
    except BaseException:
        loop_for_ever(tx)


def return_after_the_interrupt(tx: Tx) -> None:
    try:
        loop_for_ever(tx)
    except BaseException:
        return


@pytest.mark.parametrize(
    "culprit",
    [
        loop_for_ever,
        query_for_ever,
        write_for_ever,
        leave_a_cursor_half_read,
        read_row_by_row,
        swallow_every_exception,
        swallow_the_first_interrupt,
        return_after_the_interrupt,
    ],
)
async def test_a_unit_past_its_limit_is_interrupted_named_and_rolled_back_alone(
    hasty: Database, logs: list[str], culprit: Callable[[Tx], Any]
) -> None:
    results = await all_of(
        hasty.append(APPEND, entry("append")),
        hasty.unit(put("before")),
        hasty.unit(put_and("culprit", culprit), owner="slow_plugin"),
        hasty.unit(put("after")),
    )
    assert [type(result) for result in results] == [type(None), type(None), UnitOverrunError, type(None)]
    assert "slow_plugin" in str(results[2])
    assert any("unit of slow_plugin held the writer past 0.1 s" in line for line in logs)
    assert await all_of(hasty.unit(put("later")), hasty.append(APPEND, entry("later"))) == [None, None]
    assert await stored(hasty) == ["after", "before", "later"]
    assert await journal(hasty) == ["append", "later"]


async def test_the_unit_behind_an_interrupted_one_is_not_hit(hasty: Database) -> None:
    """However the interrupt falls, statements of an innocent unit run to their end."""

    def busy(tx: Tx) -> int:
        until, count = time.monotonic() + 0.04, 0
        while time.monotonic() < until:
            tx.execute(text(f"{ENDLESS} SELECT count(*) FROM (SELECT n FROM c LIMIT 5000)"))
            count += 1
        return count

    for culprit in (loop_for_ever, query_for_ever):
        for _ in range(3):
            results = await all_of(hasty.unit(culprit), hasty.unit(busy))
            assert isinstance(results[0], UnitOverrunError)
            assert results[1] > 0


async def test_a_long_batch_of_short_units_is_no_overrun(hasty: Database) -> None:
    def short(tx: Tx) -> float:
        began = time.monotonic()
        while time.monotonic() - began < 0.02:
            pass
        return time.monotonic()

    ended = await all_of(*(hasty.unit(short) for _ in range(15)))
    assert max(ended) - min(ended) > 0.1


async def test_a_lost_connection_fails_its_writes_and_is_opened_anew(store: Database, logs: list[str]) -> None:
    def close_it(tx: Tx) -> None:
        driver: Any = tx._connection.connection.driver_connection
        driver.close()

    results = await all_of(store.unit(close_it, owner="vandal"), store.append(APPEND, entry("same batch")))
    assert all(isinstance(result, StoreError) for result in results)
    assert any("opened anew" in line for line in logs)
    assert await all_of(store.unit(put("after")), store.append(APPEND, entry("after"))) == [None, None]
    assert await stored(store) == ["after"]


async def test_a_loop_that_closed_has_nobody_to_tell(store: Database) -> None:
    def write_and_leave() -> None:
        async def main() -> None:
            task = asyncio.ensure_future(store.unit(lambda tx: time.sleep(0.1)))
            await asyncio.sleep(0)
            task.cancel()

        asyncio.run(main())

    await asyncio.to_thread(write_and_leave)
    assert await all_of(store.unit(put("after"))) == [None]


@pytest.mark.parametrize("sql", ["ROLLBACK", "COMMIT", "SAVEPOINT mine"])
async def test_a_unit_cannot_end_the_transaction_of_the_others(store: Database, sql: str) -> None:
    evil = store.unit(lambda tx: tx.execute(text(sql)), owner="evil")
    failed, good = await asyncio.gather(evil, store.unit(lambda tx: 5), return_exceptions=True)
    assert "not authorized" in str(failed)
    assert good == 5
