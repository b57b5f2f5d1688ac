"""Core links: their own lifecycle and heartbeats, whose they are, and life without a protocol end."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from tests.bridge.rig import FAST
from tests.kit.protocol_end import ProtocolEnd


async def test_a_core_gets_lifecycle_and_heartbeats_of_its_own(rig: Any) -> None:
    async with rig(timing=replace(FAST, heartbeat=0.05)) as r:
        core = await r.core("/core/10001", greeted=False)
        first, second = await core.frame(), await core.frame()
        assert (first["self_id"], first["meta_event_type"], first["sub_type"]) == (10001, "lifecycle", "connect")
        assert (second["meta_event_type"], second["interval"]) == ("heartbeat", 50)
        assert second["status"]["online"] is False
        assert abs(second["time"] - time.time()) < 5


async def test_a_heartbeat_says_online_when_an_end_is_there_and_offline_when_it_says_so(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(timing=replace(FAST, heartbeat=0.05), protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        assert (await core.frame())["status"]["online"] is True
        status = {"online": False, "good": True}
        await end.event(
            {"post_type": "meta_event", "meta_event_type": "heartbeat", "status": status, "interval": 30000}
        )
        async with asyncio.timeout(5):
            while (await core.frame())["status"]["online"]:
                pass
        assert r.bridge.health()["accounts"] == [{"self_id": "10001", "usable": True, "online": False}]


async def test_questions_are_answered_from_memory_while_the_end_is_away(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_calls("get_version_info")
        core = await r.core()
        end.answers.data["x"] = 1
        assert (await core.call("x"))["data"] == 1
        await end.stop()
        await r.until(lambda health: not health["upstream"])
        login = await core.call("get_login_info", -1)
        assert (login["retcode"], login["echo"]) == (0, -1)
        assert login["data"] == {"user_id": 10001, "nickname": "测试机器人"}
        assert (await core.call("get_status"))["data"] == {"online": False, "good": False}
        assert (await core.call("get_version_info_async"))["data"]["app_name"] == "Fake.End"
        assert (await core.call("send_group_msg", 3))["retcode"] == 1424


async def test_an_account_that_was_never_seen_is_answered_from_its_number(rig: Any) -> None:
    async with rig(cores=[{"self_id": "10002"}]) as r:
        core = await r.core()
        assert (await core.call("get_login_info"))["data"] == {"user_id": 10002, "nickname": ""}
        assert (await core.call("get_version_info"))["data"]["protocol_version"] == "v11"


async def test_a_question_waits_for_the_account_and_is_then_answered(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(timing=replace(FAST, hold=5.0)) as r:
        core = await r.core(greeted=False)
        await core.socket.send('{"action":"get_login_info","echo":-1}')
        await end.connect_reverse(r.url("/ob11"))
        assert (await core.frame())["meta_event_type"] == "lifecycle"
        answer = await core.frame()
        assert (answer["echo"], answer["data"]["user_id"]) == (-1, 10001)


async def test_a_question_fails_when_no_account_appears_and_other_calls_fail_at_once(rig: Any) -> None:
    async with rig(timing=replace(FAST, hold=0.1)) as r:
        core = await r.core(greeted=False)
        began = time.monotonic()
        assert (await core.call("send_group_msg"))["status"] == "failed"
        assert (await core.call("get_login_info"))["status"] == "failed"
        assert 0.1 <= time.monotonic() - began < 2


@pytest.mark.parametrize(("first_core", "second_core"), [("/core/10001", "/core/10002"), ("?core=a", "?core=b")])
async def test_each_core_serves_its_own_account(rig: Any, first_core: str, second_core: str) -> None:
    cores = [{"name": "a", "self_id": "10001"}, {"name": "b", "self_id": "10002"}]
    paths = [path if path.startswith("/") else f"/core{path}" for path in (first_core, second_core)]
    async with (
        ProtocolEnd() as one,
        ProtocolEnd("llbot", "10002") as two,
        rig(protocol=[{"url": one.url}, {"url": two.url}], cores=cores) as r,
    ):
        await one.wait_connected()
        await two.wait_connected()
        first, second = await r.core(paths[0]), await r.core(paths[1])
        await one.group_message(100, 2001, "for one")
        await two.group_message(100, 2001, "for two")
        assert (await first.frame())["raw_message"] == "for one"
        assert (await second.frame())["raw_message"] == "for two"
        await first.call("send_group_msg", message="x")
        assert (len(one.sent), len(two.sent)) == (1, 0)


async def test_api_links_get_no_events_and_event_links_take_no_calls(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        api, event = await r.core("/core/api", greeted=False), await r.core("/core/event")
        await event.socket.send('{"action":"get_group_list","echo":1}')
        await end.group_message(100, 2001, "a")
        assert (await event.frame())["raw_message"] == "a"
        await api.socket.send('{"action":"get_group_list","echo":2}')
        assert (await api.frame())["echo"] == 2
        assert [call.action for call in end.calls].count("get_group_list") == 1
        assert r.bridge.health()["counts"] == {"calls_on_event_links": 1}


async def test_a_core_with_events_dropped_can_still_act(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}], cores=[{"events": "drop"}]) as r:
        await end.wait_connected()
        core = await r.core()
        await end.group_message(100, 2001, "a")
        await r.host.until(lambda: bool(r.host.events))
        await core.socket.send('{"action":"get_group_list","echo":2}')
        assert (await core.frame())["echo"] == 2


async def test_a_core_may_ask_for_messages_of_the_bot_itself(rig: Any) -> None:
    cores = [{"self_messages": "relay"}]
    async with ProtocolEnd(report_self=True) as end, rig(protocol=[{"url": end.url}], cores=cores) as r:
        await end.wait_connected()
        core = await r.core()
        await core.socket.send(json.dumps({"action": "send_group_msg", "params": {"group_id": 1, "message": "x"}}))
        frames = [await core.frame(), await core.frame()]
        assert {frame.get("post_type") for frame in frames} == {"message_sent", None}
        assert r.host.events == []


async def test_healthz_tells_the_state_of_every_link_and_no_secret(rig: Any) -> None:
    async with ProtocolEnd(token="s3cret") as end:
        target = {"url": f"{end.url}?access_token=s3cret", "token": "s3cret"}
        async with rig(protocol=[target], tokens={"core": "c0re"}) as r:
            await r.host.until(lambda: bool(r.host.channels))
            await r.core(Authorization="c0re")
            url = f"http://127.0.0.1:{r.bridge.port}/healthz"
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                text = await response.text()
                assert response.status == 200
            state = json.loads(text)
            assert state["ok"] is True
            assert [link["state"] for link in state["upstream"]] == ["acting"]
            assert [(core["self_id"], core["role"]) for core in state["cores"]] == [("10001", "universal")]
            assert (state["dials"][0]["state"], state["dials"][0]["dials"]) == ("connected", 1)
            assert "s3cret" not in text
            assert "c0re" not in text
