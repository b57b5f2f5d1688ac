"""Recovery: every branch of what a crash may leave behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.recovery import GIVEN_UP, INTERRUPTED, Recovered, recover
from plugin_host.store.events import AcceptEvents, Accepting, StartEvents
from plugin_host.store.journal import AppendEntries, Entry
from plugin_host.store.outgoing import MarkSending, Outgoing, queue_rows
from plugin_host.values import Action, Event
from tests.kit.host_room import DOOR, HostRoom, MovedClock, ScriptedModel, Store, native, rows

TERMINAL = "terminal:old"


class Ruin:
    """A store as a crash left it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = MovedClock(frozen=True)

    async def event(self, key: str, starts: int = 0, at: float = 1.0, **fields: Any) -> Event:
        given: dict[str, Any] = {"session": "group:100", "user_id": "1001", "text": ".x", "door": DOOR} | fields
        event = Event(key, given.pop("kind", "message"), **given)
        await self.store.database.append(AcceptEvents(), Accepting(event, at))
        for _ in range(starts):
            await self.store.database.append(StartEvents(), key)
        return event

    async def line(self, turn: str, kind: str, call: str = "", name: str = "") -> None:
        await self.store.note(Entry(1.0, "group:100", turn, kind, call, name))

    async def row(self, key: str, event: str = "old", door: str = DOOR, hidden: bool = False, sending: bool = False):
        action = Action(key, "group:100", door, "send_group_msg", {"message": []}, hidden)
        [row] = await self.store.database.unit(lambda tx: queue_rows(tx, [Outgoing(action, event, 1.0)]))
        if sending:
            await self.store.database.append(MarkSending(), row)

    async def recover(self, opens: Any = lambda door: door == DOOR) -> Recovered:
        return await recover(self.store.database, self.clock, opens)

    async def told(self) -> list[str]:
        return [
            params.decode()
            for (params,) in await self.store.rows("select params from outbox where event like '%:recovery'")
        ]

    async def states(self) -> dict[str, str]:
        return dict(await self.store.rows("select key, state from events"))

    async def lines(self, *columns: str) -> list[tuple[Any, ...]]:
        return await self.store.rows(
            f"select {', '.join(columns or ('type',))} from journal where type != 'event.accepted' order by seq"
        )


@pytest.fixture
async def ruin(tmp_path: Path) -> AsyncIterator[Ruin]:
    async with Store(tmp_path) as store:
        yield Ruin(store)


@pytest.mark.parametrize("starts", [0, 1])
async def test_an_event_without_a_step_runs_again_until_it_was_started_twice(ruin: Ruin, starts: int) -> None:
    event = await ruin.event("e", starts)
    found = await ruin.recover()
    assert found == Recovered(again=[event])
    assert await ruin.states() == {"e": "open"}
    assert await ruin.told() == []


async def test_the_third_start_gives_an_event_up_and_its_person_is_told(ruin: Ruin) -> None:
    event = await ruin.event("e", 2)
    found = await ruin.recover()
    assert (found.given_up, found.again, found.interrupted) == ([event], [], [])
    assert await ruin.states() == {"e": "failed"}
    assert await ruin.lines() == [("event.failed",)]
    [told] = await ruin.told()
    assert GIVEN_UP in told
    assert [row.action.session for row in found.rows] == ["group:100"]


@pytest.mark.parametrize("kind", ["tool_call_started", "step"])
@pytest.mark.parametrize("starts", [1, 2])
async def test_an_event_with_a_step_is_ended_as_interrupted_and_told_once(ruin: Ruin, kind: str, starts: int) -> None:
    event = await ruin.event("e", starts)
    await ruin.line("e", kind, "e:1", "t")
    if kind == "tool_call_started":
        await ruin.line("e", "tool_call_completed", "e:1", "t")
    found = await ruin.recover()
    assert (found.interrupted, found.given_up, found.again) == ([event], [], [])
    assert await ruin.states() == {"e": "done"}
    [told] = await ruin.told()
    assert INTERRUPTED in told
    assert (await ruin.lines())[-1] == ("event.interrupted",)
    again = await ruin.recover()
    assert (again.interrupted, again.again) == ([], [])
    assert len(await ruin.told()) == 1


async def test_an_event_that_has_said_something_is_not_run_again(ruin: Ruin) -> None:
    await ruin.event("e", 1)
    await ruin.row("e:1:0", event="e")
    found = await ruin.recover()
    assert [event.key for event in found.interrupted] == ["e"]
    assert [row.action.key for row in found.rows] == ["e:1:0", "e:recovery:0:0"]


async def test_a_request_that_never_started_is_no_step(ruin: Ruin) -> None:
    await ruin.event("e", 1)
    await ruin.line("e", "tool_call_requested", "e:1", "t")
    await ruin.line("e", "run_started")
    assert [event.key for event in (await ruin.recover()).again] == ["e"]


async def test_a_started_call_reads_unknown_outcome_and_a_finished_one_stands(ruin: Ruin) -> None:
    await ruin.event("e", 1)
    await ruin.line("e", "tool_call_started", "e:1", "done")
    await ruin.line("e", "tool_call_completed", "e:1", "done")
    await ruin.line("e", "tool_call_started", "e:2", "lost")
    await ruin.recover()
    lines = await ruin.lines("type", "call", "name", "payload")
    assert lines[3] == ("tool_call_failed", "e:2", "lost", '{"status": "unknown_outcome", "code": "interrupted"}')
    assert [kind for kind, call, *_ in lines if call == "e:1"] == ["tool_call_started", "tool_call_completed"]
    assert [kind for kind, call, *_ in lines if call == "e:2"] == ["tool_call_started", "tool_call_failed"]


async def test_an_event_that_nobody_said_is_ended_without_a_word(ruin: Ruin) -> None:
    await ruin.event("timer:1", 1, kind="timer", user_id=None)
    await ruin.event("i", 2, kind="internal", user_id=None)
    await ruin.line("timer:1", "step", "timer:1:1")
    found = await ruin.recover()
    assert (len(found.interrupted), len(found.given_up)) == (1, 1)
    assert await ruin.told() == []


async def test_in_a_private_chat_the_person_is_told_privately(ruin: Ruin) -> None:
    await ruin.event("e", 2, session="private:1001")
    [row] = (await ruin.recover()).rows
    assert (row.action.action, row.action.params["user_id"], row.action.source) == (
        "send_private_msg",
        "1001",
        "notice",
    )


async def test_what_was_being_sent_is_unknown_with_a_line_and_what_waits_leaves(ruin: Ruin) -> None:
    await ruin.row("a", sending=True)
    await ruin.row("b", sending=True, hidden=True)
    await ruin.row("c")
    found = await ruin.recover()
    assert [row.action.key for row in found.unknown] == ["a", "b"]
    assert [row.action.key for row in found.rows] == ["c"]
    states = await ruin.store.rows("select key, state, params is null from outbox order by seq")
    assert states == [("a", "unknown", 0), ("b", "unknown", 1), ("c", "waiting", 0)]
    lines = await ruin.lines("type", "turn", "payload")
    assert [(kind, turn) for kind, turn, _ in lines] == [("send.unknown", "old")] * 2
    assert '"key": "a"' in lines[0][2]


async def test_open_rows_of_an_old_terminal_expire_and_its_events_end_unheard(ruin: Ruin) -> None:
    await ruin.row("a", door=TERMINAL)
    await ruin.row("b", door=TERMINAL, sending=True)
    await ruin.event("e", 1, door=TERMINAL)
    found = await ruin.recover()
    assert ([row.action.key for row in found.expired], found.rows, found.again) == (["a"], [], [])
    assert dict(await ruin.store.rows("select key, state from outbox")) == {"a": "expired", "b": "unknown"}
    assert await ruin.states() == {"e": "failed"}
    assert await ruin.told() == []


async def test_rows_and_events_of_doors_that_stay_shut_are_left_alone(ruin: Ruin) -> None:
    await ruin.row("a", door="QQ:2")
    await ruin.row("b", door="QQ:2", sending=True)
    await ruin.event("e", 2, door="QQ:2")
    found = await ruin.recover()
    assert found == Recovered()
    assert dict(await ruin.store.rows("select key, state from outbox")) == {"a": "waiting", "b": "sending"}
    assert await ruin.states() == {"e": "open"}


async def test_events_are_taken_up_in_the_order_in_which_they_were_accepted(ruin: Ruin) -> None:
    for key in ("c", "a", "b"):
        await ruin.event(key)
    assert [event.key for event in (await ruin.recover()).again] == ["c", "a", "b"]


async def test_a_full_inbox_is_recovered_although_it_takes_longer_than_a_unit_may(ruin: Ruin) -> None:
    """Ten thousand is the limit of the inbox: such a home must start, too."""
    accept = AcceptEvents()
    events = [Event(f"e{n}", "message", f"group:{n % 50}", text="x" * 500, door=DOOR) for n in range(10_000)]
    await asyncio.gather(*(ruin.store.database.append(accept, Accepting(event, 1.0)) for event in events))
    append = AppendEntries()
    lines = [Entry(1.0, event.session, event.key, "tool_call_started", f"{event.key}:1", "t") for event in events]
    await asyncio.gather(*(ruin.store.database.append(append, line) for line in lines[: len(lines) // 2]))
    async with asyncio.timeout(20):
        found = await ruin.recover()
    assert [event.key for event in (*found.interrupted, *found.again)] == [event.key for event in events]
    assert (len(found.interrupted), len(found.again)) == (5_000, 5_000)


async def test_a_host_runs_again_what_a_crash_cut_off_and_tells_masters_what_it_gave_up(tmp_path: Path) -> None:
    plugin = """
    async def hi(ctx: CallContext) -> str:
        return "答"

    @hookimpl
    def register_commands(register):
        register(hi, words=("hi",))
    """
    room = HostRoom(tmp_path, plugins={"hi": plugin})
    async with Store(room.home.data) as store:
        ruin = Ruin(store)
        await ruin.event("again", 1, text=".hi", at=time.time())
        await ruin.event("bad", 2, text=".hi", at=time.time())
    async with room:
        await room.channel.wait(3)
        await room.quiet()
        sent = {(action.action, text) for action, text in zip(room.channel.actions, room.channel.texts, strict=True)}
        assert sent == {
            ("send_group_msg", "答"),
            ("send_group_msg", GIVEN_UP),
            ("send_private_msg", "事件 bad 两次使程序退出，已放弃。"),
        }
        private = next(action for action in room.channel.actions if action.action == "send_private_msg")
        assert private.params["user_id"] == "9001"
        states = await rows(room.host.database, "select key, state, attempts from events where key in ('again', 'bad')")
        assert sorted(states) == [("again", "done", 2), ("bad", "failed", 2)]


async def test_a_turn_that_was_cut_off_is_told_and_its_call_reads_unknown_outcome(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def stall() -> str:
        """Stalls."""
        started.set()
        await asyncio.Event().wait()
        return ""

    async with HostRoom(tmp_path, model=ScriptedModel([native("stall")])) as room:
        room.offer(stall)
        await room.host.receive(room.event("帮我", session="private:1001", addressed=True))
        async with asyncio.timeout(10):
            await started.wait()
    async with HostRoom(tmp_path, model=ScriptedModel()) as room:
        await room.channel.wait(1)
        await room.quiet()
        assert room.channel.texts == [INTERRUPTED]
        lines = [line.entry for line in await room.journal() if line.entry.name == "stall"]
        assert [line.type for line in lines] == ["tool_call_requested", "tool_call_started", "tool_call_failed"]
        assert lines[2].payload["status"] == "unknown_outcome"
        assert len({line.call for line in lines}) == 1
