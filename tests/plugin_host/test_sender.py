"""Sender: order, one in flight per session, waiting doors, expiry, unknown outcomes and late answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.config.settings import SendSettings
from plugin_host.sender import Sender
from plugin_host.store.outgoing import Outgoing, queue_rows
from plugin_host.values import Action, Outcome
from tests.kit.host_room import Capture, MovedClock, Store

AGES: list[tuple[Any, float]] = [("ai", 120), ("notice", 600), ("timer", 3600), ("command", 3600), ("tool", 3600)]


class Post:
    """A sender over a real store; time stands still until a test moves it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = MovedClock(frozen=True)
        self.settings = SendSettings()
        self.outcomes: list[tuple[str, Outcome]] = []
        self.sender = Sender(
            store.database,
            self.clock,
            lambda: self.settings,
            lambda row, outcome: self.outcomes.append((row.action.key, outcome)),
        )
        self._count = 0

    async def queue(self, *sessions: str, source: Any = "command", hidden: bool = False, age: float = 0.0) -> None:
        """Commit one row per session, then hand all to the sender."""
        rows = []
        for session in sessions:
            self._count += 1
            message = [{"type": "text", "data": {"text": str(self._count)}}]
            action = Action(
                f"e:0:{self._count}", session, "QQ:1", "send_group_msg", {"message": message}, hidden, source
            )
            rows.append(Outgoing(action, "e", self.clock.now() - age))
        self.sender.take(await self.store.database.unit(lambda tx: queue_rows(tx, rows)))

    async def drained(self) -> None:
        async with asyncio.timeout(5):
            await self.sender.drained()

    async def states(self) -> list[str]:
        return [state for (state,) in await self.store.rows("select state from outbox order by seq")]

    async def becomes(self, *states: str) -> None:
        """Wait until the rows read so."""
        async with asyncio.timeout(5):
            while await self.states() != list(states):  # noqa: ASYNC110 - rows announce nothing
                await asyncio.sleep(0.01)


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    async with Store(tmp_path) as store:
        made = Post(store)
        yield made
        await made.sender.close()


class Held(Capture):
    """A channel whose answers wait for the test."""

    def __init__(self) -> None:
        super().__init__(answer=self._hold)
        self.gates: list[asyncio.Future[Outcome]] = []

    async def _hold(self, _: Action) -> Outcome:
        gate: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.gates.append(gate)
        return await gate


async def test_rows_of_a_session_leave_in_order_one_at_a_time_and_other_sessions_do_not_wait(post: Post) -> None:
    channel = Held()
    post.sender.open(channel)
    await post.queue("group:1", "group:1", "group:2")
    await channel.wait(2)
    await post.becomes("sending", "waiting", "sending")
    assert channel.texts == ["1", "3"]
    channel.gates[0].set_result(Outcome("sent"))
    await channel.wait(3)
    assert channel.texts == ["1", "3", "2"]
    for gate in channel.gates[1:]:
        gate.set_result(Outcome("sent"))
    await post.drained()
    await post.becomes("sent", "sent", "sent")
    assert [key for key, _ in post.outcomes] == ["e:0:1", "e:0:3", "e:0:2"]


async def test_a_row_reads_sending_before_the_channel_sees_it(post: Post) -> None:
    seen: list[Any] = []

    async def look(_: Action) -> Outcome:
        seen.extend(await post.states())
        return Outcome("sent")

    post.sender.open(Capture(answer=look))
    await post.queue("group:1")
    await post.drained()
    assert seen == ["sending"]


async def test_a_shut_door_holds_its_rows_until_it_opens(post: Post) -> None:
    await post.queue("group:1", "group:1")
    other = Capture("QQ:2")
    post.sender.open(other)
    await asyncio.sleep(0)
    assert (post.sender.waiting, other.actions, await post.states()) == (2, [], ["waiting", "waiting"])
    channel = Capture()
    post.sender.open(channel)
    assert post.sender.doors == ("QQ:1", "QQ:2")
    await post.drained()
    assert (channel.texts, other.actions, post.sender.waiting) == (["1", "2"], [], 0)
    post.sender.shut("QQ:1")
    await post.queue("group:1")
    assert post.sender.doors == ("QQ:2",)
    await asyncio.sleep(0)
    assert len(channel.actions) == 2


@pytest.mark.parametrize(("source", "age"), AGES)
async def test_a_row_as_old_as_its_source_may_be_still_leaves(post: Post, source: Any, age: float) -> None:
    channel = Capture()
    post.sender.open(channel)
    await post.queue("group:1", source=source, age=age)
    await post.drained()
    assert len(channel.actions) == 1


@pytest.mark.parametrize(("source", "age"), AGES)
async def test_a_row_just_over_its_age_expires_and_is_counted(post: Post, source: Any, age: float) -> None:
    channel = Capture()
    post.sender.open(channel)
    await post.queue("group:1", source=source, age=age + 0.01)
    await post.drained()
    assert channel.actions == []
    assert await post.states() == ["expired"]
    assert post.sender.counts == {"expired": 1}
    assert post.outcomes == []
    [(kind, payload)] = await post.store.rows("select type, payload from journal")
    assert kind == "send.expired"
    assert f'"source": "{source}"' in payload
    assert '"text"' not in payload


async def test_age_zero_is_never_too_old(post: Post) -> None:
    post.settings = SendSettings.model_validate({"max_age": {"ai": 0}})
    channel = Capture()
    post.sender.open(channel)
    await post.queue("group:1", source="ai", age=1e9)
    await post.drained()
    assert len(channel.actions) == 1


async def test_a_row_expires_while_its_door_stays_shut(post: Post) -> None:
    post.settings = SendSettings.model_validate({"max_age": {"ai": 1}})
    await post.queue("group:1", source="ai", age=0.95)
    post.clock.ahead = 0.0
    await asyncio.sleep(0)
    assert await post.states() == ["waiting"]
    post.clock.ahead = 1.0
    await post.becomes("expired")


async def test_an_outcome_that_never_came_reads_unknown_and_the_next_row_leaves(post: Post) -> None:
    channel = Capture(answer=lambda action: Outcome("unknown" if action.key == "e:0:1" else "sent", error="timeout"))
    post.sender.open(channel)
    await post.queue("group:1", "group:1")
    await post.drained()
    await post.becomes("unknown", "sent")
    assert [kind for (kind,) in await post.store.rows("select type from journal")] == ["send.unknown"]


@pytest.mark.parametrize("late", ["sent", "failed"])
async def test_a_late_answer_makes_an_unknown_row_sent_or_failed_once(post: Post, late: Any) -> None:
    post.sender.open(Capture(answer=lambda _: Outcome("unknown")))
    await post.queue("group:1")
    await post.drained()
    post.sender.late("e:0:1", Outcome("unknown"))
    post.sender.late("nobody", Outcome("sent"))
    await post.becomes("unknown")
    post.outcomes.clear()
    await post.queue("group:1")
    await post.drained()
    post.outcomes.clear()
    post.sender.late("e:0:2", Outcome(late, error="late"))
    await post.becomes("unknown", late)
    assert post.outcomes == [("e:0:2", Outcome(late, error="late"))]
    post.sender.late("e:0:2", Outcome("failed"))
    assert len(post.outcomes) == 1


@pytest.mark.parametrize("status", ["sent", "failed"])
async def test_the_body_of_a_hidden_row_is_deleted_when_it_has_left(post: Post, status: Any) -> None:
    post.sender.open(Capture(answer=lambda _: Outcome(status, error="x")))
    await post.queue("group:1", hidden=True)
    await post.queue("group:1")
    await post.drained()
    await post.becomes(status, status)
    assert await post.store.rows("select hidden, params is null from outbox order by seq") == [(1, 1), (0, 0)]


async def test_a_refusal_is_told_to_whoever_asked_and_journalled_without_its_body(post: Post) -> None:
    post.sender.open(Capture(answer=lambda _: Outcome("failed", retcode=1200, error="refused")))
    await post.queue("group:1", hidden=True)
    await post.drained()
    assert [(key, outcome.status) for key, outcome in post.outcomes] == [("e:0:1", "failed")]
    [(kind, payload)] = await post.store.rows("select type, payload from journal")
    assert kind == "send.failed"
    assert '"hidden": true' in payload
    assert '"1"' not in payload
    assert await post.store.rows("select error from outbox") == [("refused",)]


async def test_a_channel_that_breaks_its_promise_does_not_stop_the_queue(post: Post, logs: list[str]) -> None:
    def answer(action: Action) -> Outcome:
        if action.key == "e:0:1":
            raise RuntimeError("broken channel")
        return Outcome("sent")

    post.sender.open(Capture(answer=answer))
    await post.queue("group:1", "group:1")
    await post.drained()
    await post.becomes("sending", "sent")
    assert any("e:0:1 failed inside the host" in line for line in logs)


async def test_closing_leaves_what_waits_in_the_store(post: Post) -> None:
    channel = Held()
    post.sender.open(channel)
    await post.queue("group:1", "group:1")
    await channel.wait(1)
    async with asyncio.timeout(5):
        await post.sender.close()
    assert await post.states() == ["sending", "waiting"]
