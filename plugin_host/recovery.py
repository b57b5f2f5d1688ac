"""Recovery: what a crash left behind is ended, started once more, or told; nothing is repeated by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from plugin_host.clock import Clock
from plugin_host.outbox import rows_of
from plugin_host.sender import send_entry
from plugin_host.standing import TERMINAL
from plugin_host.store import Database, Tx
from plugin_host.store.events import OpenEvent, end_events, open_events
from plugin_host.store.journal import Entry, steps_of, write_entries
from plugin_host.store.outgoing import Ended, MarkEnded, Outgoing, RowState, has_rows, queue_rows, rows_in
from plugin_host.values import Event, Reply, Segment, side_of

START_LIMIT = 2
BATCH = 200
INTERRUPTED = "上一条消息处理到一半时程序中断了，没有做完的部分不会自动重来；需要的话请再发一次。"
GIVEN_UP = "处理你的消息时程序两次意外退出，已放弃这条消息。"

Ending = Literal["again", "given_up", "interrupted", "unheard"]


@dataclass(slots=True)
class Recovered:
    """What a start found: events to run again, rows to send, events given up, rows whose outcome is unknown."""

    again: list[Event] = field(default_factory=list)
    rows: list[Outgoing] = field(default_factory=list)
    given_up: list[Event] = field(default_factory=list)
    interrupted: list[Event] = field(default_factory=list)
    unknown: list[Outgoing] = field(default_factory=list)
    expired: list[Outgoing] = field(default_factory=list)


async def recover(database: Database, clock: Clock, opens: Callable[[str], bool]) -> Recovered:
    """Bring the store of a home into order before its doors open; only rows of doors for which ``opens`` says True.

    Open rows of an old terminal can never leave: they expire, and its open events end. It goes in small units, each
    whole in itself: a full inbox takes longer than one unit may hold the writer.
    """
    now = clock.now()
    found = await database.unit(lambda tx: _settle_rows(tx, now, opens), owner="recovery")
    waiting = [one for one in await database.read(open_events) if _is_ours(one.event, opens)]
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        for event, ending in await database.unit(partial(_settle_events, now=now, batch=batch), owner="recovery"):
            if ending != "unheard":
                getattr(found, ending).append(event)
    found.rows = [row for row in await database.read(lambda tx: rows_in(tx, "waiting")) if opens(row.action.door)]
    return found


def _is_ours(event: Event, opens: Callable[[str], bool]) -> bool:
    return event.door.startswith(TERMINAL) or opens(event.door)


def _settle_rows(tx: Tx, now: float, opens: Callable[[str], bool]) -> Recovered:
    unknown = [row for row in rows_in(tx, "sending") if opens(row.action.door) or _is_old_terminal(row)]
    expired = [row for row in rows_in(tx, "waiting") if _is_old_terminal(row)]
    ended = [_ended(row, "unknown", now) for row in unknown] + [_ended(row, "expired", now) for row in expired]
    if ended:
        MarkEnded().apply(tx, ended)
    return Recovered(unknown=unknown, expired=expired)


def _ended(row: Outgoing, state: RowState, now: float) -> Ended:
    return Ended(row, state, now, "the program stopped", (send_entry(row, state, now),))


def _is_old_terminal(row: Outgoing) -> bool:
    return row.action.door.startswith(TERMINAL)


def _settle_events(tx: Tx, now: float, batch: Sequence[OpenEvent]) -> list[tuple[Event, Ending]]:
    return [(waiting.event, _settle_event(tx, now, waiting)) for waiting in batch]


def _settle_event(tx: Tx, now: float, waiting: OpenEvent) -> Ending:
    event = waiting.event
    if event.door.startswith(TERMINAL):
        end_events(tx, [event.key], now, failed=True)
        return "unheard"
    stepped, unfinished = steps_of(tx, event.key)
    if stepped or has_rows(tx, event.key):
        entries = [_lost_call(event, call, name, now) for call, name in unfinished]
        write_entries(tx, [*entries, Entry(now, event.session, event.key, "event.interrupted")])
        _tell(tx, event, INTERRUPTED, now)
        end_events(tx, [event.key], now)
        return "interrupted"
    if waiting.attempts >= START_LIMIT:
        write_entries(tx, [Entry(now, event.session, event.key, "event.failed", payload={"key": event.key})])
        _tell(tx, event, GIVEN_UP, now)
        end_events(tx, [event.key], now, failed=True)
        return "given_up"
    return "again"


def _lost_call(event: Event, call: str, name: str, now: float) -> Entry:
    payload = {"status": "unknown_outcome", "code": "interrupted"}
    return Entry(now, event.session, event.key, "tool_call_failed", call, name, payload)


def _tell(tx: Tx, event: Event, text: str, now: float) -> None:
    if event.kind != "message":
        return
    said = (Segment.text(text),)
    reply = Reply(event.session, said, side_of(event.session), event.user_id, source="notice")
    # Step "recovery": the numbers belong to the run that was cut off.
    queue_rows(
        tx, rows_of([reply], session=event.session, event=f"{event.key}:recovery", step=0, door=event.door, now=now)
    )
