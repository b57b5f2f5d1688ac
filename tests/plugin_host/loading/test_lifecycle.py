"""Plugins of a running host: startup and shutdown around each change, rollback when a start fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.errors import PluginError
from plugin_host.hooks import Hooks
from plugin_host.loading.lifecycle import PluginLife
from plugin_host.loading.reports import PluginReport
from plugin_host.registry import Contribution
from tests.kit.plugin_home import PluginHome, report_of

NOTED = """
@hookimpl
def startup(host):
    host.append("+{name}")
    {more}

@hookimpl
async def shutdown(host):
    host.append("-{name}")

def f() -> str:
    'A tool.'
    return "{name}"

@hookimpl
def register_tools(register):
    register(f, name="{tool}")
"""


def noted(name: str, more: str = "", tool: str = "f") -> str:
    return NOTED.format(name=name, more=more, tool=tool)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[PluginHome]:
    home = PluginHome(tmp_path / "plugins")
    yield home
    home.forget()


class Bot:
    """A loader, its hooks and its life, with the list that stands for the host."""

    def __init__(self, home: PluginHome, limit: float = 5.0, migrate: Any = None) -> None:
        self.loader = home.loader()
        self.loader.load_all()
        self.host: list[str] = []
        self.told: list[PluginReport] = []
        hooks = Hooks(self.loader, limit=limit, start_limit=limit)
        self.life = PluginLife(self.loader, hooks, self.host, self.told.append, migrate)


async def test_start_and_stop_run_the_hooks(home: PluginHome) -> None:
    home.write("a.py", noted("a", tool="fa"))
    home.write("b.py", noted("b", tool="fb"))
    bot = Bot(home)
    assert await bot.life.start() == []
    await bot.life.stop()
    assert bot.host == ["+a", "+b", "-b", "-a"]


class Faces:
    """A host with a list for each plugin."""

    def __init__(self) -> None:
        self.faces: dict[str, list[str]] = {}

    def of(self, plugin: str) -> list[str]:
        return self.faces.setdefault(plugin, [])


async def test_each_plugin_is_handed_its_own_face_at_every_start_and_stop(home: PluginHome) -> None:
    home.write("a.py", noted("a", tool="fa"))
    home.write("b.py", noted("b", tool="fb"))
    loader, host = home.loader(), Faces()
    loader.load_all()
    life = PluginLife(loader, Hooks(loader), host)
    await life.start()
    await life.load("a")
    await life.stop()
    assert host.faces == {"a": ["+a", "-a", "+a", "-a"], "b": ["+b", "-b"]}


@pytest.mark.parametrize("more", ["raise OSError('port in use')", "while True: pass"])
async def test_a_plugin_whose_start_fails_is_dropped_with_its_line(home: PluginHome, more: str) -> None:
    path = home.write("a.py", noted("a", more))
    home.write("b.py", noted("b", tool="fb"))
    bot = Bot(home, limit=0.2)
    [report] = await bot.life.start()
    assert (report.name, report.ok, report.file, report.line) == ("a", False, str(path), 6)
    assert report.reason.startswith("startup 失败：")
    assert [tool.name for tool in home.registry.tools] == ["fb"]
    assert report_of(bot.loader, "a") == report
    assert bot.told == [report]


async def test_a_reload_stops_the_old_version_and_starts_the_new_one(home: PluginHome) -> None:
    home.write("a.py", noted("old"))
    bot = Bot(home)
    await bot.life.start()
    home.write("a.py", noted("new"))
    [report] = await bot.life.load("a")
    assert report.ok
    assert bot.host == ["+old", "-old", "+new"]


async def test_a_broken_version_is_not_started_and_the_old_one_not_stopped(home: PluginHome) -> None:
    home.write("a.py", noted("old"))
    bot = Bot(home)
    await bot.life.start()
    home.write("a.py", "def f(:\n")
    [report] = await bot.life.load("a")
    assert "语法错误" in report.stale_reason
    assert bot.host == ["+old"]


async def test_when_the_new_version_cannot_start_the_old_one_comes_back(home: PluginHome) -> None:
    home.write("a.py", noted("old"))
    bot = Bot(home)
    await bot.life.start()
    home.write("a.py", noted("new", "raise ValueError('no')"))
    [report] = await bot.life.load("a")
    assert "startup 失败：ValueError: no" in report.stale_reason
    assert bot.host == ["+old", "-old", "+new", "+old"]
    [tool] = home.registry.tools
    assert tool.function() == "old"


async def test_off_stops_and_on_starts(home: PluginHome) -> None:
    home.write("a.py", noted("a"))
    bot = Bot(home)
    await bot.life.start()
    [off] = await bot.life.switch("a", False)
    assert off.off
    assert home.registry.tools == ()
    [on] = await bot.life.switch("a", True)
    assert on.tools == ("f",)
    assert bot.host == ["+a", "-a", "+a"]


async def test_removing_one_of_two_rivals_lets_the_other_run(home: PluginHome) -> None:
    path = home.write("a.py", noted("a"))
    home.write("b.py", noted("b"))
    bot = Bot(home)
    await bot.life.start()
    assert home.registry.tools == ()
    path.unlink()
    [report] = await bot.life.remove("a")
    assert (report.name, report.ok) == ("b", True)
    assert bot.host == ["+b"]
    assert [one.name for one in bot.loader.reports] == ["b"]


async def test_a_new_rival_stops_the_running_one(home: PluginHome) -> None:
    home.write("a.py", noted("a"))
    bot = Bot(home)
    await bot.life.start()
    home.write("b.py", noted("b"))
    reports = await bot.life.load("b")
    assert {(report.name, report.ok) for report in reports} == {("a", False), ("b", False)}
    assert bot.host == ["+a", "-a"]


async def test_the_loop_goes_on_while_a_plugin_is_imported(home: PluginHome) -> None:
    home.write("a.py", "")
    bot = Bot(home)
    home.write("a.py", "import threading\nthreading.HOLD.wait(20)\n")
    hold = threading.Event()
    threading.HOLD = hold  # type: ignore[attr-defined]  # the only way to reach a module that is being imported
    try:
        loading = asyncio.ensure_future(bot.life.load("a"))
        await asyncio.sleep(0)
        assert not loading.done()
        hold.set()
        async with asyncio.timeout(10):
            [report] = await loading
    finally:
        del threading.HOLD  # type: ignore[attr-defined]
    assert report.ok


async def test_an_unknown_plugin_cannot_be_loaded_nor_switched_on(home: PluginHome) -> None:
    bot = Bot(home)
    with pytest.raises(PluginError):
        await bot.life.load("nobody")
    with pytest.raises(PluginError):
        await bot.life.switch("nobody", True)


TABLES = """
def step(operations):
    operations("step")

@hookimpl
def tables(register):
    from sqlalchemy import MetaData, Table
    register(Table("a_sheets", MetaData()), migrations=[step])

@hookimpl
def startup(host):
    host.append("+")
"""


async def test_tables_are_migrated_before_the_start(home: PluginHome) -> None:
    home.write("a.py", TABLES)
    home.write("b.py", "")
    seen: list[Any] = []

    async def migrate(contribution: Contribution) -> None:
        seen.append((contribution.source.id, [table.name for table in contribution.tables], list(bot.host)))

    bot = Bot(home, migrate=migrate)
    await bot.life.start()
    assert seen == [("a", ["a_sheets"], [])]
    assert bot.host == ["+"]


async def test_a_migration_that_fails_drops_its_plugin_with_the_line(home: PluginHome) -> None:
    path = home.write("a.py", TABLES.replace('operations("step")', "raise OSError('disk')"))
    home.write("b.py", "")

    async def migrate(contribution: Contribution) -> None:
        for step in contribution.migrations:
            step(None)

    bot = Bot(home, migrate=migrate)
    [report] = await bot.life.start()
    assert (report.file, report.line) == (str(path), 4)
    assert report.reason == "tables 失败：OSError: disk"
    assert bot.host == []
    assert list(bot.loader.running) == ["b"]
