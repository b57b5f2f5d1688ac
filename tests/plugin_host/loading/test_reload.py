"""Hot reload: a save takes over, a broken save does not, files come and go."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from plugin_host.hooks import Hooks
from plugin_host.loading.lifecycle import PluginLife
from plugin_host.loading.reload import Reloader
from plugin_host.loading.reports import PluginReport
from tests.kit.plugin_home import PluginHome, report_of

TOOL = (
    "def f() -> str:\n    'A tool.'\n    return '{text}'\n@hookimpl\ndef register_tools(register):\n    register(f)\n"
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[PluginHome]:
    home = PluginHome(tmp_path / "plugins")
    yield home
    home.forget()


class Watched:
    """A loader whose folder is watched; ``until`` waits for a report that fits."""

    def __init__(self, home: PluginHome) -> None:
        self.loader = home.loader()
        self.loader.load_all()
        self._reports: asyncio.Queue[PluginReport] = asyncio.Queue()
        self.life = PluginLife(self.loader, Hooks(self.loader), object(), self._reports.put_nowait)
        self.reloader = Reloader(self.life, tick=50)

    async def until(self, fits: Callable[[PluginReport], object]) -> PluginReport:
        async with asyncio.timeout(10):
            while True:
                report = await self._reports.get()
                if fits(report):
                    return report


@asynccontextmanager
async def watched(home: PluginHome) -> AsyncIterator[Watched]:
    bot = Watched(home)
    task = asyncio.ensure_future(bot.reloader.run())
    async with asyncio.timeout(10):
        await bot.reloader.watching.wait()
    try:
        yield bot
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def answer(home: PluginHome) -> str | None:
    tool = home.registry.tool("f")
    return str(tool.function()) if tool else None


async def test_a_save_takes_over_a_broken_save_does_not_and_a_repaired_one_does(home: PluginHome) -> None:
    path = home.write("a.py", TOOL.format(text="1"))
    async with watched(home) as bot:
        home.write("a.py", TOOL.format(text="2"))
        await bot.until(lambda report: report.ok and not report.stale_reason)
        assert answer(home) == "2"
        home.write("a.py", "def f(:\n")
        stale = await bot.until(lambda report: report.stale_reason)
        assert (stale.ok, stale.file, stale.line) == (True, str(path), 2)
        assert answer(home) == "2"
        home.write("a.py", TOOL.format(text="3"))
        await bot.until(lambda report: report.ok and not report.stale_reason)
        assert answer(home) == "3"
        assert report_of(bot.loader, "a").stale_reason == ""


async def test_new_files_are_loaded_and_removed_ones_dropped(home: PluginHome) -> None:
    async with watched(home) as bot:
        home.write("b.py", "")
        path = home.write("a.py", TOOL.format(text="1"))
        await bot.until(lambda report: report.name == "a" and report.ok)
        assert answer(home) == "1"
        path.unlink()
        home.write("z.py", "")
        await bot.until(lambda report: report.name == "z")
        assert answer(home) is None


async def test_a_save_inside_a_package_reloads_it_and_a_removed_package_goes(home: PluginHome) -> None:
    home.write("pack/__init__.py", "from .inner import f\n@hookimpl\ndef register_tools(register):\n    register(f)\n")
    home.write("pack/inner.py", "def f() -> str:\n    'A tool.'\n    return '1'\n")
    async with watched(home) as bot:
        home.write("pack/inner.py", "def f() -> str:\n    'A tool.'\n    return '2'\n")
        await bot.until(lambda report: report.name == "pack" and report.ok)
        assert answer(home) == "2"
        shutil.rmtree(home.folder / "pack")
        home.write("z.py", "")
        await bot.until(lambda report: report.name == "z")
        assert answer(home) is None


async def test_the_folder_is_made_when_it_is_missing(home: PluginHome) -> None:
    home.folder.rmdir()
    async with watched(home) as bot:
        home.write("a.py", TOOL.format(text="1"))
        await bot.until(lambda report: report.ok)
    assert answer(home) == "1"


async def test_without_a_folder_there_is_nothing_to_watch(home: PluginHome) -> None:
    loader = home.loader()
    loader.home = None
    async with asyncio.timeout(5):
        await Reloader(PluginLife(loader, Hooks(loader), object())).run()


def test_only_source_files_of_visible_plugins_count(home: PluginHome) -> None:
    loader = home.loader()
    reloader = Reloader(PluginLife(loader, Hooks(loader), object()))
    paths = ("a.py", "pack/deep/x.py", "pack/data.json", "_hidden.py", "pack/__pycache__/x.py", "notes.txt", "a.js")
    assert reloader.names_of(Path("/h"), [Path("/h") / path for path in paths]) == ["a", "pack"]
