"""Standing: who may what before anything is handled, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from plugin_host.config.settings import Settings
from plugin_host.standing import Standing, intent_of, level_of, standing_of, worth_keeping
from plugin_host.values import Event

GROUP, PRIVATE, QQ, TERMINAL = "group:1", "private:7", "QQ:1", "terminal:ab"
OFF, ON = Standing(0, False, True), Standing(1, True, True)


def settings(**given: Any) -> Settings:
    return Settings.model_validate(given)


@pytest.mark.parametrize(
    ("session", "door", "flags", "ai", "expected"),
    [
        (GROUP, QQ, {}, {}, Standing(0, False, True)),
        ("discord/group:1", QQ, {}, {}, Standing(0, False, True)),
        (GROUP, QQ, {"level": 1}, {}, Standing(1, False, True)),
        (GROUP, QQ, {"ai": True}, {}, Standing(0, True, True)),
        (GROUP, QQ, {"level": 1, "ai": True, "bot": False}, {}, Standing(1, True, False)),
        (GROUP, QQ, {}, {"open_groups": "all"}, Standing(1, False, True)),
        (GROUP, QQ, {"level": 0}, {"open_groups": "all"}, Standing(0, False, True)),
        (PRIVATE, QQ, {}, {}, Standing(1, True, True)),
        (PRIVATE, QQ, {}, {"private": False}, Standing(0, False, True)),
        (PRIVATE, QQ, {"ai": False}, {}, Standing(1, False, True)),
        (GROUP, TERMINAL, {}, {}, Standing(1, True, True)),
        (GROUP, TERMINAL, {"ai": False, "bot": False}, {}, Standing(1, False, False)),
    ],
)
def test_flags_over_the_defaults_of_the_kind_of_session(
    session: str, door: str, flags: dict[str, Any], ai: dict[str, Any], expected: Standing
) -> None:
    assert standing_of(session, door, flags, settings(ai=ai)) == expected


@pytest.mark.parametrize(
    ("user", "role", "level"),
    [
        ("1001", "member", 0), ("1001", "admin", 50), ("1001", "owner", 60),
        ("9001", "member", 100), ("9001", "owner", 100), (None, "member", 0), ("900", "member", 0),
    ],
)  # fmt: skip
def test_the_level_of_a_person(user: str | None, role: Any, level: int) -> None:
    assert level_of(user, role, settings(masters=["9001"])) == level


def event(**fields: Any) -> Event:
    return Event(**({"key": "k", "kind": "message", "session": GROUP, "text": "你好"} | fields))


@pytest.mark.parametrize(
    ("fields", "standing", "intent"),
    [
        ({"addressed": True}, ON, "turn"),
        ({"addressed": False}, ON, "record"),
        ({"addressed": True, "text": " \n"}, ON, "record"),
        ({"addressed": True}, OFF, "nothing"),
        ({"addressed": True}, Standing(1, False, True), "nothing"),
        ({"addressed": True}, Standing(0, True, True), "nothing"),
        ({"addressed": True}, Standing(1, True, False), "nothing"),
        ({"addressed": True, "kind": "notice"}, ON, "nothing"),
        ({"addressed": True, "kind": "internal"}, ON, "nothing"),
    ],
)
def test_what_a_message_that_is_no_command_asks_for(fields: dict[str, Any], standing: Standing, intent: str) -> None:
    assert intent_of(event(**fields), standing) == intent


@pytest.mark.parametrize(
    ("fields", "standing", "is_command", "kept"),
    [
        ({"kind": "meta"}, ON, True, False),
        ({}, OFF, False, False),
        ({}, OFF, True, True),
        ({}, ON, False, True),
        ({"addressed": True}, OFF, False, True),
        ({}, Standing(1, False, True), False, False),
        ({}, Standing(0, True, True), False, False),
        ({"kind": "internal"}, OFF, False, True),
        ({"kind": "timer"}, OFF, False, True),
    ],
)
def test_what_is_worth_keeping(fields: dict[str, Any], standing: Standing, is_command: bool, kept: bool) -> None:
    assert worth_keeping(event(**fields), standing, is_command=is_command) is kept
