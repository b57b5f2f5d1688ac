"""The outbox table: queued in order, one state after another, hidden bodies deleted, 7 and 30 days."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import select

from plugin_host.store import Database, Tx
from plugin_host.store.journal import Entry, read_lines
from plugin_host.store.outgoing import (
    OTHER_LIFE,
    SENT_LIFE,
    Ended,
    MarkEnded,
    MarkSending,
    Outgoing,
    RowState,
    has_rows,
    purge_outbox,
    queue_rows,
    rows_in,
)
from plugin_host.store.tables import outbox
from plugin_host.values import Action

SENDING, ENDING = MarkSending(), MarkEnded()
NOW = 10_000_000.0
DAY = 86_400.0
STATES: tuple[RowState, ...] = ("waiting", "sending", "sent", "failed", "unknown", "expired")


def row(key: str, *, hidden: bool = False, created: float = NOW) -> Outgoing:
    params = {"group_id": "1", "message": [{"type": "text", "data": {"text": "出目 20"}}]}
    action = Action(key, "group:1", "QQ:42", "send_group_msg", params, hidden, "ai")
    return Outgoing(action, key.split(":")[0], created, user_id="1001", on_failed="私信没有送到")


async def queue(store: Database, *rows: Outgoing) -> list[Outgoing]:
    return await store.unit(lambda tx: queue_rows(tx, rows))


def states(tx: Tx) -> dict[str, str]:
    rows = tx.execute(select(outbox.c.key, outbox.c.state).order_by(outbox.c.seq)).all()
    return {row.key: row.state for row in rows}


async def test_rows_are_numbered_in_the_order_in_which_they_were_queued(store: Database) -> None:
    queued = await queue(store, row("e:1:0"), row("e:1:1"))
    queued += await queue(store, row("e:2:0"))
    assert [item.seq for item in queued] == [1, 2, 3]
    assert await store.read(lambda tx: rows_in(tx, "waiting")) == queued


async def test_a_row_comes_back_as_it_was_after_reopening(path: Path) -> None:
    first = Database(path).open()
    queued = await queue(first, row("e:1:0", hidden=True))
    first.close()
    second = Database(path).open()
    assert await second.read(lambda tx: rows_in(tx, "waiting")) == queued
    assert queued == [Outgoing(row("e:1:0", hidden=True).action, "e", NOW, 1, "1001", "私信没有送到")]
    second.close()


async def test_a_key_is_queued_once(store: Database) -> None:
    await queue(store, row("e:1:0"))
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await queue(store, row("e:1:1"), row("e:1:0"))
    assert await store.read(states) == {"e:1:0": "waiting"}


async def test_an_event_has_rows_once_it_has_queued_one(store: Database) -> None:
    await queue(store, row("e:1:0"))
    assert await store.read(lambda tx: has_rows(tx, "e"))
    assert not await store.read(lambda tx: has_rows(tx, "another"))


async def test_a_row_goes_from_waiting_to_sending_to_its_end(store: Database) -> None:
    first, second = await queue(store, row("e:1:0"), row("e:1:1"))
    await store.append(SENDING, first)
    assert await store.read(states) == {"e:1:0": "sending", "e:1:1": "waiting"}
    store.append_later(ENDING, Ended(first, "sent", NOW + 1))
    line = Entry(NOW, "group:1", "e", "send.failed", payload={"key": "e:1:1"})
    await store.append(ENDING, Ended(second, "failed", NOW + 2, "retcode 100", (line,)))
    assert await store.read(states) == {"e:1:0": "sent", "e:1:1": "failed"}
    columns = select(outbox.c.ended, outbox.c.error).order_by(outbox.c.seq)
    assert await store.read(lambda tx: tx.execute(columns).all()) == [(NOW + 1, None), (NOW + 2, "retcode 100")]
    assert [found.entry for found in await store.read(read_lines)] == [line]


@pytest.mark.parametrize("state", ["sent", "failed", "unknown", "expired"])
async def test_the_body_of_a_hidden_row_goes_with_its_end_and_that_of_others_stays(
    store: Database, state: RowState
) -> None:
    hidden, shown = await queue(store, row("e:1:0", hidden=True), row("e:1:1"))
    for item in (hidden, shown):
        await store.append(ENDING, Ended(item, state, NOW))
    ended = await store.read(lambda tx: rows_in(tx, state))
    assert [item.action.params for item in ended] == [{}, shown.action.params]


async def test_sent_rows_live_7_days_others_30_and_unsent_ones_until_they_end(store: Database) -> None:
    assert (SENT_LIFE, OTHER_LIFE) == (7 * DAY, 30 * DAY)
    for state in STATES:
        for item in await queue(store, row(f"{state}:exact"), row(f"{state}:older")):
            if state != "waiting":
                ended = NOW if item.action.key.endswith("exact") else NOW - 1
                await store.append(ENDING, Ended(item, state, ended))
    every = {f"{state}:{age}" for state in STATES for age in ("exact", "older")}
    await store.unit(lambda tx: purge_outbox(tx, NOW + SENT_LIFE))
    assert set(await store.read(states)) == every - {"sent:older"}
    await store.unit(lambda tx: purge_outbox(tx, NOW + OTHER_LIFE))
    left = set(await store.read(states))
    assert every - left == {"sent:older", "sent:exact", "failed:older", "unknown:older", "expired:older"}
    await store.unit(lambda tx: purge_outbox(tx, NOW + OTHER_LIFE + 1))
    assert set(await store.read(states)) == {key for key in every if key.split(":")[0] in ("waiting", "sending")}


async def test_a_row_that_waited_long_lives_on_from_the_day_it_was_sent(store: Database) -> None:
    (item,) = await queue(store, row("e:1:0", created=NOW - 8 * DAY))
    await store.append(ENDING, Ended(item, "sent", NOW))
    await store.unit(lambda tx: purge_outbox(tx, NOW + 1))
    assert await store.read(states) == {"e:1:0": "sent"}
