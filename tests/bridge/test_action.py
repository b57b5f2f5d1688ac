"""Actions on the wire, and what answers mean."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.action import SAFE_INTEGER, encode_call, is_slow, read_outcome
from bridge.envelope import open_envelope
from plugin_host.values import Outcome, Segment


def wire(action: str, **params: Any) -> Any:
    return json.loads(encode_call(action, params, "e"))


def test_ids_are_integers_on_the_wire_and_the_echo_is_there() -> None:
    assert wire("set_group_ban", group_id="100", user_id="2001", duration=60) == {
        "action": "set_group_ban",
        "params": {"group_id": 100, "user_id": 2001, "duration": 60},
        "echo": "e",
    }


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("-2147483648", -2147483648),
        (str(SAFE_INTEGER), SAFE_INTEGER),
        (str(SAFE_INTEGER + 1), str(SAFE_INTEGER + 1)),
        ("abc", "abc"),
        ("", ""),
        ("１２", "１２"),
        (7, 7),
    ],
)
def test_only_safe_digits_become_integers(value: Any, sent: Any) -> None:
    assert wire("delete_msg", message_id=value)["params"]["message_id"] == sent


def test_the_id_of_a_merged_forward_stays_a_string() -> None:
    assert wire("get_forward_msg", id="7672696335120716277")["params"]["id"] == "7672696335120716277"
    assert wire("get_forward_msg", message_id="12")["params"]["message_id"] == "12"


def test_a_message_text_is_never_parsed() -> None:
    literal = [{"type": "text", "data": {"text": "[CQ:at,qq=all]"}}]
    assert wire("send_msg", message="[CQ:at,qq=all]")["params"]["message"] == literal
    assert wire("send_msg", message=Segment.text("[CQ:at,qq=all]"))["params"]["message"] == literal
    assert wire("send_msg", message=(Segment.text("[CQ:at,qq=all]"),))["params"]["message"] == literal
    node = {"type": "node", "data": {"user_id": "1", "nickname": "n", "content": "[CQ:at,qq=all]"}}
    sent = wire("send_group_forward_msg", group_id="1", messages=[node])["params"]["messages"][0]
    assert sent["data"] == {"user_id": "1", "nickname": "n", "content": literal}


def test_half_a_surrogate_pair_can_be_sent() -> None:
    assert wire("send_msg", message="a\ud800b")["params"]["message"][0]["data"]["text"] == "a?b"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"status": "ok", "retcode": 0, "data": {"message_id": -5}}, Outcome("sent", "-5", 0, "", {"message_id": -5})),
        ({"status": "async", "retcode": 1, "data": None}, Outcome("sent", None, 1)),
        ({"retcode": 0}, Outcome("sent")),
        ({"retcode": 1200, "msg": "m"}, Outcome("failed", None, 1200, "m")),
        ({"status": "failed", "retcode": 0}, Outcome("failed")),
        ({"status": "failed", "retcode": 100, "wording": "w", "msg": "m"}, Outcome("failed", None, 100, "w")),
        ({"status": "failed", "retcode": -1, "msg": ""}, Outcome("failed", None, -1)),
    ],
)
def test_what_an_answer_says(answer: dict[str, Any], outcome: Outcome) -> None:
    frame = json.dumps(answer).encode()
    envelope = open_envelope(frame)
    assert envelope is not None
    assert read_outcome(envelope, frame) == outcome


def test_transfers_and_forwards_are_slow_and_plain_sends_are_not() -> None:
    assert all(is_slow(name) for name in ("upload_group_file", "send_group_forward_msg", "download_file_stream"))
    assert not any(is_slow(name) for name in ("send_group_msg", "get_login_info", "set_group_ban"))
