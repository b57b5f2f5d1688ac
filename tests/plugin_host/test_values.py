"""Values: sessions and their sides, what a reply shows."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from plugin_host.values import Action, Event, Outcome, Private, Reply, Segment, Sender, side_of


@pytest.mark.parametrize(
    ("session", "side"),
    [("group:1", "group"), ("private:1", "private"), ("discord/group:1", "group"), ("discord/private:1", "private")],
)
def test_the_side_of_a_session(session: str, side: str) -> None:
    assert side_of(session) == side
    assert Event("k", "message", session).is_group is (side == "group")


@pytest.mark.parametrize(
    ("sender", "shown"), [(Sender("名", "卡"), "卡"), (Sender("名"), "名"), (Sender(), ""), (Sender(card="卡"), "卡")]
)
def test_people_are_shown_by_their_card_first(sender: Sender, shown: str) -> None:
    assert sender.shown == shown


def test_the_text_of_a_reply_shows_other_segments_by_their_type() -> None:
    reply = Reply("group:1", (Segment("at", {"qq": "7"}), Segment.text("看"), Segment("image", {"file": "a"})))
    assert reply.text == "[at]看[image]"


@pytest.mark.parametrize(
    "value",
    [Event("k", "message", "group:1"), Reply("group:1", ()), Segment.text("x"), Sender(), Outcome("sent"),
     Private("x"), Action("k", "s", "d", "a", {})],
)  # fmt: skip
def test_values_are_frozen_and_hold_nothing_else(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "y")
    assert not hasattr(value, "__dict__")


def test_what_is_hidden_does_not_show_in_a_representation() -> None:
    hidden = Reply("group:1", (Segment.text("1D100=42"),), to="private", user_id="7", hidden=True)
    assert repr(hidden) == "Reply('group:1', '<hidden>', to='private', user_id='7', source='command')"
    assert "42" not in repr(Private("1D100=42", notice="暗骰"))
    assert "暗骰" in repr(Private("1D100=42", notice="暗骰"))
    assert "公开" in repr(Reply("group:1", (Segment.text("公开"),)))
