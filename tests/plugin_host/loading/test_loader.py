"""What loads: places, names, order, hooks at load, settings, collisions, reload, unload, other languages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from plugin_host.errors import PluginError
from plugin_host.loading.importing import builtin_files
from tests.kit.plugin_home import PluginHome, report_of

TOOL = """
def {name}() -> str:
    'A tool.'
    return '{text}'

@hookimpl
def register_tools(register):
    register({name})
"""
COMMAND = """
def say() -> str:
    return ''

@hookimpl
def register_commands(register):
    register(say, words={words!r})
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[PluginHome]:
    home = PluginHome(tmp_path / "plugins")
    yield home
    home.forget()


def tools(home: PluginHome) -> dict[str, Any]:
    return {tool.name: tool.function() for tool in home.registry.tools}


def test_a_report_says_what_a_plugin_offers(home: PluginHome) -> None:
    path = home.write("a.py", TOOL.format(name="f", text="") + COMMAND.format(words=("x", "y")))
    [report] = home.loader().load_all()
    assert (report.ok, report.file, report.source) == (True, str(path), "plugin")
    assert (report.tools, report.commands) == (("f",), ("x",))
    assert set(report.hooks) == {"register_tools", "register_commands"}


def test_names_load_in_order_and_an_underscore_hides(home: PluginHome) -> None:
    for name in ("c.py", "a/__init__.py", "b.py", "_hidden.py", ".dot.py", "data/notes.txt", "readme.md"):
        home.write(name, "")
    loader = home.loader()
    loader.load_all()
    assert list(loader.running) == ["a", "b", "c"]


def test_a_package_may_import_its_own_files(home: PluginHome) -> None:
    home.write("pack/__init__.py", "from .deep import answer\nimport home_plugins.pack.deep\nANSWER = answer.VALUE\n")
    home.write("pack/deep/__init__.py", "")
    home.write("pack/deep/answer.py", "VALUE = 42\n")
    loader = home.loader()
    loader.load_all()
    assert report_of(loader, "pack").reason == ""
    assert sys.modules["home_plugins.pack"].ANSWER == 42


def test_register_tools_and_register_commands_fill_the_registry(home: PluginHome) -> None:
    home.write("a.py", TOOL.format(name="f", text="hi") + COMMAND.format(words=("掷",)))
    home.loader().load_all()
    assert tools(home) == {"f": "hi"}
    assert [match.command.source.id for match in home.registry.match("掷 3")] == ["a"]


def test_tables_and_their_migrations_are_kept_in_order(home: PluginHome) -> None:
    home.write(
        "a.py",
        """
        from sqlalchemy import Column, Integer, MetaData, Table
        notes = Table("a_notes", MetaData(), Column("id", Integer, primary_key=True))
        def first(operations): pass
        def second(operations): pass
        @hookimpl
        def tables(register):
            register(notes, migrations=[first, second])
        """,
    )
    home.loader().load_all()
    contribution = home.registry.contribution("a")
    assert contribution is not None
    assert [table.name for table in contribution.tables] == ["a_notes"]
    assert [step.__name__ for step in contribution.migrations] == ["first", "second"]


def test_services_are_found_by_name(home: PluginHome) -> None:
    home.write("a.py", "@hookimpl\ndef services(register):\n    register('clock', 12)\n")
    home.loader().load_all()
    assert home.registry.service("clock") == 12


def test_cli_sub_commands_are_listed(home: PluginHome) -> None:
    home.write("a.py", "@hookimpl\ndef cli(register):\n    register('count', len, help='counts')\n")
    loader = home.loader()
    loader.load_all()
    [command] = loader.sub_commands
    assert (command.name, command.function, command.help) == ("count", len, "counts")


LOADER = """
CLOSED = []
@hookimpl
def loaders(register):
    register(".say", load)

def load(path, contribution):
    text = path.read_text()
    if text == "bad":
        raise ValueError("bad file")
    contribution.command(lambda: text, words=(path.stem,))
    return lambda: CLOSED.append(path.name)
"""


def test_loaders_load_files_of_their_suffix(home: PluginHome) -> None:
    home.write("a.py", LOADER)
    (home.folder / "hello.say").write_text("hello")
    (home.folder / "worse.say").write_text("bad")
    loader = home.loader()
    loader.load_all()
    assert [match.command.function() for match in home.registry.match("hello")] == ["hello"]
    assert report_of(loader, "hello.say").ok
    assert "ValueError：bad file" in report_of(loader, "worse.say").reason


def test_files_of_another_language_go_with_their_loader_and_come_back(home: PluginHome) -> None:
    home.write("a.py", LOADER)
    (home.folder / "hello.say").write_text("hello")
    loader = home.loader()
    loader.load_all()
    closed = sys.modules["home_plugins.a"].CLOSED
    loader.disable("a")
    assert list(loader.running) == []
    assert closed == ["hello.say"]
    loader.disabled.discard("a")
    loader.load("a")
    assert set(loader.running) == {"a", "hello.say"}


def test_settings_are_validated_and_handed_out(home: PluginHome) -> None:
    home.write("a.py", "from pydantic import BaseModel\nclass Settings(BaseModel):\n    times: int = 1\n")
    loader = home.loader(a={"times": 3})
    loader.load_all()
    assert loader.settings_of("a").times == 3
    assert loader.settings_of("nobody") is None


def test_a_home_folder_that_is_the_built_in_folder_is_loaded_once(home: PluginHome) -> None:
    [luck] = [one for one in builtin_files("plugins") if one.name == "luck"]
    home.folder = luck.path.parent
    loader = home.loader(builtin="plugins")
    loader.load_all()
    assert report_of(loader, "luck").source == "builtin"


def test_a_home_plugin_with_a_built_in_name_is_refused(home: PluginHome) -> None:
    path = home.write("luck.py", TOOL.format(name="other", text=""))
    loader = home.loader(builtin="plugins")
    loader.load_all()
    builtin, mine = (report for report in loader.reports if report.name == "luck")
    assert builtin.ok
    assert (mine.ok, mine.file) == (False, str(path))
    assert "replace: true" in mine.fix
    assert home.registry.tool("other") is None


def test_a_home_plugin_may_replace_a_built_in_one(home: PluginHome) -> None:
    home.write("luck.py", TOOL.format(name="todays_luck", text="mine"))
    loader = home.loader(builtin="plugins", luck={"replace": True})
    loader.load_all()
    assert report_of(loader, "luck").source == "plugin"
    tool = home.registry.tool("todays_luck")
    assert tool is not None
    assert tool.function() == "mine"


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_two_plugins_that_want_one_tool_name_are_both_refused_in_any_order(home: PluginHome, order: str) -> None:
    texts = {"a": TOOL.format(name="same", text="a"), "b": TOOL.format(name="same", text="b"), "c": ""}
    loader = home.loader()
    loader.load_all()
    for name in order:
        home.write(f"{name}.py", texts[name])
        loader.load(name)
    for name in "ab":
        report = report_of(loader, name)
        assert (report.ok, report.line) == (False, 3)
        assert "工具名 same 重复：a、b 都想用" in report.reason
        assert "name=" in report.fix
    assert list(loader.running) == ["c"]
    assert tools(home) == {}
    assert [str(one) for one in home.registry.collisions if one.kind == "tool"] == ["工具名 same 重复：a、b 都想用"]


def test_when_one_of_them_takes_another_name_both_run(home: PluginHome) -> None:
    for name in "ab":
        home.write(f"{name}.py", TOOL.format(name="same", text=name))
    loader = home.loader()
    loader.load_all()
    assert tools(home) == {}
    home.write("b.py", TOOL.format(name="another", text="b"))
    loader.load("b")
    assert tools(home) == {"same": "a", "another": "b"}
    assert home.registry.collisions == ()


def test_a_new_version_that_wants_a_taken_name_is_refused_and_the_old_one_runs_on(home: PluginHome) -> None:
    home.write("a.py", TOOL.format(name="one", text="a"))
    home.write("b.py", TOOL.format(name="two", text="b"))
    loader = home.loader()
    loader.load_all()
    home.write("b.py", TOOL.format(name="one", text="b"))
    loader.load("b")
    assert tools(home) == {"one": "a", "two": "b"}
    assert "工具名 one 重复" in report_of(loader, "b").stale_reason


def test_a_command_word_or_service_that_two_want_refuses_both(home: PluginHome) -> None:
    for name in "ab":
        home.write(f"{name}.py", COMMAND.format(words=("go", name)))
    for name in "cd":
        home.write(f"{name}.py", "@hookimpl\ndef services(register):\n    register('s', 1)\n")
    loader = home.loader()
    loader.load_all()
    assert list(loader.running) == []
    assert "指令词 go 重复：a、b" in report_of(loader, "a").reason
    assert "服务名 s 重复：c、d" in report_of(loader, "d").reason


def test_names_with_one_provider_alias_refuse_each_other(home: PluginHome) -> None:
    for plugin, name in (("a", "x.y"), ("b", "x__y")):
        home.write(f"{plugin}.py", TOOL.format(name="f", text="").replace("(f)", f"(f, name='{name}')"))
    loader = home.loader()
    loader.load_all()
    assert list(loader.running) == []


def test_a_disabled_plugin_is_not_imported(home: PluginHome) -> None:
    home.write("a.py", "1 / 0\n")
    loader = home.loader(disabled=("a",))
    [report] = loader.load_all()
    assert (report.ok, report.off) == (True, True)


def test_a_stored_switch_wins_over_the_config(home: PluginHome) -> None:
    home.write("a.py", "")
    home.write("b.py", "")
    loader = home.loader(disabled=("a",), switches={"a": True, "b": False})
    loader.load_all()
    assert list(loader.running) == ["a"]


@pytest.mark.parametrize("at_start", [True, False])
def test_tool_names_of_a_built_in_plugin_stay_reserved_when_it_is_off(home: PluginHome, at_start: bool) -> None:
    home.write("mine.py", TOOL.format(name="todays_luck", text="") if at_start else "")
    loader = home.loader(builtin="plugins", disabled=("luck",) if at_start else ())
    loader.load_all()
    if not at_start:
        loader.disable("luck")
        home.write("mine.py", TOOL.format(name="todays_luck", text=""))
        loader.load("mine")
    assert home.registry.tool("todays_luck") is None
    report = report_of(loader, "mine")
    assert "工具名 todays_luck 重复" in report.reason + report.stale_reason


def test_a_built_in_plugin_comes_back_after_off(home: PluginHome) -> None:
    loader = home.loader(builtin="plugins")
    loader.load_all()
    loader.disable("luck")
    assert home.registry.tool("todays_luck") is None
    assert report_of(loader, "luck").off
    loader.disabled.discard("luck")
    loader.load("luck")
    assert home.registry.tool("todays_luck") is not None
    assert report_of(loader, "luck").ok


def test_reloading_a_built_in_plugin_runs_its_source_again(home: PluginHome) -> None:
    loader = home.loader(builtin="plugins")
    loader.load_all()
    before = sys.modules["plugins.luck"]
    loader.load("luck")
    assert sys.modules["plugins.luck"] is not before
    assert report_of(loader, "luck").ok


def test_unknown_names_are_refused(home: PluginHome) -> None:
    with pytest.raises(PluginError, match="nobody"):
        home.loader().load("nobody")


def test_a_broken_version_keeps_the_old_one_and_says_why(home: PluginHome) -> None:
    path = home.write("a.py", TOOL.format(name="f", text="old"))
    loader = home.loader()
    loader.load_all()
    module = sys.modules["home_plugins.a"]
    home.write("a.py", "def f(:\n")
    loader.load("a")
    report = report_of(loader, "a")
    assert (report.ok, report.file, report.line) == (True, str(path), 2)
    assert "语法错误" in report.stale_reason
    assert tools(home) == {"f": "old"}
    assert sys.modules["home_plugins.a"] is module


def test_saves_of_one_size_within_a_second_are_all_seen(home: PluginHome) -> None:
    loader = home.loader()
    for name in ("a.py", "pack/__init__.py"):
        home.write(name, "")
    loader.load_all()
    for number in range(5):
        home.write("a.py", TOOL.format(name="f", text=number))
        home.write("pack/__init__.py", "from .inner import g\n@hookimpl\ndef register_tools(register): register(g)\n")
        home.write("pack/inner.py", f"def g() -> str:\n    'A tool.'\n    return '{number}'\n")
        loader.load("a")
        loader.load("pack")
        assert tools(home) == {"f": str(number), "g": str(number)}


def test_a_running_call_finishes_on_the_old_version(home: PluginHome) -> None:
    home.write("a.py", TOOL.format(name="f", text="old"))
    loader = home.loader()
    loader.load_all()
    old = home.registry.tool("f")
    home.write("a.py", TOOL.format(name="f", text="new"))
    loader.load("a")
    assert old is not None
    assert (old.function(), tools(home)) == ("old", {"f": "new"})


def test_thirty_reloads_leave_nothing_behind(home: PluginHome) -> None:
    text = TOOL.format(name="f", text="") + COMMAND.format(words=("x",))
    home.write("pack/__init__.py", f"from . import inner\n{text}")
    home.write("pack/inner.py", "")
    home.write("a.py", "@hookimpl\ndef on_event(event):\n    pass\n")
    loader = home.loader()
    loader.load_all()
    modules, finders = set(sys.modules), list(sys.meta_path)
    for _ in range(30):
        loader.load("pack")
        loader.load("a")
    assert set(sys.modules) == modules
    assert sys.meta_path == finders
    assert len(loader.implementations("on_event")) == 1
    assert len(home.registry.tools) == len(home.registry.commands) == 1
    loader.unload("pack")
    loader.unload("a")
    assert [name for name in sys.modules if name.startswith("home_plugins.")] == []
    assert home.registry.tools == home.registry.commands == ()
    assert loader.implementations("on_event") == loader.reports == []


def test_the_owner_of_a_file_is_known(home: PluginHome) -> None:
    path = home.write("pack/inner.py", "")
    home.write("pack/__init__.py", "")
    loader = home.loader()
    loader.load_all()
    assert loader.owner_of(str(path)) == "pack"
    assert loader.owner_of(__file__) is None
