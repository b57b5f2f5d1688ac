"""Dialling: pauses that grow, refusals that are understood, never a storm."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from bridge.backoff import Backoff
from bridge.dial import with_token
from tests.bridge.rig import FAST
from tests.kit.protocol_end import ProtocolEnd

PATIENT = replace(FAST, first_delay=0.01, longest_delay=30.0)


def test_pauses_double_with_jitter_up_to_the_longest() -> None:
    backoff = Backoff(1.0, 60.0, random.Random(1))
    planned = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    for plan in planned:
        assert 0.75 * plan <= backoff.next() <= min(1.25 * plan, 60)
    backoff.reset()
    assert backoff.next() <= 1.25


def test_a_refused_token_gets_the_longest_pause_and_keeps_it() -> None:
    backoff = Backoff(1.0, 60.0, random.Random(1))
    assert backoff.refused() == 60
    assert backoff.next() >= 45


@pytest.mark.parametrize(
    ("token", "url", "headers"),
    [
        ("", "ws://x/", {}),
        ("t", "ws://x/", {"Authorization": "Bearer t"}),
        ("秘&密", "ws://x/?access_token=%E7%A7%98%26%E5%AF%86", {}),
        ("a\nb", "ws://x/?access_token=a%0Ab", {}),
    ],
)
def test_a_token_that_no_header_can_hold_travels_in_the_query(token: str, url: str, headers: dict[str, str]) -> None:
    assert with_token("ws://x/", token) == (url, headers)


@asynccontextmanager
async def refusing(shape: str) -> AsyncIterator[str]:
    """A server that refuses in one of the shapes met in the field."""

    async def handler(socket: ServerConnection) -> None:
        if shape == "1403 then close":
            await socket.send('{"status":"failed","retcode":1403,"data":null,"echo":null}')
        await socket.close(1008 if shape == "close 1008" else 1000)

    def before(socket: ServerConnection, _: Any) -> Any:
        return socket.respond(int(shape), "no") if shape.isdigit() else None

    async with serve(handler, "127.0.0.1", 0, process_request=before) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/"


@pytest.mark.parametrize("shape", ["401", "403", "1403 then close", "close 1008", "close 1000"])
async def test_a_refused_token_in_any_shape_is_named_and_not_tried_again_soon(
    rig: Any, logs: list[str], shape: str
) -> None:
    async with refusing(shape) as url, rig(timing=PATIENT, protocol=[{"url": url, "token": "wrong"}]) as r:
        health = await r.until(lambda health: health["dials"][0]["state"] == "refused")
        assert health["dials"][0]["dials"] == 1
        assert "token" in health["dials"][0]["message"]
        assert health["upstream"] == []
        assert not any("wrong" in line for line in logs)


@pytest.mark.parametrize("profile", ["napcat", "llbot"])
async def test_the_vendors_refusals_are_understood_and_the_right_token_is_taken(rig: Any, profile: str) -> None:
    async with ProtocolEnd(profile, token="right") as end:
        async with rig(timing=PATIENT, protocol=[{"url": end.url, "token": "wrong"}]) as r:
            await r.until(lambda health: health["dials"][0]["state"] == "refused")
            assert end.refusals == 1
        async with rig(protocol=[{"url": end.url, "token": "right"}]) as r:
            await r.host.until(lambda: bool(r.host.channels))


async def test_an_end_that_accepts_and_crashes_is_dialled_slower_and_slower(rig: Any) -> None:
    dials: list[float] = []
    sixth = asyncio.Event()

    async def crash(socket: ServerConnection) -> None:
        dials.append(asyncio.get_running_loop().time())
        socket.transport.abort()
        if len(dials) == 6:
            sixth.set()

    async with serve(crash, "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/"
        timing = replace(FAST, first_delay=0.02, longest_delay=10.0)
        async with rig(timing=timing, protocol=[{"url": url}]):
            await asyncio.wait_for(sixth.wait(), 10)
    assert [later - earlier >= 0.74 * 0.02 * 2**n for n, (earlier, later) in enumerate(pairwise(dials))] == [True] * 5


async def test_a_healthy_link_resets_the_pause_and_there_is_only_one_link_at_a_time(rig: Any) -> None:
    timing = replace(FAST, first_delay=0.02, longest_delay=60.0)
    async with ProtocolEnd() as end, rig(timing=timing, protocol=[{"url": end.url}]) as r:
        for number in range(8):
            await end.wait_connected()
            await r.until(lambda health: [link["self_id"] for link in health["upstream"]] == ["10001"])
            assert len(end.connections) == 1
            await end.group_message(100, 2001, str(number))
            await r.host.until(lambda count=number + 1: len(r.host.events) == count)  # type: ignore[misc]
            await end.drop()
        assert [event.text for event in r.host.events] == [str(number) for number in range(8)]
        assert r.bridge.health()["dials"][0]["dials"] <= 9


async def test_a_target_that_is_down_is_found_when_it_comes_up(rig: Any, logs: list[str]) -> None:
    async with ProtocolEnd() as end:
        url = end.url
        await end.stop()
        async with rig(protocol=[{"url": url}]) as r:
            await r.until(lambda health: health["dials"][0]["dials"] >= 3)
            assert sum("连不上" in line for line in logs) == 1
            await end.start()
            await r.host.until(lambda: bool(r.host.channels))


async def test_a_link_whose_heartbeats_stop_is_closed_and_dialled_again(rig: Any) -> None:
    async with ProtocolEnd(heartbeat=0) as end, rig(protocol=[{"url": end.url}]) as r:
        await r.host.until(lambda: bool(r.host.channels))
        beat = {"post_type": "meta_event", "meta_event_type": "heartbeat", "status": {"online": True}, "interval": 10}
        await end.event(beat)
        await r.until(lambda health: health["dials"][0]["dials"] == 2, timeout=8)
