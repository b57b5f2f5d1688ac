"""Home: one host per home, told in words to a second process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plugin_host import home as home_module
from plugin_host.config.settings import Settings
from plugin_host.errors import HomeBusyError
from plugin_host.home import Home, HostDoor
from tests.kit.bot import ROOT, child_environment

DOORS: tuple[HostDoor, ...] = ("run", "chat", "say")
HOLDER = """
import sys
from pathlib import Path
from plugin_host.config.settings import Settings
from plugin_host.home import Home
home = Home(Path(sys.argv[1]), Settings())
home.acquire(sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
home.release()
print("released", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held_by_a_child(folder: Path, door: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the home until a line is written to it."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), door],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=child_environment(),
    )  # fmt: skip
    with child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            yield child
        finally:
            child.kill()


def home(folder: Path) -> Home:
    return Home(folder, Settings())


def tell(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def test_a_second_process_is_refused_in_words_while_run_uses_the_home(tmp_path: Path) -> None:
    with held_by_a_child(tmp_path, "run"):
        for door in DOORS:
            with pytest.raises(HomeBusyError) as refused:
                home(tmp_path).acquire(door)
            assert "plugin-host run 正在使用这个目录，没有执行任何操作" in str(refused.value)
            assert "--home" in str(refused.value)


def test_chat_is_named_when_it_holds_the_home(tmp_path: Path) -> None:
    with held_by_a_child(tmp_path, "chat"), pytest.raises(HomeBusyError, match="另一个 plugin-host chat 正在使用"):
        home(tmp_path).acquire("say")


def test_run_and_chat_do_not_wait_for_a_say(tmp_path: Path) -> None:
    with held_by_a_child(tmp_path, "say"):
        for door in DOORS[:2]:
            begun = time.monotonic()
            with pytest.raises(HomeBusyError, match="正在使用这个目录"):
                home(tmp_path).acquire(door)
            assert time.monotonic() - begun < 2


def test_say_waits_for_a_say_of_another_process(tmp_path: Path) -> None:
    mine = home(tmp_path)
    with held_by_a_child(tmp_path, "say") as child:
        waiting = threading.Thread(target=mine.acquire, args=("say",))
        waiting.start()
        waiting.join(timeout=0.3)
        assert waiting.is_alive()
        tell(child)
        waiting.join(timeout=5)
        assert not waiting.is_alive()
    mine.release()


def test_say_gives_up_waiting_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_module, "SAY_PATIENCE", 0.3)
    with held_by_a_child(tmp_path, "say"), pytest.raises(HomeBusyError, match="正在使用这个目录"):
        home(tmp_path).acquire("say")


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    with held_by_a_child(tmp_path, "run") as child:
        child.kill()
        child.wait(timeout=5)
        mine = home(tmp_path)
        mine.acquire("say")
        mine.release()


def test_a_released_home_can_be_taken_again_and_holds_no_mark(tmp_path: Path) -> None:
    mine = home(tmp_path)
    for door in ("run", "say"):
        mine.acquire(door)
        assert (mine.data / "lock.holder").read_text(encoding="utf-8") == door
        mine.release()
        assert not (mine.data / "lock.holder").exists()
    mine.release()


@pytest.mark.parametrize("mark", ["", None])
def test_say_waits_while_the_holder_has_not_written_who_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str | None
) -> None:
    """The mark is written just behind the lock: another ``say`` may look between the two."""
    mine = home(tmp_path)
    monkeypatch.setattr(home_module, "SAY_PATIENCE", 5.0)
    with held_by_a_child(tmp_path, "say") as child:
        holder = mine.data / "lock.holder"
        holder.unlink() if mark is None else holder.write_text(mark, encoding="utf-8")
        waiting = threading.Thread(target=mine.acquire, args=("say",))
        waiting.start()
        waiting.join(timeout=0.25)
        assert waiting.is_alive()
        tell(child)
        waiting.join(timeout=5)
        assert not waiting.is_alive()
    mine.release()


def test_the_folders_of_a_home_are_those_of_the_settings(tmp_path: Path) -> None:
    mine = Home(tmp_path, Settings.model_validate({"paths": {"data": "d", "plugins": "p"}}))
    assert (mine.data, mine.plugins, mine.database) == (tmp_path / "d", tmp_path / "p", tmp_path / "d" / "host.db")
