"""The service ``plugins`` and its chat face: who may, what is kept, what is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plugin_host.errors import CallError, PermissionDeniedError, UnknownNameError
from plugin_host.hooks import Hooks
from plugin_host.loading.desk import PluginDesk
from plugin_host.loading.lifecycle import PluginLife
from plugins.ai.plugin import run
from plugins.ai.words import words_of
from tests.kit.plugin_home import PluginHome, context

TOOL = "def f() -> str:\n    'A tool.'\n    return ''\n@hookimpl\ndef register_tools(register):\n    register(f)\n"


class Office:
    """A desk on two plugins, one of them broken, and what it saved."""

    def __init__(self, home: PluginHome) -> None:
        self.home = home
        home.write("good.py", TOOL)
        home.write("bad.py", "1 / 0\n")
        self.loader = home.loader()
        self.loader.load_all()
        self.saved: list[tuple[str, bool]] = []
        self.desk = PluginDesk(PluginLife(self.loader, Hooks(self.loader), object()), self.save)

    async def save(self, name: str, on: bool) -> None:
        self.saved.append((name, on))

    async def say(self, text: str, level: int = 100) -> str:
        return await run(context(level, {"plugins": self.desk}, plugin="ai"), words_of(text))


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    home = PluginHome(tmp_path / "plugins")
    yield Office(home)
    home.forget()


@pytest.mark.parametrize("text", ["", "list", "off good", "on good", "reload good"])
async def test_below_a_master_nothing_is_shown_nor_done(office: Office, text: str) -> None:
    with pytest.raises(PermissionDeniedError, match="骰主"):
        await office.say(text, level=99)
    assert office.saved == []
    assert "good" in office.loader.running


async def test_the_list_names_each_plugin_and_the_broken_one_with_file_line_and_reason(office: Office) -> None:
    text = await office.say("list")
    assert text == await office.say("")
    assert "共 2 个，运行 1，关 0，有错 1" in text
    assert "good[外部] 1 个工具、1 个钩子" in text
    assert "bad[外部] 没有加载：bad.py 第 2 行：出错 ZeroDivisionError" in text
    assert str(office.home.folder) not in text


async def test_off_and_on_are_saved_and_done(office: Office) -> None:
    assert "已关闭" in await office.say("off good")
    assert office.home.registry.tools == ()
    assert "good[外部] 关" in await office.say("list")
    assert "good 已打开（1 个工具、1 个钩子）" in await office.say("on good")
    assert office.saved == [("good", False), ("good", True)]
    assert office.home.registry.tool("f") is not None


async def test_a_switch_that_changes_nothing_says_so(office: Office) -> None:
    with pytest.raises(CallError, match="本来就是开的"):
        await office.say("on good")
    await office.say("off good")
    with pytest.raises(CallError, match="本来就是关的"):
        await office.say("off good")
    with pytest.raises(CallError, match="先用"):
        await office.say("reload good")
    assert office.saved == [("good", False)]


async def test_reload_takes_the_file_as_it_is_now(office: Office) -> None:
    office.home.write("good.py", "")
    assert "已重新加载（没有登记任何东西）" in await office.say("reload good")
    office.home.write("good.py", "def f(:\n")
    assert "新版本有错，旧版本继续运行：good.py 第 2 行：语法错误" in await office.say("reload good")
    assert "没有加载：bad.py 第 2 行" in await office.say("reload bad")


async def test_an_unknown_name_is_answered_with_the_nearest(office: Office) -> None:
    with pytest.raises(UnknownNameError, match="相近的：good"):
        await office.say("off goood")
    with pytest.raises(UnknownNameError, match="plugin list"):
        await office.say("off something")


async def test_the_plugin_that_holds_the_switch_cannot_be_switched_off(office: Office) -> None:
    ctx = context(100, {"plugins": office.desk}, plugin="good")
    with pytest.raises(CallError, match="不能关"):
        await run(ctx, words_of("off good"))
    assert "good" in office.loader.running


@pytest.mark.parametrize(
    ("text", "sentence"), [("of good", "没有 .ai plugin of"), ("off", "要写插件名"), ("off a b", "多余")]
)
async def test_what_is_no_form_is_explained(office: Office, text: str, sentence: str) -> None:
    with pytest.raises(CallError, match=sentence):
        await office.say(text)


async def test_off_tells_who_may_run_now(office: Office) -> None:
    office.home.write("rival.py", TOOL)
    assert "rival[外部] 没有加载" in await office.say("reload rival")
    text = await office.say("off rival")
    assert "插件 rival 已关闭" in text
    assert "good[外部] 1 个工具" in text
