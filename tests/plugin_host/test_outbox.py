"""Outbox: how a reply becomes rows, at the limits of a message and of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from plugin_host.errors import CallError
from plugin_host.outbox import CUT_MARK, TEXT_LIMIT, rows_of, session_peer
from plugin_host.store.outgoing import Outgoing
from plugin_host.values import Reply, Segment


def rows(*replies: Reply, segments: int = 10) -> list[Outgoing]:
    session = replies[0].session
    return rows_of(list(replies), session=session, event="e", step=3, door="QQ:1", now=7.0, segments=segments)


def group(text: str, **fields: Any) -> Reply:
    return Reply("group:100", (Segment.text(text),), **fields)


def texts(found: list[Outgoing]) -> list[str]:
    return ["".join(part["data"].get("text", "") for part in row.action.params["message"]) for row in found]


@pytest.mark.parametrize(("length", "count"), [(TEXT_LIMIT, 1), (TEXT_LIMIT + 1, 2), (2 * TEXT_LIMIT, 2)])
def test_a_text_is_split_over_four_thousand_characters(length: int, count: int) -> None:
    text = "字" * length
    found = texts(rows(group(text)))
    assert len(found) == count
    assert "".join(found) == text
    assert max(map(len, found)) <= TEXT_LIMIT == 4000


def test_a_text_is_split_at_a_line_break_where_there_is_one() -> None:
    found = texts(rows(group("a" * 3000 + "\n" + "b" * 3000)))
    assert found == ["a" * 3000, "b" * 3000]


@pytest.mark.parametrize("tail", ["\n", "\n\n", " \n"])
def test_a_split_leaves_no_blank_message_behind(tail: str) -> None:
    assert texts(rows(group("a" * TEXT_LIMIT + tail))) == ["a" * TEXT_LIMIT]


@pytest.mark.parametrize(("pieces", "count", "cut"), [(2, 2, False), (3, 3, False), (4, 3, True)])
def test_an_answer_has_at_most_so_many_segments_and_says_when_it_is_cut(pieces: int, count: int, cut: bool) -> None:
    found = texts(rows(group("字" * TEXT_LIMIT * pieces), segments=3))
    assert len(found) == count
    assert found[-1].endswith(CUT_MARK) is cut
    assert max(map(len, found)) <= TEXT_LIMIT


def test_keys_are_event_step_and_number_through_all_replies_of_a_unit() -> None:
    found = rows(group("一"), group("字" * (TEXT_LIMIT + 1)), group("三"))
    assert [row.action.key for row in found] == ["e:3:0", "e:3:1", "e:3:2", "e:3:3"]
    assert {(row.event, row.created, row.action.door) for row in found} == {("e", 7.0, "QQ:1")}


def test_only_the_first_part_of_a_long_answer_quotes() -> None:
    first, second = rows(group("字" * (TEXT_LIMIT + 1), quote="55"))
    assert first.action.params["message"][0] == {"type": "reply", "data": {"id": "55"}}
    assert [part["type"] for part in second.action.params["message"]] == ["text"]


def test_a_group_message_carries_its_group() -> None:
    (row,) = rows(group("好"))
    assert row.action.action == "send_group_msg"
    assert row.action.params == {"group_id": "100", "message": [{"type": "text", "data": {"text": "好"}}]}


def test_a_private_message_out_of_a_group_carries_the_group_it_came_from() -> None:
    (row,) = rows(group("暗骰", to="private", user_id="1001", hidden=True, on_failed="没能送达"))
    assert row.action.action == "send_private_msg"
    assert (row.action.params["user_id"], row.action.params["group_id"]) == ("1001", "100")
    assert (row.action.hidden, row.user_id, row.on_failed) == (True, "1001", "没能送达")


def test_a_private_message_in_a_private_chat_has_no_group() -> None:
    (row,) = rows(Reply("private:1001", (Segment.text("好"),), to="private"))
    assert row.action.params == {"user_id": "1001", "message": [{"type": "text", "data": {"text": "好"}}]}


def test_a_private_message_without_an_addressee_never_goes_to_the_person_with_the_groups_number() -> None:
    with pytest.raises(CallError, match="没有收件人"):
        rows(group("秘密", to="private", hidden=True))


def test_a_reply_to_another_session_is_refused() -> None:
    with pytest.raises(CallError, match="只能发到当前会话 group:100"):
        rows(group("好"), Reply("group:101", (Segment.text("串门"),)))


def test_a_hidden_reply_to_the_group_is_refused() -> None:
    with pytest.raises(CallError, match="只能私下发送"):
        rows(group("秘密", hidden=True))


@pytest.mark.parametrize(
    ("count", "said"), [(3, ["字", "字", "字"]), (4, ["字", "字", "（还有 2 条没有发出：一次最多 3 条）"])]
)
def test_all_replies_of_a_unit_together_are_bounded_and_say_so(count: int, said: list[str]) -> None:
    assert texts(rows(*[group("字")] * count, segments=3)) == said


def test_half_characters_are_joined_or_replaced() -> None:
    assert texts(rows(group("半\ud83d\ude00好\ud83d"), group("😀"))) == ["半😀好\ufffd", "😀"]


def test_other_segments_leave_as_they_are() -> None:
    said = (Segment("at", {"qq": "1001"}), Segment.text("看"), Segment("image", {"file": "a.png"}))
    (row,) = rows(Reply("group:100", said))
    assert [part["type"] for part in row.action.params["message"]] == ["at", "text", "image"]


@pytest.mark.parametrize(
    ("session", "peer"),
    [("group:100", "100"), ("private:7", "7"), ("discord/group:3", "3"), ("discord/private:4", "4")],
)
def test_the_peer_of_a_session(session: str, peer: str) -> None:
    assert session_peer(session) == peer
