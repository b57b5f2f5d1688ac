"""Tables: what ``check`` and ``tools`` print for a person."""

from __future__ import annotations

from typing import Any

import pytest

from plugin_host.doors.checkup import Finding
from plugin_host.doors.tables import HEADS, SUMMARY, findings_table, tools_table

BAD = Finding("plugin", "bad", False, "出错 ValueError", "改它", "/home/bot/plugins/bad.py", 3)
WARNING = Finding("plugin", "slow", True, "会停住", "改为 await", "slow.py", 6)
GOOD = Finding("config", "config.yaml", True, "")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def printed(capsys: Any, *findings: Finding, language: str = "zh") -> str:
    findings_table(findings, language)
    return str(capsys.readouterr().out)


def test_a_failure_is_marked_and_told_with_its_place_and_what_to_do(capsys: Any) -> None:
    text = printed(capsys, GOOD, BAD)
    assert "✔" in text
    assert "✘" in text
    assert "bad: /home/bot/plugins/bad.py:3 出错 ValueError\n  → 改它" in text
    assert "1 项有问题" in text


def test_a_warning_is_told_and_does_not_count_as_a_failure(capsys: Any) -> None:
    text = printed(capsys, GOOD, WARNING)
    assert "slow: slow.py:6 会停住\n  → 改为 await" in text
    assert "全部正常" in text


def test_a_long_path_is_never_cut(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    file = "/home/bot/" + "deep/" * 30 + "bad.py"
    assert f"{file}:3" in printed(capsys, Finding("plugin", "bad", False, "x", "", file, 3))


@pytest.mark.parametrize("message", ["expected list[str]", "unexpected [/b]", "[red]x[/red]", "protocol[0]", "\\[x]"])
def test_brackets_are_text(capsys: Any, message: str) -> None:
    text = printed(capsys, Finding("plugin", "list[int]", True, message))
    assert message in text
    assert "list[int]" in text


def test_english_when_asked(capsys: Any) -> None:
    assert "1 item(s) failed" in printed(capsys, BAD, language="en")
    assert "everything is fine" in printed(capsys, GOOD, language="en")
    assert HEADS.keys() == SUMMARY.keys() == {"zh", "en"}


def test_tools_are_a_row_each(capsys: Any) -> None:
    tool = {
        "name": "roll_dice", "group": "骰子", "source": {"kind": "builtin", "id": "dice"}, "default_on": True,
        "privilege": 0, "flags": ["random"],
    }  # fmt: skip
    tools_table([tool, {**tool, "name": "odd", "group": "[组]", "default_on": False, "privilege": 50}])
    rows = capsys.readouterr().out
    assert [word for word in ("roll_dice", "骰子", "builtin:dice", "开", "random", "odd", "[组]", "关", "50")
            if word not in rows] == []  # fmt: skip
