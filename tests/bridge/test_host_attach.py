"""The host attached in process: events in, actions out, and honest outcomes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from plugin_host.errors import ActionFailedError, BridgeError, OutcomeUnknownError
from plugin_host.values import Action, Outcome, Segment
from tests.kit.protocol_end import ProtocolEnd

DOOR = "QQ:10001"


def say(text: str, key: str = "k:0:0") -> Action:
    params = {"group_id": "100", "message": [{"type": "text", "data": {"text": text}}]}
    return Action(key, "group:100", DOOR, "send_group_msg", params)


async def test_a_group_message_becomes_an_event_and_a_send_becomes_an_action(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await r.host.until(lambda: DOOR in r.host.channels)
        number = await end.group_message(100, 2001, ".r d20", role="admin", time=1700000000)
        await r.host.until(lambda: bool(r.host.events))
        event = r.host.events[0]
        assert (event.key, event.session, event.text) == (
            f"QQ:10001:group:100:{number}:1700000000",
            "group:100",
            ".r d20",
        )
        assert (event.door, event.user_id, event.sender.role, event.addressed) == (DOOR, "2001", "admin", False)
        outcome = await r.host.channels[DOOR].send(say("[CQ:at,qq=all] &amp; 1"), 5)
        sent = (await end.wait_sent())[0]
        assert outcome == Outcome("sent", str(sent.message_id), 0, "", {"message_id": sent.message_id})
        assert sent.params["group_id"] == 100
        assert sent.params["message"] == [{"type": "text", "data": {"text": "[CQ:at,qq=all] &amp; 1"}}]


async def test_a_refused_send_is_failed_with_the_retcode_and_words(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        end.refuse("send_group_msg", 1200, "风控")
        await r.host.until(lambda: DOOR in r.host.channels)
        outcome = await r.host.channels[DOOR].send(say("x"), 5)
        assert (outcome.status, outcome.retcode, outcome.error) == ("failed", 1200, "风控")


async def test_a_silent_send_is_unknown_and_its_late_answer_is_told(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await r.host.until(lambda: DOOR in r.host.channels)
        end.delay_answers(0.3, "send_group_msg")
        outcome = await r.host.channels[DOOR].send(say("x", "late:0:0"), 0.05)
        assert outcome.status == "unknown"
        await r.host.until(lambda: bool(r.host.late))
        assert r.host.late[0][0] == "late:0:0"
        assert r.host.late[0][1].status == "sent"
        assert r.bridge.health()["pending"] == 0


async def test_a_link_lost_after_the_write_is_unknown_and_a_closed_one_fails(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await r.host.until(lambda: DOOR in r.host.channels)
        channel = r.host.channels[DOOR]
        end.mute_answers("send_group_msg")
        sending = asyncio.create_task(channel.send(say("x"), 5))
        await end.wait_sent()
        await end.stop()
        assert (await sending).status == "unknown"
        await r.host.until(lambda: r.host.lost == [DOOR])
        assert await channel.send(say("y"), 5) == Outcome("failed", error="link closed before write")


async def test_call_returns_data_and_raises_what_went_wrong(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}], action_timeout=0.2) as r:
        with pytest.raises(BridgeError, match="999"):
            await r.bridge.call("999", "get_login_info", {})
        await r.host.until(lambda: DOOR in r.host.channels)
        info = await r.bridge.call("10001", "get_group_member_info", {"group_id": "100", "user_id": "2001"})
        assert info["role"] == "member"
        with pytest.raises(ActionFailedError) as failed:
            await r.bridge.call("", "no_such_action", {})
        assert failed.value.retcode == 1404
        end.mute_answers("get_group_list")
        with pytest.raises(OutcomeUnknownError):
            await r.bridge.call("10001", "get_group_list", {})
        await end.stop()
        await r.host.until(lambda: bool(r.host.lost))
        with pytest.raises(BridgeError):
            await r.bridge.call("10001", "get_group_list", {})


async def test_a_reply_to_a_message_of_the_bot_is_addressed(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await r.host.until(lambda: DOOR in r.host.channels)
        outcome = await r.host.channels[DOOR].send(say("x"), 5)
        quote = {"type": "reply", "data": {"id": outcome.message_id}}
        await end.group_message(100, 2001, [quote, {"type": "text", "data": {"text": "再来"}}])
        await r.host.until(lambda: bool(r.host.events))
        assert r.host.events[0].addressed
        assert r.host.events[0].segments == (Segment("reply", {"id": outcome.message_id}), Segment.text("再来"))


async def test_a_host_that_fails_or_is_slow_does_not_hold_the_relay(rig: Any, logs: list[str]) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await r.host.until(lambda: DOOR in r.host.channels)
        core = await r.core()
        hold = asyncio.Event()

        async def slow(event: Any) -> None:
            await hold.wait()
            raise ValueError(event.text)

        r.host.handle = slow
        for number in range(3):
            await end.group_message(100, 2001, str(number))
        assert [(await core.frame())["raw_message"] for _ in range(3)] == ["0", "1", "2"]
        assert [event.text for event in r.host.events] == ["0"]
        hold.set()
        health = await r.until(lambda health: health["counts"].get("host_events_failed") == 3)
        assert health["counts"]["host_events_failed"] == 3
        assert [event.text for event in r.host.events] == ["0", "1", "2"]
        assert sum("ValueError" in line for line in logs) == 3


async def test_a_message_that_begins_with_a_name_of_the_bot_is_addressed(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(names=("小骰",), protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        await end.group_message(100, 2001, "小骰，你好")
        await end.group_message(100, 2001, "你好，小骰")
        await r.host.until(lambda: len(r.host.events) == 2)
        assert [event.addressed for event in r.host.events] == [True, False]


async def test_notices_and_requests_reach_the_host_and_meta_events_do_not(rig: Any) -> None:
    async with ProtocolEnd(heartbeat=0.02) as end, rig(protocol=[{"url": end.url}]) as r:
        await r.until(lambda health: health["upstream"] != [] and health["upstream"][0]["received"] > 5)
        await end.notice("group_increase", group_id=100, user_id=2001, sub_type="approve")
        await end.request("friend", user_id=2002, flag="f", comment="hi")
        await r.host.until(lambda: len(r.host.events) == 2)
        assert [event.kind for event in r.host.events] == ["notice", "request"]


async def test_self_messages_reach_neither_host_nor_core(rig: Any) -> None:
    async with ProtocolEnd(report_self=True) as end, rig(protocol=[{"url": end.url}]) as r:
        await r.host.until(lambda: DOOR in r.host.channels)
        core = await r.core()
        await r.host.channels[DOOR].send(say("自言自语"), 5)
        await end.group_message(100, 10001, ".r d20")
        await end.group_message(100, 2001, "别人")
        assert (await core.frame())["raw_message"] == "别人"
        await r.host.until(lambda: bool(r.host.events))
        assert [event.text for event in r.host.events] == ["别人"]


async def test_stop_ends_everything_quickly(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}, {"url": "ws://127.0.0.1:9/"}]) as r:
        await r.host.until(lambda: DOOR in r.host.channels)
        core = await r.core()
        async with asyncio.timeout(3):
            await r.bridge.stop()
        assert await core.socket.wait_closed() is None
        assert r.bridge.health()["upstream"] == []
        assert json.dumps(r.bridge.health())
