"""Frames both ways: echoes byte for byte, one answer per call, order, and what is dropped and counted."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from tests.bridge.rig import FAST, FakeCore
from tests.kit.protocol_end import ProtocolEnd

ECHOES = [
    "-1",
    '"-11"',
    '"7"',
    "7",
    "1152921504606846977",
    "1.50",
    "1e400",
    "true",
    '""',
    '{"seq": 1,  "a":[1]}',
    "[ 1 ]",
    '"\\u4f60\\ud83d\\ude00"',
    '"b3f1d1c0-0000-4000-8000-000000000000"',
]


async def raw_answer(core: FakeCore, frame: str) -> str:
    await core.socket.send(frame)
    while '"post_type"' in (answer := await core.raw()):
        pass
    return answer


@pytest.mark.parametrize("profile", ["napcat", "llbot"])
async def test_an_echo_comes_back_byte_for_byte(rig: Any, profile: str) -> None:
    async with ProtocolEnd(profile) as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        for echo in ECHOES:
            answer = await raw_answer(core, '{"action":"get_status","params":{},"echo":' + echo + "}")
            assert answer.endswith(f'"echo":{echo}}}')
        assert json.loads(await raw_answer(core, '{"action":"get_status","echo":null}'))["echo"] is None
        assert "echo" not in json.loads(await raw_answer(core, '{"action":"get_status"}'))
        assert all(isinstance(call.echo, str) for call in end.calls)
        assert r.bridge.health()["pending"] == 0


async def test_params_and_data_are_not_touched(rig: Any) -> None:
    odd = '{"id":"7672696335120716277","n": 12345678901234567890123, "f":1.0,"t":"\\u0041"}'
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        end.answers.data["x_action"] = {"big": 2**70}
        answer = await raw_answer(core, '{"action":"x_action","params":' + odd + ',"echo":1,"unknown":[1]}')
        assert json.loads(answer)["data"] == {"big": 2**70}
        assert end.calls[-1].params == json.loads(odd)


async def test_half_a_surrogate_pair_does_not_lose_a_frame(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        frame = '{"post_type":"notice","self_id":10001,"notice_type":"x","user_id":1,"name":"cut \\ud83d"}'
        await end.frame(frame)
        assert await core.raw() == frame
        await r.host.until(lambda: bool(r.host.events))
        assert r.host.events[0].detail["name"] == "cut ?"
        await core.socket.send('{"action":"x","params":{"a":"\\\\ud83d \\udc00 \\ud83d\\ude00"},"echo":5}')
        assert (await core.frame())["echo"] == 5
        assert end.calls[-1].params == {"a": "\\ud83d \ufffd 😀"}


async def test_an_event_reaches_the_core_as_the_very_bytes(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        frame = '{ "post_type":"notice","self_id":10001, "notice_type":"never_heard","x":1e2, "t":"\\u0041" }'
        await end.frame(frame)
        assert await core.raw() == frame


@pytest.mark.parametrize("echo", ECHOES)
async def test_without_a_protocol_end_every_call_fails_at_once_but_not_instantly(rig: Any, echo: str) -> None:
    async with rig() as r:
        core = await r.core("/core/10001")
        began = time.monotonic()
        answer = await raw_answer(core, '{"action":"send_group_msg","echo":' + echo + "}")
        assert 0.005 <= time.monotonic() - began < 1
        assert answer.endswith(f'"echo":{echo}}}')
        body = json.loads(answer)
        assert (body["status"], body["data"]) == ("failed", None)
        assert 1400 <= body["retcode"] < 1500


async def test_when_the_end_vanishes_each_waiting_call_fails_once(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        end.mute_answers()
        for number in range(5):
            await core.socket.send(json.dumps({"action": "get_group_list", "echo": number}))
        await end.wait_calls("get_group_list", 5)
        await end.stop()
        answers = [await core.frame() for _ in range(5)]
        assert sorted(answer["echo"] for answer in answers) == [0, 1, 2, 3, 4]
        assert {answer["retcode"] for answer in answers} == {1424}
        assert r.bridge.health()["pending"] == 0


async def test_a_silent_end_is_a_failure_after_the_limit_and_its_late_answer_goes_nowhere(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}], action_timeout=0.1) as r:
        await end.wait_connected()
        core = await r.core()
        await end.wait_calls("get_version_info")
        end.delay_answers(0.3, "get_group_list")
        assert (await core.call("get_group_list", "same"))["retcode"] == 1408
        end.answers.delays.clear()
        end.answers.data["get_group_list"] = ["fresh"]
        assert (await core.call("get_group_list", "same"))["data"] == ["fresh"]
        health = await r.until(lambda health: health["counts"].get("answers_unclaimed") == 1)
        assert health["pending"] == 0
        assert (await core.call("get_status", 2))["echo"] == 2


async def test_one_call_gets_one_answer_even_when_the_end_answers_six_times(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        end.mute_answers("get_group_list")
        await core.socket.send('{"action":"get_group_list","echo":1}')
        call = (await end.wait_calls("get_group_list"))[0]
        for _ in range(6):
            await end.frame(json.dumps({"status": "ok", "retcode": 0, "data": [], "echo": call.echo}))
        assert (await core.frame())["echo"] == 1
        assert (await core.call("get_status", 2))["echo"] == 2
        assert r.bridge.health()["counts"]["answers_unclaimed"] == 5


async def test_every_frame_of_a_stream_action_passes(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        end.mute_answers("download_file_stream")
        await core.socket.send('{"action":"download_file_stream","echo":{"n":1}}')
        call = (await end.wait_calls("download_file_stream"))[0]
        for kind in ("stream", "stream", "response", "response"):
            body = {"status": "ok", "retcode": 0, "data": {"type": kind}, "stream": "stream-action", "echo": call.echo}
            await end.frame(json.dumps(body))
        frames = [await core.frame() for _ in range(3)]
        assert [frame["data"]["type"] for frame in frames] == ["stream", "stream", "response"]
        assert all(frame["echo"] == {"n": 1} for frame in frames)
        health = await r.until(lambda health: health["counts"].get("answers_unclaimed") == 1)
        assert health["pending"] == 0


async def test_answers_find_their_own_core_when_two_use_the_same_echo(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        one, two = await r.core(), await r.core()
        end.delay_answers(0.05, "slow_one")
        end.answers.data.update(slow_one="for one", fast_two="for two")
        first = asyncio.create_task(one.call("slow_one", 1))
        second = asyncio.create_task(two.call("fast_two", 1))
        assert ((await first)["data"], (await second)["data"]) == ("for one", "for two")


async def test_a_burst_arrives_complete_and_in_order(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        for number in range(500):
            await end.group_message(100, 2001, str(number))
        assert [int((await core.frame())["raw_message"]) for _ in range(500)] == list(range(500))
        await r.host.until(lambda: len(r.host.events) == 500)
        assert [int(event.text) for event in r.host.events] == list(range(500))
        assert r.bridge.health()["cores"][0]["dropped"] == 0


async def test_the_same_message_twice_is_delivered_once_over_any_link(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        await end.connect_reverse(r.url("/ob11"))
        await end.wait_connected(2)
        core = await r.core()
        await end.group_message(100, 2001, "a", message_id=1)
        await end.group_message(100, 2001, "a", message_id=1)
        await end.notice("group_recall", group_id=100, message_id=1, time=1)
        await end.group_message(100, 2001, "b", message_id=2)
        frames = [await core.frame() for _ in range(3)]
        assert [frame.get("raw_message") for frame in frames] == ["a", None, "b"]
        await r.until(lambda health: health["counts"].get("events_twice") == 5)
        await r.host.until(lambda: len(r.host.events) == 3)


async def test_an_old_event_is_dropped_when_an_age_is_set(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}], max_event_age=3600) as r:
        await end.wait_connected()
        core = await r.core()
        await end.group_message(100, 2001, "old", time=int(time.time()) - 7200)
        await end.group_message(100, 2001, "new")
        assert (await core.frame())["raw_message"] == "new"
        assert r.bridge.health()["counts"]["events_too_old"] == 1


async def test_frames_that_nobody_can_read_are_counted_and_harm_nothing(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        core = await r.core()
        for frame in ("{", "[1]", '"x"', "", '{"echo":"nobody"}', b"\x00\x01"):
            await end.frame(frame)
            await core.socket.send(frame)
        await core.socket.send('{"ping":1}')
        assert (await core.frame())["retcode"] == 1400
        await end.group_message(100, 2001, "still here")
        assert (await core.frame())["raw_message"] == "still here"
        health = r.bridge.health()
        assert health["counts"] == {"bad_frames": 8, "answers_unclaimed": 1, "frames_without_action": 1}
        assert health["upstream"][0]["binary_ignored"] == health["cores"][0]["binary_ignored"] == 1


async def test_a_frame_over_the_limit_of_a_core_is_cut_and_the_link_lives(rig: Any) -> None:
    cores = [{"frame_limit": 2048}]
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}], cores=cores) as r:
        await end.wait_connected()
        core = await r.core()
        image = {"type": "image", "data": {"file": "base64://" + "A" * 1_100_000}}
        await end.group_message(100, 2001, [image], message_id=9)
        cut = await core.frame()
        assert (cut["message_id"], cut["message"][0]["type"]) == (9, "text")
        end.answers.data["get_msg"] = "x" * 4000
        assert (await core.call("get_msg"))["status"] == "failed"
        await end.group_message(100, 2001, "next")
        assert (await core.frame())["raw_message"] == "next"
        assert r.bridge.health()["cores"][0]["guarded"] == 2


async def test_a_core_that_does_not_read_loses_events_and_they_are_counted(rig: Any) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}]) as r:
        await end.wait_connected()
        stuck, well = await r.core(), await r.core()
        stuck.socket.transport.pause_reading()
        padding = "x" * 400_000
        for number in range(400):
            await end.group_message(100, 2001, f"{number} {padding}")
            assert (await well.frame())["raw_message"].startswith(f"{number} ")
        stuck_health, well_health = r.bridge.health()["cores"]
        assert stuck_health["dropped"] > 0
        assert well_health["dropped"] == 0
        stuck.socket.transport.abort()


def test_the_fast_periods_of_the_tests_keep_the_pause_before_local_answers() -> None:
    assert FAST.local_delay >= 0.005
