"""Tables of plugins: no plugin gets a name that the host or another plugin has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plugin_host.store import tables as host_tables
from tests.kit.plugin_home import PluginHome, report_of

PLUGIN = """
from sqlalchemy import Column, Integer, MetaData, Table
{name} = [Table(one, MetaData(), Column("id", Integer, primary_key=True)) for one in {names!r}]
@hookimpl
def tables(register):
    register(*{name})
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[PluginHome]:
    home = PluginHome(tmp_path / "plugins")
    yield home
    home.forget()


def write(home: PluginHome, name: str, *names: str) -> Path:
    return home.write(f"{name}.py", PLUGIN.format(name=name, names=names))


@pytest.mark.parametrize("table", [*host_tables.metadata.tables, "Events"])
def test_a_table_of_the_host_is_refused_with_name_owner_and_fix(home: PluginHome, table: str) -> None:
    path = write(home, "a", table)
    write(home, "b", "b_notes")
    loader = home.loader()
    loader.load_all()
    report = report_of(loader, "a")
    assert not report.ok
    assert report.reason == f"数据表 {table.lower()} 重复：a、host 都想用"
    assert (report.file, report.line) == (str(path), 6)
    assert "a_" in report.fix
    assert report_of(loader, "b").ok


def test_two_plugins_that_want_one_table_are_both_refused_and_one_alone_runs(home: PluginHome) -> None:
    write(home, "a", "notes")
    write(home, "b", "Notes")
    write(home, "c", "c_notes")
    loader = home.loader()
    loader.load_all()
    assert [report.name for report in loader.reports if report.ok] == ["c"]
    assert report_of(loader, "a").reason == report_of(loader, "b").reason == "数据表 notes 重复：a、b 都想用"
    assert [str(one) for one in home.registry.collisions] == ["数据表 notes 重复：a、b 都想用"]
    (home.folder / "b.py").unlink()
    loader.unload("b")
    loader.load("a")
    assert report_of(loader, "a").ok


def test_a_version_that_wants_a_taken_table_leaves_the_former_one_running(home: PluginHome) -> None:
    write(home, "a", "a_notes")
    loader = home.loader()
    loader.load_all()
    loader.load("a")
    assert report_of(loader, "a").stale_reason == ""
    write(home, "a", "outbox")
    loader.load("a")
    assert report_of(loader, "a").stale_reason == "数据表 outbox 重复：a、host 都想用"
    assert "a" in loader.running


def test_a_built_in_plugin_keeps_its_tables_also_while_it_is_off(
    home: PluginHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "built_in_with_tables"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "deck.py").write_text("from plugin_host import *\n" + PLUGIN.format(name="x", names=("cards",)))
    monkeypatch.syspath_prepend(tmp_path)
    write(home, "a", "cards")
    loader = home.loader("built_in_with_tables", {"deck": False})
    loader.load_all()
    assert report_of(loader, "deck").off
    assert report_of(loader, "a").reason == "数据表 cards 重复：a、deck 都想用"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("register(T, T)", "'t' is registered twice"),
        ("register('notes')", "expected a SQLAlchemy Table, got str"),
    ],
)
def test_what_is_no_table_or_comes_twice_is_refused(home: PluginHome, body: str, reason: str) -> None:
    home.write(
        "a.py",
        f"""
        from sqlalchemy import Column, Integer, MetaData, Table
        T = Table("t", MetaData(), Column("id", Integer, primary_key=True))
        @hookimpl
        def tables(register):
            {body}
        """,
    )
    loader = home.loader()
    loader.load_all()
    report = report_of(loader, "a")
    assert (report.ok, report.line) == (False, 7)
    assert reason in report.reason
