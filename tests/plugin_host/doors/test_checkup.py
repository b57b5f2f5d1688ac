"""Checkup: what ``check`` finds in a home, without starting a bot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.doors.checkup import WORDS, Finding, blocking_calls, check
from tests.kit.plugin_home import PluginHome


@pytest.fixture
def home(tmp_path: Path) -> Iterator[PluginHome]:
    plugins = PluginHome(tmp_path / "plugins")
    yield plugins
    plugins.forget()


def configure(folder: Path, **settings: Any) -> None:
    (folder / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")


def found(folder: Path, what: str, name: str = "") -> list[Finding]:
    return [finding for finding in check(folder) if finding.what == what and name in ("", finding.name)]


def test_an_empty_home_is_fine_and_says_that_it_has_no_file(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert all(finding.ok for finding in findings)
    [config] = found(tmp_path, "config")
    assert config.message == "没有文件，全部用默认值"
    [model] = found(tmp_path, "model")
    assert "没有配置模型" in model.message
    assert not (tmp_path / "data").exists()


def test_every_mistake_of_the_file_is_a_finding_with_its_line_and_plugins_are_still_checked(
    tmp_path: Path, home: PluginHome
) -> None:
    (tmp_path / "config.yaml").write_text("send:\n  timeout: soon\nmasterz: []\n", encoding="utf-8")
    home.write("broken.py", "1 / 0\n")
    config = found(tmp_path, "config")
    assert [(finding.name, finding.line, finding.ok) for finding in config] == [
        ("send.timeout", 2, False), ("masterz", 3, False),
    ]  # fmt: skip
    assert not found(tmp_path, "plugin", "broken")[0].ok
    assert found(tmp_path, "plugin", "dice")[0].ok


def test_a_plugin_is_shown_with_what_it_offers_and_a_broken_one_with_file_and_line(
    tmp_path: Path, home: PluginHome
) -> None:
    home.write(
        "good.py",
        "def g() -> str:\n    'G.'\n    return ''\n@hookimpl\ndef register_tools(register):\n    register(g)\n",
    )
    home.write("broken.py", "\n1 / 0\n")
    [good], [broken] = found(tmp_path, "plugin", "good"), found(tmp_path, "plugin", "broken")
    assert (good.ok, good.message) == (True, "g")
    assert (broken.ok, Path(broken.file).name, broken.line) == (False, "broken.py", 3)
    assert "ZeroDivisionError" in broken.message
    assert broken.fix or broken.message


def test_a_plugin_that_is_off_says_so(tmp_path: Path) -> None:
    configure(tmp_path, plugins={"disabled": ["luck"]})
    [luck] = found(tmp_path, "plugin", "luck")
    assert (luck.ok, luck.message) == (True, "已关闭")


SLEEPER = """
import time
from time import sleep

async def bad():
    time.sleep(1)

def fine():
    time.sleep(1)
"""


def test_time_sleep_inside_a_coroutine_is_a_warning_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "sleeper.py"
    file.write_text(SLEEPER, encoding="utf-8")
    [finding] = blocking_calls("sleeper", file, WORDS["zh"])
    assert (finding.ok, finding.line, finding.fix) == (True, 6, "改为 await asyncio.sleep(...)")
    assert "打断不了" in finding.message


def test_files_of_a_package_that_are_no_python_of_ours_do_not_stop_the_check(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "slow.py").write_text(SLEEPER, encoding="utf-8")
    (tmp_path / "template.py").write_text("def {{ name }}(): ...\n", encoding="utf-8")
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    assert [finding.line for finding in blocking_calls("package", tmp_path, WORDS["zh"])] == [6]
    script = tmp_path / "plugin.js"
    script.write_text("export const x = () => 1;\n", encoding="utf-8")
    assert list(blocking_calls("script", script, WORDS["zh"])) == []


@pytest.mark.parametrize(
    ("bridge", "ok"),
    [
        ({"listen": "127.0.0.1:46880"}, True),
        ({"listen": "localhost:46880"}, True),
        ({"listen": "0.0.0.0:46880"}, False),
        ({"listen": "0.0.0.0:46880", "tokens": {"core": "a"}}, False),
        ({"listen": "0.0.0.0:46880", "tokens": {"core": "a", "ob11": "b"}}, True),
        ({"listen": "0.0.0.0:46880", "allow_open": True}, True),
    ],
)
def test_a_door_to_the_outside_needs_tokens(tmp_path: Path, bridge: dict[str, Any], ok: bool) -> None:
    configure(tmp_path, bridge=bridge)
    [listen] = found(tmp_path, "bridge", "listen")
    assert listen.ok is ok
    assert bool(listen.fix) is not ok


def test_a_dialled_address_is_shown_without_what_may_be_secret(tmp_path: Path) -> None:
    configure(tmp_path, bridge={"protocol": [{"url": "ws://127.0.0.1:1/?access_token=verysecret"}]})
    [end] = found(tmp_path, "bridge", "protocol[0]")
    assert "ws://127.0.0.1:1/" in end.message
    assert "verysecret" not in str(check(tmp_path))


@pytest.mark.parametrize(
    ("connection", "ok"),
    [
        ({"name": "a"}, False),
        ({"name": "a", "api_key": "verysecret"}, True),
        ({"name": "a", "base_url": "http://127.0.0.1:1/v1"}, True),
    ],
)
def test_a_model_needs_a_key_or_an_address_of_its_own(tmp_path: Path, connection: Any, ok: bool) -> None:
    configure(tmp_path, models={"connections": [connection], "uses": {"chat": ["a:m"]}})
    [model] = found(tmp_path, "model", "a:m")
    assert model.ok is ok
    assert "verysecret" not in str(check(tmp_path))


def test_the_check_speaks_english_when_asked(tmp_path: Path) -> None:
    configure(tmp_path, language="en")
    assert "no model configured" in found(tmp_path, "model")[0].message
    assert WORDS["zh"].keys() == WORDS["en"].keys()


def test_a_finding_as_the_object_that_check_prints(tmp_path: Path) -> None:
    assert Finding("plugin", "x", False, "m", "f", "x.py", 3).as_dict() == {
        "what": "plugin", "name": "x", "ok": False, "message": "m", "fix": "f", "file": "x.py", "line": 3,
    }  # fmt: skip
