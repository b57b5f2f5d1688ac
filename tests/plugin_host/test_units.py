"""Units: what commits together, and what a failing change leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plugin_host.clock import Clock
from plugin_host.context import DELETED, Effects
from plugin_host.conversation import Message
from plugin_host.errors import CallError
from plugin_host.store.events import AcceptEvents, Accepting
from plugin_host.store.journal import Entry
from plugin_host.store.kept import get_kept, set_kept
from plugin_host.store.outgoing import Outgoing
from plugin_host.units import Settled, Unit, Units
from plugin_host.values import Change, Event, Reply, Segment
from tests.kit.host_room import Store

EVERYTHING = ("events", "outbox", "journal", "flags", "switches", "kept", "history")


class Desk:
    """Units over a real store, with what they handed on."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.taken: list[Outgoing] = []
        self.committed: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.defaults: dict[str, bool | None] = {"luck": True}
        self.before_send: Any = self.pass_on
        self.units = Units(
            store.database,
            Clock(),
            before_send=lambda reply: self.before_send(reply),
            take=self.taken.extend,
            committed=lambda session, flags, switches: self.committed.append((session, dict(flags), dict(switches))),
            segments=lambda: 10,
            starts_on=lambda name: self.defaults.get(name),
        )

    @staticmethod
    async def pass_on(reply: Reply) -> Reply | None:
        return reply

    async def accept(self, key: str = "e") -> None:
        event = Event(key, "message", "group:100", text=".x")
        await self.store.database.append(AcceptEvents(), Accepting(event, 1.0))

    async def state(self) -> dict[str, list[tuple[Any, ...]]]:
        return {table: await self.store.rows(f"select * from {table}") for table in EVERYTHING}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Store(tmp_path) as store:
        yield Desk(store)


def reply(text: str) -> Reply:
    return Reply("group:100", (Segment.text(text),))


def unit(**fields: Any) -> Unit:
    return replace(Unit("group:100", "QQ:1", "e", 0), **fields)


def full_unit(**fields: Any) -> Unit:
    effects = Effects(
        replies=[reply("好")],
        kept={("p", "n"): 5},
        flags={"ai": True},
        switches={"luck": False},
        notes=[("roll", {"value": 3})],
    )
    lines = [Entry(1.0, "group:100", "e", "line")]
    return unit(effects=effects, entries=lines, messages=[Message("user", "话")], done=["e"], **fields)


async def test_state_journal_rows_and_the_end_of_the_event_are_one_commit(desk: Desk) -> None:
    await desk.accept()
    before = desk.store.database.commits
    await desk.units.commit(full_unit())
    assert desk.store.database.commits == before + 1
    rows = desk.store.rows
    assert await rows("select state, body from events") == [("done", None)]
    assert await rows("select key, state from outbox") == [("e:0:0", "waiting")]
    assert [kind for (kind,) in await rows("select type from journal")] == ["event.accepted", "line", "roll"]
    assert await rows("select name, value from flags") == [("ai", "true")]
    assert await rows("select tool, state from switches") == [("luck", 0)]
    assert await rows("select plugin, scope, owner, name, value from kept") == [("p", "session", "group:100", "n", "5")]
    assert len(await rows("select * from history")) == 1
    assert [row.action.key for row in desk.taken] == ["e:0:0"]
    assert desk.committed == [("group:100", {"ai": True}, {"luck": False})]


async def test_a_failing_change_leaves_nothing(desk: Desk) -> None:
    await desk.accept()
    before = await desk.state()

    def work(tx: Any) -> None:
        set_kept(tx, "p", "bot", "bot", "n", 1)
        raise CallError("不行")

    with pytest.raises(CallError, match="不行"):
        await desk.units.commit(full_unit(change=Change(work, str)))
    assert await desk.state() == before
    assert (desk.taken, desk.committed) == ([], [])


@pytest.mark.parametrize("culprit", ["words", "settle", "works"])
async def test_what_fails_behind_the_change_undoes_it_too(desk: Desk, culprit: str) -> None:
    await desk.accept()
    before = await desk.state()

    def boom(*_: Any) -> Any:
        raise ValueError(culprit)

    change = Change(lambda tx: set_kept(tx, "p", "bot", "bot", "n", 1), boom if culprit == "words" else str)
    failing = full_unit(change=change, settle=boom if culprit == "settle" else None)
    if culprit == "works":
        failing.effects.works.append(("p", boom))
    with pytest.raises(ValueError, match=culprit):
        await desk.units.commit(failing)
    assert await desk.state() == before
    assert desk.taken == []


async def test_the_words_of_a_change_see_its_value_and_leave_with_it(desk: Desk) -> None:
    def work(tx: Any) -> int:
        value = int(get_kept(tx, "p", "bot", "bot", "n") or 0) + 1
        set_kept(tx, "p", "bot", "bot", "n", value)
        return value

    def settle(said: Any) -> Settled:
        return Settled((reply(said),), (Entry(1.0, "group:100", "e", "line"),), value=said)

    def adding(event: str) -> Unit:
        return unit(event=event, change=Change(work, lambda value: f"第 {value} 次"), settle=settle)

    assert [await desk.units.commit(adding(event)) for event in "ab"] == ["第 1 次", "第 2 次"]
    texts = [row.action.params["message"][0]["data"]["text"] for row in desk.taken]
    assert texts == ["第 1 次", "第 2 次"]


async def test_a_unit_that_fails_spares_those_that_commit_with_it(desk: Desk) -> None:
    def boom(tx: Any) -> None:
        raise CallError("不行")

    good = desk.units.commit(unit(event="good", effects=Effects(replies=[reply("好")])))
    bad = desk.units.commit(unit(event="bad", effects=Effects(replies=[reply("坏")]), change=Change(boom, str)))
    results = await asyncio.gather(good, bad, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), CallError]
    assert [row.action.key for row in desk.taken] == ["good:0:0"]


async def test_before_send_may_drop_or_change_a_reply(desk: Desk) -> None:
    async def censor(said: Reply) -> Reply | None:
        return None if said.text == "脏话" else replace(said, segments=(Segment.text(said.text.upper()),))

    desk.before_send = censor
    effects = Effects(replies=[reply("脏话"), reply("ok")])
    settled = Settled((reply("late"),))
    await desk.units.commit(unit(effects=effects, settle=lambda _: settled, done=["e"]))
    assert [row.action.params["message"][0]["data"]["text"] for row in desk.taken] == ["OK", "LATE"]
    assert [row.action.key for row in desk.taken] == ["e:0:0", "e:0:1"]


async def test_deleting_a_kept_name_and_going_back_to_a_default_leave_no_row(desk: Desk) -> None:
    await desk.units.commit(full_unit())
    back = Effects(kept={("p", "n"): DELETED}, switches={"luck": True}, flags={"ai": None})
    await desk.units.commit(unit(event="e2", effects=back))
    assert await desk.store.rows("select * from kept") == []
    assert await desk.store.rows("select * from switches") == []
    assert await desk.store.rows("select * from flags") == []
    assert desk.committed[-1] == ("group:100", {"ai": None}, {"luck": None})


async def test_the_switch_of_a_tool_that_is_away_is_stored_as_it_was_set(desk: Desk) -> None:
    await desk.units.commit(unit(effects=Effects(switches={"gone": True})))
    assert await desk.store.rows("select tool, state from switches") == [("gone", 1)]


async def test_a_failed_event_is_ended_as_failed(desk: Desk) -> None:
    await desk.accept()
    await desk.units.commit(unit(failed=["e"]))
    assert await desk.store.rows("select state, body from events") == [("failed", None)]
