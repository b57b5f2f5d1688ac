"""Event frames become events: keys, sessions, roles, addressees, and what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.media import MEDIA_LIMIT
from bridge.onebot import Listener, read_event
from plugin_host.values import Event
from tests.kit.frames import at, message_event, reply, text

NOW = 1_800_000_000.0
NAMED = Listener(("小骰", "Dice"), frozenset({"777"}))


def read(document: Any, listener: Listener = NAMED) -> Event | None:
    return read_event(json.dumps(document).encode(), listener, NOW)


def group(message: Any, **fields: Any) -> dict[str, Any]:
    base = message_event("10001", "2001", message, message_id=5, time=1_700_000_000)
    return {**base, "message_type": "group", "sub_type": "normal", "group_id": 100, **fields}


def private(message: Any, **fields: Any) -> dict[str, Any]:
    base = message_event("10001", "2001", message, message_id=5, time=1_700_000_000)
    return {**base, "message_type": "private", "sub_type": "friend", **fields}


def known(document: Any) -> Event:
    event = read(document)
    assert event is not None
    return event


def test_a_group_message_has_the_key_of_the_contract() -> None:
    sender = {"nickname": "甲", "card": "卡", "role": "owner", "title": "T"}
    event = known(group("hi", sender=sender))
    assert event.key == "QQ:10001:group:100:5:1700000000"
    assert (event.session, event.door, event.kind, event.is_group) == ("group:100", "QQ:10001", "message", True)
    assert (event.sender.name, event.sender.shown, event.sender.role) == ("甲", "卡", "owner")
    assert (event.message_id, event.user_id, event.time) == ("5", "2001", 1_700_000_000.0)


def test_a_private_message_is_addressed_and_has_its_own_session() -> None:
    event = known(private(".r"))
    assert (event.session, event.addressed) == ("private:2001", True)
    assert event.key == "QQ:10001:private:2001:5:1700000000"


@pytest.mark.parametrize(
    "extra",
    [{"group_id": 100}, {"sender": {"group_id": 100}}, {"group_id": 100, "sender": None}],
)
def test_a_temporary_session_is_private_and_keeps_its_group_aside(extra: dict[str, Any]) -> None:
    event = known(private("x", **{"sub_type": "group", **extra}))
    assert (event.session, event.detail["temp_group"]) == ("private:2001", "100")


@pytest.mark.parametrize(
    ("message", "addressed", "words"),
    [
        ([at(10001), text(" .bot on")], True, ".bot on"),
        ([reply(1), at(10001), text(" .r")], True, ".r"),
        ([text("看 "), at(10001)], True, "看"),
        ([reply(777), text("再来")], True, "再来"),
        ([reply(778), text("再来")], False, "再来"),
        ([at(2), text(".r")], False, ".r"),
        ([at("all"), text("x")], False, "x"),
        ("小骰 你好", True, "小骰 你好"),
        ("你好小骰", False, "你好小骰"),
        ("[CQ:at,qq=10001]", False, "[CQ:at,qq=10001]"),
    ],
)
def test_who_is_addressed(message: Any, addressed: bool, words: str) -> None:
    event = known(group(message))
    assert (event.addressed, event.text) == (addressed, words)


def test_a_string_message_is_parsed_and_gives_the_same_event_as_its_array() -> None:
    array = known(group([at(10001), text("a[b]&,c")]))
    string = known({**group(""), "message": "[CQ:at,qq=10001]a&#91;b&#93;&amp;,c"})
    assert (string.segments, string.text, string.key) == (array.segments, array.text, array.key)


@pytest.mark.parametrize(
    "document",
    [
        group("x", user_id=10001),
        group("x", user_id="10001"),
        {**private("x", user_id=10001), "target_id": 2001},
        {**group("x"), "post_type": "message_sent"},
        group("x", user_id=None),
        group("x", group_id=None),
        group("x", message_type="guild"),
        {"status": "ok", "retcode": 0, "data": None, "echo": "1"},
        [1, 2],
        "text",
        None,
    ],
)
def test_self_messages_and_what_is_no_message_are_no_events(document: Any) -> None:
    assert read(document) is None


@pytest.mark.parametrize("frame", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_frames_that_are_no_json_are_no_events(frame: bytes) -> None:
    assert read_event(frame, NAMED, NOW) is None


@pytest.mark.parametrize("number", [-2147483648, 3425462029, 1482675043933618437, "7344002220917200861"])
def test_message_ids_keep_every_digit(number: Any) -> None:
    assert known(group("x", message_id=number)).message_id == str(number)


def test_notices_have_a_digest_of_their_known_fields_as_key() -> None:
    notice = {"post_type": "notice", "notice_type": "group_recall", "self_id": 10001, "group_id": 100, "user_id": 2001}
    first = known({**notice, "message_id": 5, "time": 1, "raw": {"x": 1}, "vendor_key": 1})
    second = known({"vendor_key": 2, "time": 1, "message_id": 5, **notice})
    other = known({**notice, "message_id": 6, "time": 1})
    assert first.key == second.key
    assert other.key != first.key
    assert first.key.startswith("QQ:10001:group:100:")
    assert first.key.endswith(":1")
    assert (first.kind, first.detail["user_id"], first.detail["vendor_key"]) == ("notice", "2001", 1)
    assert "raw" not in first.detail


def test_requests_and_unknown_notices_pass() -> None:
    request = known({"post_type": "request", "request_type": "friend", "self_id": 1, "user_id": 2, "flag": "f"})
    assert (request.kind, request.session, request.detail["flag"]) == ("request", "private:2", "f")
    assert known({"post_type": "notice", "notice_type": "bot_offline", "self_id": 1}).session == "private:1"
    assert known({"post_type": "meta_event", "meta_event_type": "x", "self_id": 1}).kind == "meta"


@pytest.mark.parametrize("sent", [None, "soon", True, -1, 1e300, float("nan")])
def test_a_missing_or_odd_time_is_the_time_of_arrival_but_the_key_stays_the_same(sent: Any) -> None:
    event = known(group("x", time=sent))
    assert event.time == NOW
    assert event.key == "QQ:10001:group:100:5:0"


def test_half_a_surrogate_pair_becomes_something_that_can_be_stored() -> None:
    frame = json.dumps(group("x")).replace('"text": "x"', '"text": "a\\ud800b"').encode()
    event = read_event(frame, NAMED, NOW)
    assert event is not None
    assert event.text.encode() == b"a?b"


def test_anonymous_senders_and_odd_sender_fields_are_members() -> None:
    event = known(group("x", user_id=80000000, anonymous={"id": 0, "flag": ""}, sender={"role": "god", "card": None}))
    assert (event.sender.role, event.sender.card, event.detail["anonymous"]) == ("member", "", {"id": 0, "flag": ""})


@pytest.mark.parametrize(("length", "kept"), [(MEDIA_LIMIT, True), (MEDIA_LIMIT + 1, False)])
def test_media_above_the_limit_is_kept_as_a_reference(length: int, kept: bool) -> None:
    image = {"type": "image", "data": {"file": "a" * length, "url": "http://x/"}}
    event = known(group([text("看"), image], raw={"copy": "a" * length}))
    assert event.raw is not None
    assert (event.segments[1].data["file"] == "a" * length) is kept
    assert (len(event.raw) > MEDIA_LIMIT) is kept
    assert event.segments[1].data["url"] == "http://x/"
    if not kept:
        assert event.segments[1].data["file"].startswith("omitted:sha256:")
        again = read_event(event.raw, NAMED, NOW)
        assert again is not None
        assert (again.segments, again.key) == (event.segments, event.key)


def test_long_text_is_not_media() -> None:
    assert known(group("长" * 70_000)).text == "长" * 70_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(["message", "notice", "request", "meta_event"]), st.data())
def test_no_frame_is_an_error(post_type: str, data: st.DataObject) -> None:
    base = group("x") if post_type == "message" else {"notice_type": "x", "self_id": 1, "user_id": 2, "time": 1}
    changed = {key: data.draw(json_values) for key in data.draw(st.sets(st.sampled_from(sorted(base))))}
    event = read({**base, **changed, "post_type": post_type})
    assert event is None or event.key.startswith("QQ:")
