"""Tx and Prepared: statements compiled once and run on the driver."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select, update

from plugin_host.store import Database, Prepared, Tx
from plugin_host.store.tables import kept

COLUMNS = ("plugin", "scope", "owner", "name", "value")
ADD = Prepared(insert(kept).values({name: bindparam(name) for name in COLUMNS}))
ALL = Prepared(select(kept.c.name, kept.c.value).order_by(kept.c.name))
SET = Prepared(update(kept).where(kept.c.name == bindparam("n"), kept.c.scope == "bot").values(value="constant"))


def row(name: str, value: str = "1") -> dict[str, str]:
    return {"plugin": "p", "scope": "bot", "owner": "", "name": name, "value": value}


def test_parameters_are_bound_in_the_order_of_the_statement_and_constants_fill_the_rest() -> None:
    assert SET.names == ("value", "n", "scope_1")
    assert SET.bind({"n": "x"}) == ("constant", "x", "bot")
    assert ADD.bind({"plugin": "p"}) == ("p", None, None, None, None)


async def test_run_gives_rows_for_a_query_and_none_for_a_write(store: Database) -> None:
    def work(tx: Tx) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
        return tx.run(ADD, row("a")), tx.run(ALL)

    assert await store.unit(work) == ([], [("a", "1")])


async def test_run_many_writes_every_row_and_count_tells_how_many_were_touched(store: Database) -> None:
    await store.unit(lambda tx: tx.run_many(ADD, [row("a"), row("b")]))
    assert await store.unit(lambda tx: tx.count(SET, {"n": "a"})) == 1
    assert await store.unit(lambda tx: tx.count(SET, {"n": "nobody"})) == 0
    assert await store.read(lambda tx: tx.run(ALL)) == [("a", "constant"), ("b", "1")]


async def test_any_core_statement_sees_what_the_driver_wrote_in_the_same_transaction(store: Database) -> None:
    def work(tx: Tx) -> list[str]:
        tx.run(ADD, row("a"))
        tx.execute(insert(kept), [row("b"), row("c")])
        return list(tx.execute(select(kept.c.name).order_by(kept.c.name)).scalars())

    assert await store.unit(work) == ["a", "b", "c"]


async def test_a_transaction_is_open_until_the_driver_has_ended_it(store: Database) -> None:
    def query(tx: Tx) -> tuple[bool, bool]:
        before = tx.open
        tx.driver("ROLLBACK")
        return before, tx.open

    assert await store.read(query) == (True, False)
