"""The store against aiosqlite: durable journal rows per second, and the life of an event through the store.

    python bench/store.py [--quick] [--json]

Rows: 50 producers through Database against aiosqlite with one commit per row, alone and with 50 producers; the same
table, indexes and pragmas (WAL, synchronous=FULL) on the same disk, in turns. Events: accept, start, unit (journal
lines, one outgoing row, event done), sending, sent, with the product's Units and Sender and a socket that answers at
once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite

from plugin_host.clock import Clock
from plugin_host.config.settings import SendSettings
from plugin_host.context import Effects
from plugin_host.sender import Sender
from plugin_host.store import Database
from plugin_host.store.events import AcceptEvents, Accepting, StartEvents, open_events
from plugin_host.store.journal import AppendEntries, Entry, read_lines
from plugin_host.store.outgoing import rows_in
from plugin_host.units import Unit, Units
from plugin_host.values import Action, Event, Outcome, Reply, Segment
from plugin_host.values import Sender as Person

PRODUCERS = 50
SESSIONS = 20
RATE = 200
DOOR = "QQ:42"
PAYLOAD = {"arguments": {"expression": "4d6k3+2"}, "origin": "native", "step": 1}
INSERT = "INSERT INTO journal (time, session, turn, call, type, name, payload, ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: rows per round for us and for the peer, rounds, events, seconds of open loop."""

    rows: int
    peer_rows: int
    rounds: int
    events: int
    seconds: float


QUICK = Size(rows=20_000, peer_rows=2_000, rounds=5, events=12_000, seconds=10.0)
FULL = Size(rows=40_000, peer_rows=4_000, rounds=5, events=30_000, seconds=20.0)


async def spread(count: int, producers: int, write: Callable[[int], Awaitable[Any]]) -> float:
    """Rows per second of ``count`` writes, each producer awaiting one before it begins the next."""

    async def produce(first: int) -> None:
        for number in range(first, count, producers):
            await write(number)

    began = time.perf_counter()
    await asyncio.gather(*(produce(number) for number in range(producers)))
    return count / (time.perf_counter() - began)


async def our_rows(folder: Path, count: int) -> float:
    """Durable rows per second of Database.append with 50 producers."""
    database = Database(folder / "ours.db").open()
    append = AppendEntries()

    async def write(number: int) -> None:
        entry = Entry(time.time(), "group:1", "QQ:42:group:1:7:1", "tool_call_started", str(number), "roll", PAYLOAD)
        await database.append(append, entry)

    rate = await spread(count, PRODUCERS, write)
    assert len(database.read_now(lambda tx: read_lines(tx, limit=0))) == count
    database.close()
    return rate


async def peer_rows(folder: Path, count: int, producers: int) -> float:
    """Durable rows per second of aiosqlite, one commit per row."""
    path = folder / f"peer{producers}.db"
    Database(path).open().close()
    async with aiosqlite.connect(path) as connection:
        await connection.execute("PRAGMA journal_mode=WAL")
        await connection.execute("PRAGMA synchronous=FULL")

        async def write(number: int) -> None:
            payload = json.dumps(PAYLOAD, ensure_ascii=False)
            turn, kind = "QQ:42:group:1:7:1", "tool_call_started"
            row = (time.time(), "group:1", turn, str(number), kind, "roll", payload, None)
            await connection.execute(INSERT, row)
            await connection.commit()

        rate = await spread(count, producers, write)
        async with connection.execute("SELECT count(*) FROM journal") as cursor:
            assert await cursor.fetchone() == (count,)
    return rate


class Socket:
    """A door whose peer answers at once; remembers when each action was written."""

    door = DOOR

    def __init__(self) -> None:
        self.written: dict[str, float] = {}

    async def send(self, action: Action, timeout: float) -> Outcome:
        """Write it: the moment up to which an answer has taken its time."""
        self.written[action.key] = time.perf_counter()
        return Outcome("sent", message_id=action.key)


async def as_it_is(reply: Reply) -> Reply:
    """A before_send without any plugin."""
    return reply


class Line:
    """Store, units and sender of one host, without the doors in front."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder / "events.db").open()
        self.clock = Clock()
        self.socket = Socket()
        self.sender = Sender(self.database, self.clock, SendSettings, lambda row, outcome: None)
        self.sender.open(self.socket)
        self.units = Units(
            self.database,
            self.clock,
            before_send=as_it_is,
            take=self.sender.take,
            committed=lambda session, flags, switches: None,
            segments=lambda: 10,
            starts_on=lambda tool: None,
        )
        self._accepting = AcceptEvents()
        self._starting = StartEvents()
        self._lanes = [asyncio.Lock() for _ in range(SESSIONS)]

    async def live(self, number: int) -> str:
        """One event from its acceptance to its committed answer; returns the key of the outgoing row."""
        event = message(number)
        await self.database.append(self._accepting, Accepting(event, self.clock.now()))
        async with self._lanes[number % SESSIONS]:
            await self.database.append(self._starting, event.key)
            await self.units.commit(answer(event, self.clock.now()))
        return f"{event.key}:1:0"

    async def finish(self, count: int) -> None:
        """Wait until everything is sent and durable; nothing may be left open."""
        await self.sender.drained()
        self.database.close()
        database = Database(self.database.path).open_for_reading()
        sent = len(database.read_now(lambda tx: rows_in(tx, "sent")))
        left = len(database.read_now(open_events))
        database.close()
        assert (sent, left, len(self.socket.written)) == (count, 0, count), (sent, left)


def message(number: int) -> Event:
    """A command of a group member as the bridge makes it."""
    session, text, now = f"group:{number % SESSIONS}", ".r 4d6k3+2 力量", time.time()
    key = f"QQ:42:{session}:{number}:{int(now)}"
    raw = json.dumps({"post_type": "message", "raw_message": text, "message_id": number, "group_id": 1}).encode()
    person = Person("小明", "调查员", "member")
    said = (Segment.text(text),)
    return Event(
        key, "message", session, "QQ", "42", "1001", person, str(number), said, text, now, True, raw=raw, door=DOOR
    )


def answer(event: Event, now: float) -> Unit:
    """What the unit of a dice command holds: both lines of the call, the answer, event done."""
    call = f"{event.key}/1"
    entries = [
        Entry(now, event.session, event.key, "tool_call_started", call, ".r", PAYLOAD),
        Entry(now, event.session, event.key, "tool_call_completed", call, ".r", {"text": "4d6k3+2=15"}, 0.4),
    ]
    reply = Reply(event.session, (Segment.text("由于力量，小明掷出了 4d6k3+2=[5+4+4]+2=15"),), quote=event.message_id)
    return Unit(event.session, DOOR, event.key, 1, Effects(replies=[reply]), entries, done=[event.key])


async def events_per_second(folder: Path, count: int) -> float:
    """Events per second with one event at a time in each of 20 sessions."""
    line = Line(folder)

    async def session(first: int) -> None:
        for number in range(first, count, SESSIONS):
            await line.live(number)

    began = time.perf_counter()
    await asyncio.gather(*(session(number) for number in range(SESSIONS)))
    await line.sender.drained()
    rate = count / (time.perf_counter() - began)
    await line.finish(count)
    return rate


async def latencies(folder: Path, seconds: float) -> tuple[float, float]:
    """(p50, p99) in ms from the moment an event was due, 200 a second, to its answer on the socket (open loop)."""
    line = Line(folder)
    count = int(RATE * seconds)
    began = time.perf_counter() + 0.1
    tasks: list[asyncio.Task[str]] = []
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
        tasks.append(asyncio.create_task(line.live(number)))
    keys = await asyncio.gather(*tasks)
    await line.finish(count)
    took = sorted(line.socket.written[key] - (began + number / RATE) for number, key in enumerate(keys))
    return took[count // 2] * 1000, took[int(count * 0.99)] * 1000


async def measure(size: Size) -> dict[str, float]:
    """Every number, by its key."""
    rounds: list[tuple[float, float, float]] = []
    for _ in range(size.rounds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            ours = await our_rows(folder, size.rows)
            alone = await peer_rows(folder, size.peer_rows, 1)
            rounds.append((ours, alone, await peer_rows(folder, size.peer_rows, PRODUCERS)))
    with tempfile.TemporaryDirectory() as name:
        events = await events_per_second(Path(name), size.events)
    with tempfile.TemporaryDirectory() as name:
        p50, p99 = await latencies(Path(name), size.seconds)
    return {
        "durable_rows_per_s_vs_aiosqlite": round(statistics.median(ours / alone for ours, alone, _ in rounds), 2),
        "durable_rows_per_s_vs_aiosqlite_50": round(statistics.median(ours / many for ours, _, many in rounds), 2),
        "durable_rows_per_s": round(statistics.median(ours for ours, _, _ in rounds)),
        "aiosqlite_rows_per_s": round(statistics.median(alone for _, alone, _ in rounds)),
        "aiosqlite_50_rows_per_s": round(statistics.median(many for _, _, many in rounds)),
        "events_per_s": round(events),
        "p50_ms_at_200": round(p50, 2),
        "p99_ms_at_200": round(p99, 2),
    }


def table(found: dict[str, float]) -> str:
    """The numbers for people."""
    rows = [
        ("durable journal rows/s, Database, 50 producers", f"{found['durable_rows_per_s']:,}", ""),
        (
            "durable journal rows/s, aiosqlite, one after another",
            f"{found['aiosqlite_rows_per_s']:,}",
            f"ours is {found['durable_rows_per_s_vs_aiosqlite']} x (goal 10)",
        ),
        (
            "durable journal rows/s, aiosqlite, 50 producers",
            f"{found['aiosqlite_50_rows_per_s']:,}",
            f"ours is {found['durable_rows_per_s_vs_aiosqlite_50']} x",
        ),
        ("events/s, accept to sent, 20 sessions", f"{found['events_per_s']:,}", "goal 1,500"),
        ("p50 ms at 200 events/s", f"{found['p50_ms_at_200']}", ""),
        ("p99 ms at 200 events/s", f"{found['p99_ms_at_200']}", "goal 20"),
    ]
    return "\n".join(f"{what:<54} {value:>10}  {note}".rstrip() for what, value, note in rows)


def main() -> None:
    """Measure, print the table, and with --json one JSON object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="under 40 seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object on the last line")
    options = parser.parse_args()
    found = asyncio.run(measure(QUICK if options.quick else FULL))
    print(table(found))
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
