"""The template of a new plugin: it loads as written, and no file is ever overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plugin_host.errors import PluginError
from plugin_host.loading.template import new_plugin
from tests.kit.plugin_home import PluginHome, context


@pytest.fixture
def home(tmp_path: Path) -> Iterator[PluginHome]:
    home = PluginHome(tmp_path / "plugins")
    yield home
    home.forget()


@pytest.mark.parametrize("name", ["fortune", "Fortune_2", "random", "text", "a" * 32])
def test_a_new_plugin_loads_and_answers_to_its_name(home: PluginHome, name: str) -> None:
    path = new_plugin(home.folder, name)
    [report] = home.loader(builtin="plugins").load_all()[-1:]
    assert (report.ok, report.file, report.tools) == (True, str(path), (name,))
    match = next(home.registry.match(f"{name} 你好"))
    assert match.command.function(context(), match.args.rest) == "小明说：你好"


def test_the_folder_is_made(tmp_path: Path) -> None:
    assert new_plugin(tmp_path / "a" / "b", "fortune").is_file()


@pytest.mark.parametrize(
    "name", ["", "a" * 33, "1st", "_x", "a-b", "a.b", "../x", "今日", "class", "hookimpl", "register_tools", "a b"]
)
def test_a_bad_name_is_refused(home: PluginHome, name: str) -> None:
    with pytest.raises(PluginError, match="插件名应为"):
        new_plugin(home.folder, name)
    assert list(home.folder.iterdir()) == []


def test_a_taken_name_is_refused(home: PluginHome) -> None:
    with pytest.raises(PluginError, match="占用"):
        new_plugin(home.folder, "JRRP", taken=["jrrp"])


def test_an_existing_file_or_folder_is_left_alone(home: PluginHome) -> None:
    (home.folder / "a.py").write_text("mine")
    (home.folder / "b").mkdir()
    for name in "ab":
        with pytest.raises(PluginError, match="没有改动"):
            new_plugin(home.folder, name)
    assert (home.folder / "a.py").read_text() == "mine"
