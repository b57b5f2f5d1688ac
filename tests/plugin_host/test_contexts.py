"""Contexts: identity from the event, the plugin's store, actions as steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.context import NAME_LIMIT, CallContext, Effects
from plugin_host.errors import ActionFailedError, CallError, InvalidArgumentsError, ServiceMissingError
from plugin_host.registry import Contribution
from plugin_host.store.kept import VALUE_LIMIT
from plugin_host.tools import Source
from plugin_host.units import Unit
from tests.kit.host_room import HostRoom, rows


class Core:
    """A protocol end that answers what it is told to."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.calls: list[tuple[str, str, dict[str, Any]]] = []

    async def call(self, self_id: str, action: str, params: Any) -> Any:
        self.calls.append((self_id, action, dict(params)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[HostRoom]:
    async with HostRoom(tmp_path, core=Core({"group_name": "团"}), timezone="Asia/Shanghai") as opened:
        yield opened


def context(room: HostRoom, plugin: str = "p", **fields: Any) -> CallContext:
    return room.ctx(**fields).of(plugin, None)


async def commit(room: HostRoom, ctx: CallContext) -> None:
    await room.host.units.commit(Unit(ctx.session, ctx.door, ctx.turn, 0, ctx.effects))


async def test_identity_and_rights_come_from_the_event(room: HostRoom) -> None:
    ctx = context(room, user="9001", role="owner", session="group:7", time=1_780_000_000.5)
    assert (ctx.session, ctx.user_id, ctx.role, ctx.level, ctx.name) == ("group:7", "9001", "owner", 100, "小明")
    assert (ctx.turn, ctx.request_id) == (ctx.event.key if ctx.event else None, f"{ctx.turn}:0")
    assert ctx.sent_at == "2026-05-28T20:26:40.500Z"
    assert ctx.now.isoformat() == "2026-05-29T04:26:40.500000+08:00"


async def test_writes_of_the_session_are_buffered_seen_by_the_same_event_and_committed_with_its_unit(
    room: HostRoom,
) -> None:
    ctx, other = context(room), context(room)
    ctx.store.set("b", [1])
    ctx.store.set("a", 1)
    assert (await ctx.store.get("a"), await ctx.store.names()) == (1, ["a", "b"])
    assert (await other.store.get("a"), await other.store.names()) == (None, [])
    await commit(room, ctx)
    assert (await other.store.get("a"), await other.store.names()) == (1, ["a", "b"])
    other.store.delete("a")
    assert (await other.store.get("a", "weg"), await other.store.names()) == ("weg", ["b"])
    assert await context(room).store.get("a") == 1
    await commit(room, other)
    assert await context(room).store.names() == ["b"]


async def test_an_unbuffered_default_is_given_for_what_is_missing(room: HostRoom) -> None:
    assert await context(room).store.get("a", 7) == 7
    assert await context(room).store.get("a", 7, scope="person") == 7


async def test_plugins_and_sessions_do_not_see_each_other(room: HostRoom) -> None:
    ctx = context(room)
    ctx.store.set("a", 1)
    assert await ctx.of("q", None).store.get("a") is None
    await commit(room, ctx)
    for stranger in (context(room, "q"), context(room, session="group:2")):
        assert (await stranger.store.get("a"), await stranger.store.names()) == (None, [])


@pytest.mark.parametrize(("name", "taken"), [("n" * NAME_LIMIT, True), ("n" * (NAME_LIMIT + 1), False), ("", False)])
async def test_the_length_of_a_name_is_limited(room: HostRoom, name: str, taken: bool) -> None:
    store = context(room).store
    if taken:
        store.set(name, 1)
        assert await store.get(name) == 1
    else:
        with pytest.raises(InvalidArgumentsError, match="长度应为 1–128"):
            store.set(name, 1)


async def test_nothing_is_no_value(room: HostRoom) -> None:
    with pytest.raises(InvalidArgumentsError, match="存储值不能为空"):
        context(room).store.set("a", None)


@pytest.mark.parametrize("value", [object(), float("nan"), "x" * (VALUE_LIMIT - 1)])
async def test_what_cannot_be_stored_fails_the_commit_in_words_and_nothing_is_kept(room: HostRoom, value: Any) -> None:
    async def keep(ctx: CallContext) -> str:
        ctx.store.set("good", 1)
        ctx.store.set("bad", value)
        return "记住了"

    room.command(keep, "keep")
    [said] = await room.say(".keep")
    assert said.startswith("存储值 bad ")
    assert await context(room, "test").store.names() == []


async def test_the_largest_value_is_stored(room: HostRoom) -> None:
    ctx = context(room)
    ctx.store.set("a", "x" * (VALUE_LIMIT - 2))
    await commit(room, ctx)
    assert len(await context(room).store.get("a")) == VALUE_LIMIT - 2


async def test_adding_for_a_person_is_atomic_and_follows_the_person(room: HostRoom) -> None:
    contexts = [context(room, session=f"group:{n}") for n in range(20)]
    async with asyncio.timeout(10):
        numbers = await asyncio.gather(*(ctx.store.add("luck", 2) for ctx in contexts))
    assert sorted(numbers) == [2 * n for n in range(1, 21)]
    assert await context(room).store.get("luck", scope="person") == 40
    assert await context(room, user="1002").store.get("luck", scope="person") is None


@pytest.mark.parametrize("scope", ["person", "bot"])
async def test_swapping_replaces_only_what_was_seen(room: HostRoom, scope: Any) -> None:
    store = context(room).store
    assert await store.swap("k", None, {"v": 1}, scope=scope)
    assert not await store.swap("k", None, {"v": 2}, scope=scope)
    assert not await store.swap("k", {"v": 2}, {"v": 3}, scope=scope)
    assert await store.swap("k", {"v": 1}, {"v": 2}, scope=scope)
    assert await store.get("k", scope=scope) == {"v": 2}
    assert await store.names(scope=scope) == ["k"]
    assert await store.swap("k", {"v": 2}, None, scope=scope)
    assert await store.names(scope=scope) == []


async def test_of_many_who_swap_at_once_one_wins(room: HostRoom) -> None:
    async with asyncio.timeout(10):
        won = await asyncio.gather(*(context(room).store.swap("k", None, n, scope="bot") for n in range(1, 11)))
    assert sum(won) == 1


async def test_each_add_and_each_successful_swap_is_a_step_in_the_journal(room: HostRoom) -> None:
    ctx = context(room)
    await ctx.store.add("n", 1)
    await ctx.store.swap("k", None, 1, scope="bot")
    await ctx.store.swap("k", None, 1, scope="bot")
    lines = [line.entry for line in await room.journal("step")]
    assert [(e.call, e.name, e.payload["name"]) for e in lines] == [
        (f"{ctx.turn}:1", "store.add", "n"), (f"{ctx.turn}:2", "store.swap", "k"),
    ]  # fmt: skip


async def test_a_number_that_is_none_is_refused_and_nothing_is_written(room: HostRoom) -> None:
    ctx = context(room)
    await ctx.store.swap("k", None, "text")
    await ctx.store.swap("flag", None, True)
    for name in ("k", "flag"):
        with pytest.raises(InvalidArgumentsError, match="不是数字"):
            await ctx.store.add(name, 1)
    with pytest.raises(InvalidArgumentsError, match="不是 JSON"):
        await ctx.store.add("n", float("inf"))
    assert await ctx.store.get("n", scope="person") is None
    assert len(await room.journal("step")) == 2


async def test_scopes_are_not_mixed(room: HostRoom) -> None:
    store = context(room).store
    for attempt in (store.add("a", 1, scope="session"), store.swap("a", None, 1, scope="session")):
        with pytest.raises(CallError, match="get / set / delete"):
            await attempt
    with pytest.raises(CallError, match="没有提问的人"):
        await context(room, user=None).store.add("a", 1)


async def test_an_action_is_journalled_before_it_leaves_and_behind(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        seen: list[str] = []

        class Looking(Core):
            async def call(self, self_id: str, action: str, params: Any) -> Any:
                seen.extend(kind for (kind,) in await rows(room.host.database, "select type from journal"))
                return await super().call(self_id, action, params)

        core = Looking({"group_name": "团"})
        room.host.contexts._core = core
        ctx = context(room)
        assert await ctx.call_action("get_group_info", group_id="1") == {"group_name": "团"}
        assert core.calls == [("1", "get_group_info", {"group_id": "1"})]
        assert seen == ["tool_call_started"]
        lines = [line.entry for line in await room.journal()]
        assert [(e.type, e.call, e.name) for e in lines] == [
            (kind, f"{ctx.turn}:1", "get_group_info") for kind in ("tool_call_started", "tool_call_completed")
        ]


async def test_a_refused_action_is_told_and_journalled(tmp_path: Path) -> None:
    async with HostRoom(tmp_path, core=Core(ActionFailedError("get_group_info", 1404, "不在群里"))) as room:
        with pytest.raises(CallError, match="get_group_info 失败") as refused:
            await context(room).call_action("get_group_info")
        assert refused.value.code == "action_failed"
        assert [line.entry.type for line in await room.journal()] == ["tool_call_started", "tool_call_failed"]


@pytest.mark.parametrize(
    "action", ["send_group_msg", "send_private_msg", "send_group_forward_msg", "upload_group_file", "group_poke",
               "friend_poke", ".handle_quick_operation", "_send_group_notice", "poke", "group_sign", "forward_msg",
               "create_group_file_folder", "", "GET_x", "xget_msg"],
)  # fmt: skip
async def test_an_action_that_sends_is_refused_before_anything_happens(room: HostRoom, action: str) -> None:
    with pytest.raises(CallError, match="会发送消息") as refused:
        await context(room).call_action(action)
    assert refused.value.code == "action_sends"
    assert await room.journal() == []


@pytest.mark.parametrize(
    "action", ["get_msg", "_get_model_show", ".get_word_slices", "nc_get_packet_status", "fetch_custom_face",
               "check_url_safely", "can_send_image", "set_group_ban", "set_group_kick_async", "delete_msg",
               "mark_msg_as_read", "ocr_image"],
)  # fmt: skip
async def test_an_action_that_says_nothing_is_taken(room: HostRoom, action: str) -> None:
    assert await context(room).call_action(action) == {"group_name": "团"}


async def test_without_a_protocol_end_actions_say_so(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        with pytest.raises(CallError) as refused:
            await context(room).call_action("get_group_info")
    assert refused.value.code == "OB11_DEPENDENCY_REQUIRED"


async def test_services_are_found_by_name(room: HostRoom) -> None:
    contribution = Contribution(Source("plugin", "offers"))
    contribution.service("weather", "sunny")
    room.host.registry.install(contribution)
    assert context(room).service("weather") == "sunny"
    with pytest.raises(ServiceMissingError, match="没有插件提供 nothing 服务"):
        context(room).service("nothing")


async def test_a_line_said_on_the_way_goes_to_the_session(room: HostRoom) -> None:
    group, chat = context(room), context(room, session="private:1001")
    group.say("群里")
    chat.say("私下")
    group.note("roll", value=3)
    assert [(reply.to, reply.user_id, reply.source) for reply in group.effects.replies] == [("group", None, "tool")]
    assert [(reply.to, reply.user_id) for reply in chat.effects.replies] == [("private", "1001")]
    assert group.effects.notes == [("roll", {"value": 3})]
    assert context(room).effects == Effects()
