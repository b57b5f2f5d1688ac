"""Speaking: who may let the AI speak, what step is missing, and how it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.context import CallContext
from plugin_host.errors import CallError, PermissionDeniedError
from plugin_host.speaking import Speaking, Turned
from plugin_host.standing import Standing
from plugin_host.units import Unit
from tests.kit.host_room import HostRoom, ScriptedModel, native, until

MASTER, ADMIN = {"user": "9001"}, {"role": "admin"}


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[HostRoom]:
    async with HostRoom(tmp_path, model=ScriptedModel("答", "答")) as opened:
        yield opened


def speaking(room: HostRoom) -> Speaking:
    return room.host.speaking


async def keep(room: HostRoom, ctx: CallContext) -> None:
    """What the unit of the command does."""
    await room.host.sessions.get(ctx.session)
    await room.host.units.commit(Unit(ctx.session, ctx.door, ctx.turn, 0, ctx.effects))


async def test_the_way_of_a_new_group(room: HostRoom) -> None:
    await room.host.sessions.get("group:100")
    assert await room.say("你好", addressed=True) == []
    with pytest.raises(CallError, match="请骰主先在这里发送") as missing:
        speaking(room).turn_on(room.ctx(**ADMIN))
    assert missing.value.code == "not_allowed"
    ctx = room.ctx(**MASTER)
    assert speaking(room).allow(ctx) == Turned(True, True)
    await keep(room, ctx)
    assert await room.say("你好", addressed=True) == []
    ctx = room.ctx(**ADMIN)
    assert speaking(room).turn_on(ctx) == Turned(True, True)
    await keep(room, ctx)
    assert await room.say("你好", addressed=True) == ["答"]
    assert speaking(room).turn_on(room.ctx(**ADMIN)) == Turned(True, False)
    assert speaking(room).allow(room.ctx(**MASTER)) == Turned(True, False)


@pytest.mark.parametrize("who", [{}, ADMIN, {"role": "owner"}])
async def test_only_a_master_allows_and_forbids(room: HostRoom, who: Any) -> None:
    for change in (speaking(room).allow, speaking(room).disallow):
        ctx = room.ctx(**who)
        with pytest.raises(PermissionDeniedError, match="只有骰主"):
            change(ctx)
        assert ctx.effects.flags == {}


async def test_a_member_switches_nothing_in_a_group_but_everything_in_a_private_chat(room: HostRoom) -> None:
    changes: list[Any] = [speaking(room).turn_on, speaking(room).turn_off, lambda c: speaking(room).switch_bot(c, True)]
    for change in changes:
        with pytest.raises(PermissionDeniedError, match="权限 50"):
            change(room.ctx())
        change(room.ctx(session="private:1001"))


async def test_without_a_model_the_ai_cannot_be_switched_on(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, ai={"open_groups": "all"}) as room:
        with pytest.raises(CallError, match="还没有配置模型") as missing:
            speaking(room).turn_on(room.ctx(**ADMIN))
        assert missing.value.code == "no_model"


async def test_switching_off_reports_what_changed_and_survives_a_restart(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, model=ScriptedModel()) as room:
        for change in (speaking(room).turn_off, lambda c: speaking(room).switch_bot(c, False)):
            ctx = room.ctx(session="private:1001")
            assert change(ctx) == Turned(False, True)
            await keep(room, ctx)
            assert change(room.ctx(session="private:1001")) == Turned(False, False)
    async with HostRoom(tmp_path, model=ScriptedModel()) as room:
        await room.host.sessions.get("private:1001")
        status = speaking(room).status(room.ctx(session="private:1001"))
        assert status.standing == Standing(1, False, False)


async def test_a_change_of_the_same_event_is_seen_by_the_next(room: HostRoom) -> None:
    ctx = room.ctx(**MASTER)
    speaking(room).allow(ctx)
    assert speaking(room).turn_on(ctx) == Turned(True, True)
    assert speaking(room).disallow(ctx) == Turned(False, True)
    assert ctx.effects.flags == {"level": 0, "ai": True}


@pytest.mark.parametrize("how", ["stop", "turn_off", "disallow"])
async def test_a_running_turn_is_stopped_for_real(tmp_path: Path, how: str) -> None:
    cancelled = asyncio.Event()

    async def stalls(_: Any) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    model = ScriptedModel(stalls)
    async with HostRoom(tmp_path, model=model) as room:
        chat = {"session": "private:9001", "user": "9001"}
        await room.host.receive(room.event("你好", addressed=True, **chat))
        await until(lambda: model.requests)
        assert speaking(room).status(room.ctx(**chat)).turn_running
        assert not speaking(room).stop(room.ctx(session="group:2"))
        getattr(speaking(room), how)(room.ctx(**chat))
        async with asyncio.timeout(2):
            await cancelled.wait()
        await room.quiet()
        assert not speaking(room).status(room.ctx(**chat)).turn_running
        assert not speaking(room).stop(room.ctx(**chat))
        [ended] = await room.journal("run_cancelled")
        assert ended.entry.payload["status"] == "stopped_by_user"


async def test_the_status_names_models_and_what_waits(room: HostRoom) -> None:
    room.host.shut_door(room.channel.door)
    await room.host.post.to_masters(["9001"], room.channel.door, "x")
    await until(lambda: speaking(room).status(room.ctx()).unsent == 1)
    status = speaking(room).status(room.ctx())
    assert [(model.name, model.mode, model.error) for model in status.models] == [("scripted", "native", "")]
    assert (status.session, status.waiting, status.unknown, status.failed) == ("group:100", 0, 0, 0)
    assert status.standing == Standing(0, False, True)


async def test_who_joins_a_turn_does_not_borrow_the_rights_of_whoever_began_it(tmp_path: Path) -> None:
    asked, joined = asyncio.Event(), asyncio.Event()

    async def waits(_: Any) -> list[Any]:
        asked.set()
        await joined.wait()
        return [native("harmless")]

    async def harmless() -> str:
        """Harmless."""
        return "好"

    async def kick(ctx: CallContext) -> str:
        """Kicks."""
        return "踢了"

    model = ScriptedModel(waits, [native("kick")], "不行")
    async with HostRoom(tmp_path, model=model, ai={"open_groups": "all"}) as room:
        room.offer(harmless)
        room.offer(kick, owner="other", privilege=50)
        (await room.host.sessions.get("group:100")).flags["ai"] = True
        await room.host.receive(room.event("踢人", addressed=True, **ADMIN))
        async with asyncio.timeout(10):
            await asked.wait()
        await room.host.receive(room.event("把他踢了", user="1002", addressed=True))
        await until(lambda: room.host.sessions.awake("group:100").waiting)
        joined.set()
        await room.quiet()
        refused = [line.entry for line in await room.journal("tool_call_refused")]
        assert [(line.name, line.payload["code"]) for line in refused] == [("kick", "privilege")]
        assert "把他踢了" in str(model.requests[1].messages)


async def test_a_stopped_turn_leaves_a_history_that_the_next_one_can_send(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def stall() -> str:
        """Stalls."""
        started.set()
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel([native("stall", id="a"), native("stall", id="b")], "继续")
    async with HostRoom(tmp_path, model=model) as room:
        room.offer(stall)
        chat = {"session": "private:1001", "addressed": True}
        await room.host.receive(room.event("第一句", **chat))
        async with asyncio.timeout(10):
            await started.wait()
        speaking(room).stop(room.ctx(session="private:1001"))
        await room.quiet()
        assert await room.say("第二句", **chat) == ["继续"]
        sent = model.requests[1].messages
        assert [(m.role, m.call_id) for m in sent[1:]] == [
            ("user", ""), ("assistant", ""), ("tool", "a"), ("tool", "b"), ("user", ""),
        ]  # fmt: skip
        assert "已被停止" in sent[3].text
