"""Control: what a change of the settings puts in force, and what it says needs a restart."""

from __future__ import annotations

from typing import Any

import pytest

from plugin_host.config.settings import Settings
from plugin_host.control import Control


def settings(**given: Any) -> Settings:
    return Settings.model_validate(given)


def test_a_live_key_is_in_force_at_once_and_told() -> None:
    control = Control(settings())
    told: list[Settings] = []
    control.subscribe("settings", told.append)
    assert control.change(settings(masters=["9001"], send={"timeout": 5})) == ()
    assert (control.settings.masters, control.settings.send.timeout) == (("9001",), 5)
    assert told == [control.settings]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bot", {"names": ["骰娘"]}),
        ("bridge", {"listen": "127.0.0.1:1"}),
        ("models", {"connections": [{"name": "a", "base_url": "http://127.0.0.1/v1"}]}),
        ("plugins", {"disabled": ["luck"]}),
        ("paths", {"data": "elsewhere"}),
        ("log", {"level": "DEBUG"}),
        ("language", "en"),
    ],
)
def test_a_key_that_needs_a_restart_is_named_and_stays_as_it_was(key: str, value: Any) -> None:
    control = Control(settings())
    assert control.change(settings(**{key: value, "masters": ["9001"]})) == (key,)
    assert getattr(control.settings, key) == getattr(settings(), key)
    assert control.settings.masters == ("9001",)


def test_several_late_keys_are_all_named_and_going_back_names_none() -> None:
    control = Control(settings())
    late = control.change(settings(language="en", log={"keep": 1}))
    assert sorted(late) == ["language", "log"]
    assert control.change(settings()) == ()


def test_a_subscriber_that_fails_hurts_no_other(logs: list[str]) -> None:
    control = Control(settings())
    told: list[Any] = []

    def bad(_: Any) -> None:
        raise RuntimeError("boom")

    control.subscribe("cancel", bad)
    control.subscribe("cancel", told.append)
    control.publish("cancel", "group:1")
    control.publish("plugin", "nobody listens")
    assert told == ["group:1"]
    assert any("a subscriber of cancel failed" in line for line in logs)
