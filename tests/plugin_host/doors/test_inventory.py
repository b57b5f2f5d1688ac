"""Inventory: what ``tools`` and ``journal`` print of a home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.config.settings import Settings
from plugin_host.doors.inventory import inventory, journal_lines, taken_names
from plugin_host.errors import StoreError
from plugin_host.home import Home
from tests.kit.host_room import HostRoom
from tests.kit.plugin_home import PluginHome

KEYS = {
    "name", "alias", "title", "group", "group_alias", "source", "default_on", "flags", "privilege", "approval",
    "input_schema",
}  # fmt: skip
PLUGIN = """
def look(name: str) -> str:
    "Looks."
    return name

@hookimpl
def register_tools(register):
    register(look, name="my.look", read_only=True, sensitive=True)

@hookimpl
def register_commands(register):
    register(look, words=("look", "看"))
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[PluginHome]:
    made = PluginHome(tmp_path / "plugins")
    yield made
    made.forget()


def home(folder: Path, **settings: Any) -> tuple[Home, Settings]:
    made = Settings.model_validate(settings)
    return Home(folder, made), made


def test_every_tool_is_listed_with_every_key(tmp_path: Path, plugins: PluginHome) -> None:
    plugins.write("mine.py", PLUGIN)
    tools = inventory(*home(tmp_path))
    assert {frozenset(tool) for tool in tools} == {frozenset(KEYS)}
    assert [tool["name"] for tool in tools] == sorted(tool["name"] for tool in tools)
    mine = next(tool for tool in tools if tool["name"] == "my.look")
    assert mine["alias"] == "my__look"
    assert mine["source"] == {"kind": "plugin", "id": "mine"}
    assert (mine["default_on"], mine["flags"], mine["privilege"], mine["approval"]) == (
        True, ["read_only", "sensitive"], 50, "never",
    )  # fmt: skip
    assert mine["input_schema"]["required"] == ["name"]
    assert mine["group"]


def test_the_settings_show_in_the_list(tmp_path: Path) -> None:
    tools = inventory(*home(tmp_path, tools={"default_off": ["roll_dice"], "privilege": {"roll_dice": 40}}))
    roll = next(tool for tool in tools if tool["name"] == "roll_dice")
    assert (roll["default_on"], roll["privilege"], roll["source"]["kind"]) == (False, 40, "builtin")
    blocked = inventory(*home(tmp_path, tools={"blocked": ["roll_dice"]}))
    assert not next(tool for tool in blocked if tool["name"] == "roll_dice")["default_on"]


def test_names_of_plugins_tools_and_words_are_taken(tmp_path: Path, plugins: PluginHome) -> None:
    plugins.write("mine.py", PLUGIN)
    assert {"mine", "my.look", "look", "看", "dice", "roll_dice", "r"} <= taken_names(*home(tmp_path))


async def test_the_journal_is_read_beside_a_running_host_oldest_first(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def hi() -> str:
            return "好"

        room.command(hi, "hi")
        await room.say(".hi")
        await room.say(".hi", session="group:2")
        lines = journal_lines(room.home, None, 0)
        assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)
        assert set(lines[0]) == {"seq", "time", "session", "turn", "call", "type", "name", "payload", "ms"}
        assert lines[0]["time"].endswith("Z")
        assert {line["session"] for line in lines} == {"group:100", "group:2"}
        assert {line["session"] for line in journal_lines(room.home, "group:2", 0)} == {"group:2"}
        assert journal_lines(room.home, None, 1) == lines[-1:]
        assert journal_lines(room.home, None, 2) == lines[-2:]


def test_a_home_that_never_ran_says_so_and_stays_empty(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="还没有运行过机器人"):
        journal_lines(home(tmp_path)[0], None, 50)
    assert list(tmp_path.iterdir()) == []
