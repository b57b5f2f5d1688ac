"""Logs: a file for everything, the terminal for what its reader needs; each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit.bot import ROOT, child_environment

PROGRAM = """
import sys
from pathlib import Path
from loguru import logger
from plugin_host.config.settings import LogSettings
from plugin_host.doors.logs import set_up_logs

folder, door, level, keep = sys.argv[1:]
set_up_logs(Path(folder), LogSettings(level=level, keep=int(keep)), door)
logger.debug("a debug line")
logger.info("an info line")
try:
    secret = "verysecret"
    raise ValueError("boom")
except ValueError:
    logger.exception("an error line")
logger.complete()
"""


def run(folder: Path, door: str, level: str = "INFO", keep: int = 7) -> tuple[str, str]:
    """(what stderr shows, what the file holds)."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), door, level, str(keep)],
        capture_output=True, text=True, encoding="utf-8", cwd=ROOT, env=child_environment(), timeout=30, check=True,
    )  # fmt: skip
    files: list[Any] = sorted((folder / "logs").glob("*.log"))
    return done.stderr, "".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("door", ["chat", "say"])
def test_a_chat_shows_errors_only_in_one_line_and_the_file_holds_the_rest(tmp_path: Path, door: str) -> None:
    shown, kept = run(tmp_path, door)
    assert shown == "ERROR: an error line\n"
    assert "an info line" in kept
    assert "a debug line" not in kept
    assert "ValueError: boom" in kept


def test_run_shows_its_level_with_tracebacks_but_no_values_of_variables(tmp_path: Path) -> None:
    shown, kept = run(tmp_path, "run")
    for text in (shown, kept):
        assert "an info line" in text
        assert "Traceback" in text
        assert "a debug line" not in text
        assert "│ └ " not in text


def test_the_level_and_whether_files_are_kept_are_settings(tmp_path: Path) -> None:
    shown, kept = run(tmp_path, "run", level="DEBUG", keep=0)
    assert "a debug line" in shown
    assert kept == ""
    assert not (tmp_path / "logs").exists()
