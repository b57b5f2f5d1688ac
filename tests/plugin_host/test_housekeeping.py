"""Housekeeping: what is forgotten, and what is not, at the edge of its retention."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plugin_host.config.settings import Settings
from plugin_host.housekeeping import DAY, Housekeeping
from plugin_host.store.events import AcceptEvents, Accepting, end_events
from plugin_host.store.journal import Entry, purge_journal, write_entries
from plugin_host.store.originals import keep_original
from plugin_host.store.outgoing import Ended, MarkEnded, Outgoing, queue_rows
from plugin_host.store.tx import PURGE_LIMIT
from plugin_host.values import Action, Event
from tests.kit.host_room import MovedClock, Store, until


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path) as opened:
        yield opened


def keeper(store: Store, clock: MovedClock, keep: int = 90) -> Housekeeping:
    return Housekeeping(store.database, clock, lambda: Settings.model_validate({"journal": {"keep": keep}}))


async def fill(store: Store, clock: MovedClock) -> None:
    """One ended and one open event, a row in each state, an original, a line; all of now."""
    now = clock.now()
    for key in ("open", "done"):
        await store.database.append(AcceptEvents(), Accepting(Event(key, "message", "group:1"), now))

    def work(tx) -> None:
        end_events(tx, ["done"], now)
        keep_original(tx, "raw:1", "group:1", "tool", "t", "text", now)
        for state in ("waiting", "sent", "failed", "unknown", "expired"):
            action = Action(state, "group:1", "QQ:1", "send_group_msg", {})
            [row] = queue_rows(tx, [Outgoing(action, "done", now)])
            if state != "waiting":
                MarkEnded().apply(tx, [Ended(row, state, now)])

    await store.database.unit(work)
    await store.note(Entry(now, "group:1", "done", "line"))


@pytest.mark.parametrize(
    ("days", "events", "rows", "originals", "lines"),
    [
        (2 - 0.01, 2, 5, 1, 3),
        (2 + 0.01, 1, 5, 1, 3),
        (7 - 0.01, 1, 5, 1, 3),
        (7 + 0.01, 1, 4, 1, 3),
        (30 - 0.01, 1, 4, 1, 3),
        (30 + 0.01, 1, 1, 0, 3),
        (90 - 0.01, 1, 1, 0, 3),
        (90 + 0.01, 1, 1, 0, 0),
    ],
)
async def test_each_table_keeps_its_time(
    store: Store, days: float, events: int, rows: int, originals: int, lines: int
) -> None:
    clock = MovedClock(frozen=True)
    await fill(store, clock)
    clock.ahead = days * DAY
    await keeper(store, clock).sweep()
    counts = [len(await store.rows(f"select * from {table}")) for table in ("events", "outbox", "raw_text", "journal")]
    assert counts == [events, rows, originals, lines]


async def test_what_is_open_is_never_forgotten(store: Store) -> None:
    clock = MovedClock(frozen=True)
    await fill(store, clock)
    clock.ahead = 10_000 * DAY
    await keeper(store, clock).sweep()
    assert await store.rows("select key from events") == [("open",)]
    assert await store.rows("select key from outbox") == [("waiting",)]


async def test_more_than_one_unit_may_delete_is_forgotten_in_several(store: Store) -> None:
    clock = MovedClock(frozen=True)
    lines = [Entry(clock.now(), "group:1", "e", "line")] * (PURGE_LIMIT + 1)
    await store.database.unit(lambda tx: write_entries(tx, lines))
    clock.ahead = 91 * DAY
    forgotten = await store.database.unit(lambda tx: purge_journal(tx, clock.now()))
    assert forgotten == PURGE_LIMIT
    await store.database.unit(lambda tx: write_entries(tx, lines))
    await keeper(store, clock).sweep()
    assert await store.rows("select count(*) from journal") == [(0,)]


async def test_keep_zero_keeps_the_journal_for_ever(store: Store) -> None:
    clock = MovedClock(frozen=True)
    await fill(store, clock)
    clock.ahead = 10_000 * DAY
    await keeper(store, clock, keep=0).sweep()
    assert len(await store.rows("select * from journal")) == 3


async def test_a_sweep_that_fails_is_logged_and_does_not_end_the_sweeper(tmp_path: Path, logs: list[str]) -> None:
    async with Store(tmp_path) as store:
        pass
    sweeping = asyncio.create_task(keeper(store, MovedClock()).run())
    await until(lambda: any("housekeeping failed" in line for line in logs))
    assert not sweeping.done()
    sweeping.cancel()
    assert (await asyncio.wait({sweeping}, timeout=5))[0] == {sweeping}
