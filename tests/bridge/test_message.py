"""The message codec against two independent implementations, on hostile strings and random messages."""

from __future__ import annotations

from typing import Any

import pytest
from aiocqhttp import Message as AioMessage
from hypothesis import given
from hypothesis import strategies as st
from nonebot.adapters.onebot.v11 import Message as NoneMessage
from nonebot.compat import type_validate_python

from bridge.message import decode_message, encode_array, encode_string, escape, plain_text, unescape
from plugin_host.values import Segment

HOSTILE = [
    "",
    "plain",
    "[CQ:at,qq=1",
    "[CQ:at, qq=1]",
    "[CQ:at,qq=1,]",
    "[CQ:表情,id=1]",
    "[CQ:face,id]",
    "[CQ:face,id=]",
    "[CQ:face,=1]",
    "[CQ:a,b=c=d]",
    "[CQ:,id=1]",
    "[cq:face,id=1]",
    "[[CQ:face,id=1]]",
    "[CQ:a,b=[CQ:face,id=1]",
    "&#91;CQ:image,file=file:///etc/passwd&#93;",
    "&#44; &amp;#91; &amp;amp; &",
    "[CQ:image,file=x&#44;y&#93;&amp;#91;]",
    "[CQ:at,qq=all]\n[CQ:at,qq=1]\r\n\t",
    "[CQ:a-b_c.d,k-e_y.1=v]tail",
    "[CQ:face,id=1,id=2]",
    "]][[,,==[CQ:]",
    "[CQ:json,data={&#91;1&#44;2&#93;}]",
    "😀[CQ:face,id=😀]\u0000\u2028",
]


def ours(message: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(segment.type, dict(segment.data)) for segment in decode_message(message)]


def by_nonebot(message: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(segment.type, dict(segment.data)) for segment in type_validate_python(NoneMessage, message)]


def by_aiocqhttp(message: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(segment.type, dict(segment.data)) for segment in AioMessage(message)]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_are_read_as_the_oracles_read_them(text: str) -> None:
    assert ours(text) == by_nonebot(text) == by_aiocqhttp(text)


@given(st.text(alphabet="[]CQ:,=&#;49a1 amp\n好", max_size=60))
def test_random_strings_near_the_grammar_are_read_as_the_oracles_read_them(text: str) -> None:
    assert ours(text) == by_nonebot(text) == by_aiocqhttp(text)


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.from_regex(r"\A[A-Za-z0-9_.-]{1,8}\Z").filter(lambda name: name != "text")
segments = st.lists(
    st.one_of(
        words.filter(bool).map(Segment.text),
        st.builds(Segment, names, st.dictionaries(names, words, max_size=3)),
    ),
    max_size=8,
).map(tuple)


def merged(message: tuple[Segment, ...]) -> list[tuple[str, dict[str, Any]]]:
    """Neighbouring texts as one, which is all that a CQ string cannot tell apart."""
    result: list[tuple[str, dict[str, Any]]] = []
    for segment in message:
        if segment.type == "text" and result and result[-1][0] == "text":
            result[-1][1]["text"] += segment.data["text"]
        else:
            result.append((segment.type, dict(segment.data)))
    return result


@given(segments)
def test_segments_survive_the_string_form_in_all_three(message: tuple[Segment, ...]) -> None:
    string = encode_string(message)
    assert ours(string) == merged(message) == by_nonebot(string) == by_aiocqhttp(string)


@given(segments)
def test_segments_survive_the_array_form_in_all_three(message: tuple[Segment, ...]) -> None:
    array = encode_array(message)
    assert decode_message(array) == message
    assert merged(message) == merged(tuple(Segment(*pair) for pair in by_nonebot(array)))
    assert merged(message) == merged(tuple(Segment(*pair) for pair in by_aiocqhttp(array)))


@given(words)
def test_escaping_is_undone_exactly_once(text: str) -> None:
    assert unescape(escape(text)) == text
    assert unescape(escape(text, comma=True)) == text
    assert ours(escape(text)) == ([("text", {"text": text})] if text else [])


@given(st.one_of(st.sampled_from(HOSTILE), words))
def test_text_on_its_way_out_says_exactly_itself(text: str) -> None:
    assert plain_text(text) == [{"type": "text", "data": {"text": text}}]
    assert ours(plain_text(text)) == [("text", {"text": text})]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (None, []),
        (7, []),
        ({"type": "face", "data": {"id": 5}}, [("face", {"id": "5"})]),
        ([{"type": "face"}], [("face", {})]),
        ([{"type": "face", "data": None}], [("face", {})]),
        ([{"type": 3, "data": {}}, 4, None, {"data": {}}], []),
        (["loose"], [("text", {"text": "loose"})]),
        ([{"type": "x", "data": {"a": None, "b": True, "c": 1.5}}], [("x", {"b": "true", "c": "1.5"})]),
        ([{"type": "node", "data": {"content": [{"type": "text"}]}}], [("node", {"content": [{"type": "text"}]})]),
    ],
)
def test_odd_messages_are_read_without_an_error(message: Any, expected: Any) -> None:
    assert ours(message) == expected
