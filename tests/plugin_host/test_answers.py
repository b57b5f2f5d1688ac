"""Answers: what a return value says in the chat, and what the model gets of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from plugin_host.answers import ANSWER_LIMIT, PRIVATE_NOTE, parts_of, replies_of, spoken_by, text_reply
from plugin_host.calls import Part, ToolResult
from plugin_host.errors import CallError
from plugin_host.values import Private, Reply, Segment
from tests.kit.host_room import HostRoom
from tests.kit.toolroom import context

GROUP = context()
CHAT = context(session="private:1001")
SECRET = "1D100=42"
HIDDEN = Reply("group:100", (Segment.text(SECRET),), to="private", user_id="1001", hidden=True)


@pytest.mark.parametrize("nothing", [None, "", [], ()])
def test_nothing_said_is_no_reply(nothing: Any) -> None:
    assert replies_of(nothing, GROUP, "command") == ()


@pytest.mark.parametrize(("said", "text"), [("好", "好"), (3, "3"), ({"点": 1}, '{"点": 1}'), (True, "true")])
def test_text_and_data_are_said_in_the_session(said: Any, text: str) -> None:
    [reply] = replies_of(said, GROUP, "command")
    assert (reply.session, reply.to, reply.user_id, reply.text, reply.source) == (
        "group:100", "group", None, text, "command",
    )  # fmt: skip


def test_in_a_private_chat_the_asker_is_the_addressee() -> None:
    reply = text_reply("好", CHAT, "ai")
    assert (reply.to, reply.user_id, reply.source, reply.hidden) == ("private", "1001", "ai", False)


def test_a_list_says_each_of_its_parts_in_order() -> None:
    own = Reply("group:100", (Segment.text("自己"),))
    assert [reply.text for reply in replies_of(["一", None, own, ["二"]], GROUP, "command")] == ["一", "自己", "二"]


def test_a_private_answer_is_hidden_noticed_in_the_group_and_knows_what_to_say_when_refused() -> None:
    notice, hidden = replies_of(Private(SECRET, notice="已私聊", refused="没能送达"), GROUP, "command")
    assert (notice.text, notice.to, notice.hidden, notice.on_failed) == ("已私聊", "group", False, None)
    assert (hidden.text, hidden.to, hidden.user_id, hidden.hidden) == (SECRET, "private", "1001", True)
    assert hidden.on_failed == "没能送达"


def test_a_private_answer_in_a_private_chat_needs_no_notice() -> None:
    [hidden] = replies_of(Private(SECRET, notice="已私聊", refused="没能送达"), CHAT, "command")
    assert (hidden.hidden, hidden.on_failed) == (True, None)


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        (None, (Part("text", "完成"),)),
        ("好", (Part("text", "好"),)),
        ({"a": 1}, (Part("json", {"a": 1}),)),
        ([1, 2], (Part("json", [1, 2]),)),
        (Reply("group:100", (Segment.text("公开"),)), (Part("text", "公开"),)),
        (HIDDEN, (Part("text", PRIVATE_NOTE),)),
        (Private(SECRET), (Part("text", PRIVATE_NOTE),)),
        ([Private(SECRET), "公开"], (Part("text", PRIVATE_NOTE), Part("text", "公开"))),
        ((HIDDEN,), (Part("text", PRIVATE_NOTE),)),
    ],
)
def test_what_the_model_gets_of_a_return_value(said: Any, parts: tuple[Part, ...]) -> None:
    assert parts_of(said) == parts


@pytest.mark.parametrize("said", [{"roll": Private(SECRET)}, {"roll": [HIDDEN]}, [[1, HIDDEN]]])
def test_a_private_answer_inside_of_data_is_refused(said: Any) -> None:
    with pytest.raises(CallError, match="要直接返回") as caught:
        parts_of(said)
    assert SECRET not in str(caught.value)


class Level(Enum):
    HARD = "困难"


@pytest.mark.parametrize(
    ("said", "data"),
    [
        ({"level": Level.HARD, "at": date(2026, 12, 1)}, {"level": "困难", "at": "2026-12-01"}),
        ({"odds": math.nan}, {"odds": None}),
        ({3, 1}, [1, 3]),
    ],
)
def test_python_values_become_the_data_they_stand_for(said: Any, data: Any) -> None:
    [part] = parts_of(said)
    assert (sorted(part.value) if isinstance(data, list) else part.value) == data


@pytest.mark.parametrize("said", [b"\xff", object(), (n for n in (1, 2))])
def test_what_is_no_data_is_refused_by_its_kind(said: Any) -> None:
    if isinstance(said, Iterator):
        assert parts_of(said) == (Part("json", [1, 2]),)
        return
    with pytest.raises(CallError, match=type(said).__name__):
        replies_of(said, GROUP, "command")


def test_a_list_of_data_is_data_and_a_list_of_texts_is_bounded() -> None:
    assert [reply.text for reply in replies_of([1, 2], GROUP, "command")] == ["[1, 2]"]
    assert len(replies_of(["字"] * (ANSWER_LIMIT + 1), GROUP, "command")) == ANSWER_LIMIT


@pytest.mark.parametrize("said", [Private(SECRET), HIDDEN, [Private(SECRET)], (HIDDEN, "x")])
def test_no_form_of_a_private_answer_shows_its_text_to_the_model(said: Any) -> None:
    assert SECRET not in ToolResult("c", "t", "ok", parts_of(said)).text


def test_a_hidden_text_is_in_no_log_of_the_value() -> None:
    assert SECRET not in repr(Private(SECRET)) + repr(HIDDEN)
    assert "公开" in repr(Reply("group:100", (Segment.text("公开"),)))


def test_a_tool_posts_by_itself_what_it_says_as_a_reply_but_not_its_text() -> None:
    assert spoken_by("只给模型", GROUP) == ()
    assert spoken_by({"a": 1}, GROUP) == ()
    own = Reply("group:100", (Segment.text("公开"),))
    assert spoken_by(own, GROUP) == (own,)
    [notice, hidden] = spoken_by(Private(SECRET, notice="已私聊"), GROUP)
    assert (notice.source, hidden.hidden) == ("tool", True)
    assert [reply.text for reply in spoken_by(["只给模型", own, Private(SECRET)], GROUP)] == ["公开", SECRET]


class Rude:
    """A value of a plugin that cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("secret detail")


async def test_a_value_that_cannot_be_shown_fails_its_call_only(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def rude() -> Any:
            """Rude."""
            return {"value": Rude()}

        room.offer(rude)
        room.command(rude, "rude")
        result = await room.call("rude")
        assert (result.status, result.text) == ("error", "返回值应为文本、Reply 或 JSON 数据，实际是 dict")
        assert await room.say(".rude") == ["返回值应为文本、Reply 或 JSON 数据，实际是 dict"]
