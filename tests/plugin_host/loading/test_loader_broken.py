"""What does not load: each broken plugin is one report with file, line and reason, and leaves nothing behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugin_host.config.settings import PluginSettings
from plugin_host.loading.loader import Loader
from plugin_host.registry import Contribution, Registry
from plugin_host.tools import Source
from tests.kit.plugin_home import PluginHome, report_of

BROKEN = Path(__file__).parents[2] / "broken_plugins"
EXPECTED = {
    "bad_syntax": ({6}, "语法错误"),
    "duplicate_tool": ({6}, "工具名 todays_luck 重复：duplicate_tool、luck 都想用"),
    "endless_import": ({6, 7}, "1 秒内没有结束"),
    "misspelt_hook": ({12}, "没有叫 register_tool 的钩子"),
    "raises_at_import": ({5}, "KeyError：'token'"),
    "wrong_argument": ({7}, "钩子 on_event 的参数应为 (event)，实际写了 evnt"),
}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[PluginHome]:
    home = PluginHome(tmp_path / "plugins")
    yield home
    home.forget()


def test_six_broken_files_are_six_reports_and_the_built_in_plugins_load() -> None:
    registry = Registry()
    loader = Loader(registry, PluginSettings(import_limit=1.0), BROKEN)
    reports = {report.name: report for report in loader.load_all() if not report.ok}
    assert set(reports) == set(EXPECTED)
    for name, (lines, reason) in EXPECTED.items():
        report = reports[name]
        assert report.file == str(BROKEN / f"{name}.py")
        assert report.line in lines, name
        assert reason in report.reason
        assert report.fix
    assert {"luck", "dice", "ai"} <= set(loader.running)
    tool = registry.tool("todays_luck")
    assert tool is not None
    assert tool.source.id == "luck"
    assert [name for name in sys.modules if name.startswith("home_plugins.")] == []


def test_the_fix_of_a_misspelt_hook_is_the_nearest_one(home: PluginHome) -> None:
    home.write("a.py", "@hookimpl\ndef on_evnt(event):\n    pass\n")
    home.write("b.py", "@hookimpl\ndef quite_something_else(event):\n    pass\n")
    loader = home.loader()
    loader.load_all()
    assert report_of(loader, "a").fix == "是不是想写 on_event？"
    assert "docs/plugins.md" in report_of(loader, "b").fix


BAD = {
    "exception in a register hook": (
        "def f():\n    raise OSError('gone')\n@hookimpl\ndef register_tools(register):\n    f()\n",
        3,
        "OSError：gone",
    ),
    "a tool without a docstring": (
        "def f() -> str:\n    return ''\n@hookimpl\ndef register_tools(register):\n    register(f)\n",
        6,
        "needs a docstring",
    ),
    "the same tool twice": (
        "def f() -> str:\n    'f'\n@hookimpl\ndef register_tools(register):\n    register(f)\n    register(f)\n",
        7,
        "registered twice",
    ),
    "the same word twice": (
        "def f() -> str:\n    'f'\n@hookimpl\ndef register_commands(register):\n"
        "    register(f, words=('a',))\n    register(f, words=('A',))\n",
        7,
        "command word 'a' is registered twice",
    ),
    "a hook without its marker": ("def register_tools(register):\n    pass\n", 2, "没有 @hookimpl"),
    "an async hook that must be plain": (
        "@hookimpl\nasync def should_handle(event):\n    pass\n",
        3,
        "不能是 async",
    ),
    "a wrapper": ("@hookimpl(wrapper=True)\ndef on_event(event):\n    yield\n", 3, "wrapper"),
    "two arguments, one wrong": ("@hookimpl\ndef call_finished(call, outcome):\n    pass\n", 3, "outcome"),
    "another contract": ("\nAPI = 2\n", 3, "API = 2"),
    "leaving the program": ("import sys\nsys.exit(3)\n", 3, "想结束程序（SystemExit）"),
    "a missing module": ("\n\nimport not_there_at_all\n", 4, "找不到模块 not_there_at_all"),
    "a bad loader suffix": ("@hookimpl\ndef loaders(register):\n    register('.py', print)\n", 4, "suffix"),
    "a bad sub-command": ("@hookimpl\ndef cli(register):\n    register('a b', print)\n", 4, "sub-command"),
    "a service twice": (
        "@hookimpl\ndef services(register):\n    register('s', 1)\n    register('s', 2)\n",
        5,
        "offered twice",
    ),
    "a bad encoding": ("X = 'caf\udce9'\n", None, "语法错误"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_broken_plugin_is_named_with_its_line_and_the_next_one_loads(home: PluginHome, case: str) -> None:
    text, line, reason = BAD[case]
    path = home.folder / "a.py"
    path.write_bytes(f"from plugin_host import *\n{text}".encode(errors="surrogateescape"))
    home.write("b.py", "")
    loader = home.loader()
    loader.load_all()
    report = report_of(loader, "a")
    assert (report.ok, report.file) == (False, str(path))
    assert reason in report.reason
    assert line in (None, report.line)
    assert set(loader.running) == {"b"}
    assert home.registry.tools == home.registry.commands == ()
    assert "home_plugins.a" not in sys.modules


def test_a_hang_in_a_register_hook_ends_at_the_limit(home: PluginHome) -> None:
    home.write("a.py", "@hookimpl\ndef register_tools(register):\n    while True:\n        pass\n")
    loader = home.loader(import_limit=0.2)
    loader.load_all()
    assert report_of(loader, "a").line in (4, 5)
    assert "0.2 秒内没有结束" in report_of(loader, "a").reason


def test_an_import_that_cannot_be_interrupted_is_abandoned_and_named(home: PluginHome) -> None:
    path = home.write("a.py", "import threading\nthreading.Event().wait(20)\n")
    loader = home.loader(import_limit=0.2)
    loader.load_all()
    report = report_of(loader, "a")
    assert (report.file, report.line) == (str(path), 3)
    assert "已放弃" in report.reason
    assert "home_plugins.a" not in sys.modules


def test_a_mistake_inside_a_package_is_named_in_its_file(home: PluginHome) -> None:
    home.write("pack/__init__.py", "from . import inner\n")
    path = home.write("pack/inner.py", "\n1 / 0\n")
    loader = home.loader()
    loader.load_all()
    report = report_of(loader, "pack")
    assert (report.file, report.line) == (str(path), 3)
    assert [name for name in sys.modules if name.startswith("home_plugins.pack")] == []


SETTINGS = """
from pydantic import BaseModel, ConfigDict, Field, SecretStr
class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    times: int = Field(1, le=9)
    key: SecretStr
"""


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"times": "many", "key": "k"}, "plugins.a.times：应为整数，实际是 'many'"),
        ({"times": 10, "key": "k"}, "plugins.a.times：应为不大于 9 的数，实际是 10"),
        ({"times": 9}, "plugins.a.key：缺少必填的键"),
        ({"key": 123456}, "plugins.a.key：应为字符串（像数字或 true 的要加引号），实际是 int"),
        ({"key": "k", "tmies": 2}, "plugins.a.tmies：没有这个键"),
    ],
)
def test_settings_that_do_not_fit_are_named_with_key_and_value(
    home: PluginHome, config: dict[str, object], complaint: str
) -> None:
    home.write("a.py", SETTINGS)
    loader = home.loader(a=config)
    loader.load_all()
    report = report_of(loader, "a")
    assert report.reason == complaint
    assert report.line == 4


def test_settings_on_the_limit_fit(home: PluginHome) -> None:
    home.write("a.py", SETTINGS)
    loader = home.loader(a={"times": 9, "key": "k"})
    loader.load_all()
    assert loader.settings_of("a").times == 9


def test_settings_without_a_model_are_a_mistake(home: PluginHome) -> None:
    home.write("a.py", "")
    loader = home.loader(a={"times": 2})
    loader.load_all()
    assert "plugins.a 写了 times" in report_of(loader, "a").reason


@pytest.mark.parametrize("name", ["host", "disabled", "import_limit"])
def test_a_name_of_the_host_itself_is_refused(home: PluginHome, name: str) -> None:
    home.write(f"{name}.py", "")
    [report] = home.loader().load_all()
    assert "程序自己用的名字" in report.reason


def test_a_service_of_the_host_cannot_be_taken(home: PluginHome) -> None:
    own = Contribution(Source("builtin", "host"))
    own.service("toolbox", "the real one")
    home.registry.install(own)
    home.write("a.py", "@hookimpl\ndef services(register):\n    register('toolbox', 'mine')\n")
    loader = home.loader()
    loader.load_all()
    assert "服务名 toolbox 重复：a、host" in report_of(loader, "a").reason
    assert home.registry.service("toolbox") == "the real one"


@pytest.mark.parametrize("file", ["my-plugin.py", "1st.py", "class.py"])
def test_a_file_name_that_is_no_name_is_refused(home: PluginHome, file: str) -> None:
    home.write(file, "")
    loader = home.loader()
    [report] = loader.load_all()
    assert "不能作插件名" in report.reason


def test_a_file_beside_a_folder_of_its_name_is_refused(home: PluginHome) -> None:
    home.write("a.py", "")
    home.write("a/__init__.py", "")
    loader = home.loader()
    loader.load_all()
    assert "a" in loader.running
    assert loader.running["a"].plugin.path.is_dir()
