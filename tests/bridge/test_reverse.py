"""Protocol ends that dial us: roles, accounts, second links, and the clean-up of dead ones."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.bridge.rig import FAST
from tests.kit.protocol_end import ProtocolEnd


@pytest.mark.parametrize("profile", ["napcat", "llbot"])
@pytest.mark.parametrize("path", ["/ob11", "/ob11/", "/ob11/ws"])
async def test_an_end_that_dials_us_works_like_one_that_we_dial(rig: Any, profile: str, path: str) -> None:
    async with ProtocolEnd(profile) as end, rig(tokens={"ob11": "t"}) as r:
        with pytest.raises(InvalidStatus):
            await end.connect_reverse(r.url(path), "wrong")
        await end.connect_reverse(r.url(path), "t")
        await r.host.until(lambda: "QQ:10001" in r.host.channels)
        core = await r.core()
        await end.group_message(100, 2001, "a")
        assert (await core.frame())["raw_message"] == "a"
        assert (await core.call("get_login_info", 1))["data"]["user_id"] == 10001


async def test_separate_event_and_api_links_make_one_account(rig: Any) -> None:
    async with ProtocolEnd(lifecycle=False) as end, rig() as r:
        await end.connect_reverse(r.url("/ob11"), role="Event")
        await r.until(lambda health: len(health["upstream"]) == 1)
        core = await r.core()
        await end.group_message(100, 2001, "a")
        assert (await core.frame())["raw_message"] == "a"
        assert r.host.channels == {}
        assert (await core.call("get_group_list"))["retcode"] == 1424
        await end.connect_reverse(r.url("/ob11"), role="Api")
        await r.host.until(lambda: "QQ:10001" in r.host.channels)
        assert (await core.call("get_group_list"))["data"] == []


async def test_without_x_self_id_the_first_answer_or_event_tells_the_account(rig: Any) -> None:
    async with ProtocolEnd(lifecycle=False) as end, rig() as r:
        await end.connect_reverse(r.url("/ob11"), X_Self_ID="")
        await r.host.until(lambda: "QQ:10001" in r.host.channels)


async def test_an_event_without_any_account_is_counted_and_not_relayed(rig: Any) -> None:
    async with rig() as r, connect(r.url("/ob11"), proxy=None) as socket:
        await socket.send('{"post_type":"notice","notice_type":"x"}')
        await r.until(lambda health: health["counts"] == {"events_without_account": 1})
        assert r.bridge.health()["accounts"] == []


async def test_a_second_link_stands_by_while_the_first_is_alive(rig: Any) -> None:
    async with ProtocolEnd() as one, ProtocolEnd() as two, rig() as r:
        await one.connect_reverse(r.url("/ob11"))
        await two.connect_reverse(r.url("/ob11"))
        await r.until(lambda health: [link["state"] for link in health["upstream"]] == ["acting", "standby"])
        core = await r.core()
        await core.call("send_group_msg", message="x")
        assert (len(one.sent), len(two.sent)) == (1, 0)
        await one.drop()
        await r.until(lambda health: [link["state"] for link in health["upstream"]] == ["acting"])
        await core.call("send_group_msg", message="y")
        assert (len(one.sent), len(two.sent)) == (1, 1)
        assert r.host.lost == []


async def test_a_frozen_first_link_is_replaced_and_calls_go_to_the_second(rig: Any) -> None:
    async with ProtocolEnd() as frozen, ProtocolEnd() as fresh, rig() as r:
        await frozen.connect_reverse(r.url("/ob11"))
        frozen.connections[0].transport.pause_reading()
        await fresh.connect_reverse(r.url("/ob11"))
        await r.until(lambda health: [link["state"] for link in health["upstream"]] == ["acting"])
        core = await r.core()
        await core.call("send_group_msg", message="x")
        assert len(fresh.sent) == 1
        assert len(r.host.channels) == 1
        frozen.connections[0].transport.abort()


async def test_the_account_is_lost_to_the_host_only_when_its_last_link_goes(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await r.host.until(lambda: "QQ:10001" in r.host.channels)
        other = ProtocolEnd()
        await other.connect_reverse(r.url("/ob11"))
        await r.until(lambda health: len(health["upstream"]) == 2)
        await end.stop()
        await r.until(lambda health: len(health["upstream"]) == 1)
        assert r.host.lost == []
        await other.stop()
        await r.host.until(lambda: r.host.lost == ["QQ:10001"])


async def test_a_frame_of_three_megabytes_passes_both_ways(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(cores=[{"frame_limit": 64 * 2**20}]) as r:
        await end.connect_reverse(r.url("/ob11"))
        async with connect(r.url("/core"), max_size=None, proxy=None) as core:
            big = "A" * 3_000_000
            await core.send(json.dumps({"action": "send_group_msg", "params": {"message": big}, "echo": 1}))
            assert (await end.wait_sent())[0].params["message"] == big
            await end.group_message(100, 2001, big)
            async with asyncio.timeout(5):
                while len(frame := await core.recv()) < 3_000_000:
                    pass
            assert json.loads(frame)["raw_message"] == big


async def test_an_idle_link_lives_and_a_frozen_one_is_found_by_ping(rig: Any) -> None:
    timing = replace(FAST, ping_every=0.1)
    async with ProtocolEnd() as end, ProtocolEnd("llbot", "10002") as frozen, rig(timing=timing) as r:
        await end.connect_reverse(r.url("/ob11"))
        await frozen.connect_reverse(r.url("/ob11"))
        core = await r.core("/core/10001")
        frozen.connections[0].transport.pause_reading()
        await r.until(lambda health: [link["self_id"] for link in health["upstream"]] == ["10001"])
        frozen.connections[0].transport.abort()
        assert (await core.call("get_group_list"))["retcode"] == 0


async def test_stop_takes_less_than_three_seconds_even_with_frozen_peers(rig: Any) -> None:
    async with ProtocolEnd() as end, ProtocolEnd() as dialled, rig(protocol=[{"url": dialled.url}]) as r:
        await end.connect_reverse(r.url("/ob11"))
        core = await r.core()
        for peer in (core.socket, end.connections[0], dialled.connections[0]):
            peer.transport.pause_reading()
        began = time.monotonic()
        await r.bridge.stop()
        assert time.monotonic() - began < 3
        for peer in (core.socket, *end.connections, *dialled.connections):
            peer.transport.abort()
