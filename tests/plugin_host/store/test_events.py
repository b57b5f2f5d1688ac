"""The inbox table: accepted once, attempts counted, open until ended, keys for 48 hours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from plugin_host.store import Database, Tx
from plugin_host.store.events import (
    KEY_LIFE,
    AcceptEvents,
    Accepting,
    StartEvents,
    end_events,
    open_events,
    purge_events,
)
from plugin_host.store.journal import read_lines
from plugin_host.store.tables import events
from plugin_host.values import Event, Segment, Sender

ACCEPT, START = AcceptEvents(), StartEvents()
NOW = 1_000_000.0


def event(key: str, **more: object) -> Event:
    return Event(key, "message", "group:1", time=NOW - 2, **more)  # type: ignore[arg-type]


async def accept(store: Database, key: str, now: float = NOW) -> bool:
    return bool(await store.append(ACCEPT, Accepting(event(key), now)))


def keys(tx: Tx) -> list[str]:
    return list(tx.execute(select(events.c.key).order_by(events.c.seq)).scalars())


def attempts(tx: Tx) -> dict[str, int]:
    return {waiting.event.key: waiting.attempts for waiting in open_events(tx)}


async def test_a_key_is_new_once_and_a_duplicate_ever_after(store: Database) -> None:
    assert await accept(store, "a") is True
    assert await accept(store, "a") is False
    assert await accept(store, "b") is True
    assert await store.read(keys) == ["a", "b"]


async def test_of_two_with_one_key_in_one_batch_the_first_is_new(store: Database) -> None:
    before = store.commits
    results = await asyncio.gather(*(accept(store, key) for key in ("a", "b", "a", "c", "b", "a")))
    assert results == [True, True, False, True, False, False]
    assert store.commits - before <= 2
    assert await store.read(keys) == ["a", "b", "c"]


async def test_a_key_stays_known_after_the_event_has_ended_and_after_reopening(path: Path) -> None:
    first = Database(path).open()
    await accept(first, "a")
    await first.unit(lambda tx: end_events(tx, ["a"], NOW))
    assert await accept(first, "a") is False
    first.close()
    second = Database(path).open()
    assert await accept(second, "a") is False
    second.close()


async def test_acceptance_is_journalled_once_with_the_events_age(store: Database) -> None:
    await asyncio.gather(accept(store, "a"), accept(store, "a"))
    (line,) = await store.read(read_lines)
    assert (line.entry.type, line.entry.session, line.entry.turn) == ("event.accepted", "group:1", "a")
    assert line.entry.payload == {"key": "a", "age": 2.0}


async def test_an_open_event_comes_back_as_it_was(path: Path) -> None:
    whole = event(
        "a",
        user_id="1001",
        sender=Sender("小明", "守秘人", "admin", "头衔"),
        segments=(Segment.text(".r d20"), Segment("at", {"qq": "1"})),
        text=".r d20",
        addressed=True,
        raw=b'{"\xff": 1}',
        door="QQ:42",
        detail={"notice_type": "poke", "n": 1},
    )
    database = Database(path).open()
    await database.append(ACCEPT, Accepting(whole, NOW))
    database.close()
    database = Database(path).open()
    (waiting,) = await database.read(open_events)
    assert (waiting.event, waiting.attempts, waiting.accepted) == (whole, 0, NOW)
    database.close()


async def test_open_events_come_in_the_order_of_their_acceptance(store: Database) -> None:
    for key in ("c", "a", "b"):
        await accept(store, key)
    assert [waiting.event.key for waiting in await store.read(open_events)] == ["c", "a", "b"]


async def test_attempts_are_counted_for_each_key(store: Database) -> None:
    for key in ("a", "b"):
        await accept(store, key)
    await asyncio.gather(*(store.append(START, key) for key in ("a", "b", "a", "nobody")))
    await store.append(START, "a")
    assert await store.read(attempts) == {"a": 3, "b": 1}


@pytest.mark.parametrize(("failed", "state"), [(False, "done"), (True, "failed")])
async def test_an_ended_event_keeps_its_key_and_loses_its_body(store: Database, failed: bool, state: str) -> None:
    await accept(store, "a")
    await accept(store, "b")
    await store.unit(lambda tx: end_events(tx, ["a"], NOW + 1, failed=failed))
    columns = select(events.c.key, events.c.state, events.c.body, events.c.ended)
    rows = {row.key: tuple(row)[1:] for row in await store.read(lambda tx: tx.execute(columns).all())}
    assert rows["a"] == (state, None, NOW + 1)
    assert rows["b"][0] == "open"
    assert [waiting.event.key for waiting in await store.read(open_events)] == ["b"]


def ended_at(key: str) -> Callable[[Tx], None]:
    return lambda tx: end_events(tx, [key], NOW)


async def test_keys_live_48_hours_and_open_events_until_they_end(store: Database) -> None:
    assert KEY_LIFE == 48 * 3600
    for key, accepted in (("open", NOW - 1), ("older", NOW - 1), ("exact", NOW)):
        await accept(store, key, accepted)
    for key in ("older", "exact"):
        await store.unit(ended_at(key))
    await store.unit(lambda tx: purge_events(tx, NOW + KEY_LIFE))
    assert await store.read(keys) == ["open", "exact"]
    assert await accept(store, "exact") is False
    await store.unit(lambda tx: purge_events(tx, NOW + KEY_LIFE + 1))
    assert await store.read(keys) == ["open"]
    assert await accept(store, "exact") is True
