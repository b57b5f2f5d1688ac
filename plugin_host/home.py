"""Home: the bot's folder — where its files are, and the lock that keeps it to one host."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from plugin_host.config.settings import Settings
from plugin_host.errors import HomeBusyError, HostError

HostDoor = Literal["run", "chat", "say"]
SAY_PATIENCE = 10.0
HOLDER_WORDS = {"run": "plugin-host run 正在使用这个目录", "chat": "另一个 plugin-host chat 正在使用这个目录"}


class Home:
    """One home. ``lock`` is held by ``run``, ``chat`` and ``say``; everything that only reads needs none."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.data = folder / settings.paths.data
        self.plugins = folder / settings.paths.plugins
        self._lock = FileLock(self.data / "lock")
        self._holder = self.data / "lock.holder"

    @property
    def database(self) -> Path:
        """The file of the store."""
        return self.data / "host.db"

    def acquire(self, door: HostDoor) -> None:
        """Take the home. ``say`` waits up to 10 s for another ``say``; raises HomeBusyError in words otherwise.

        Raises HostError, also in words, when the folder cannot hold the data.
        """
        if not self.folder.exists() and not self.folder.parent.is_dir():
            raise HostError(f"目录 {self.folder} 不存在，它的上级目录也不存在；请检查 --home")
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            self._take(door)
        except OSError as error:
            reason = error.strerror or error
            raise HostError(f"不能在 {self.data} 存放数据（{reason}）；请检查 --home 和 paths.data") from error

    def _take(self, door: HostDoor) -> None:
        deadline = time.monotonic() + SAY_PATIENCE
        while True:
            try:
                self._lock.acquire(timeout=0.2)
            except Timeout:
                self._refuse_unless_say(door, deadline)
                continue
            self._holder.write_text(door, encoding="utf-8")
            return

    def release(self) -> None:
        """Give the home back."""
        if self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
        self._lock.release()

    def _refuse_unless_say(self, door: HostDoor, deadline: float) -> None:
        holder = self._held_by()
        if door == "say" and holder == "say" and time.monotonic() < deadline:
            return
        words = HOLDER_WORDS.get(holder, "另一个 plugin-host 正在使用这个目录")
        raise HomeBusyError(f"{words}，没有执行任何操作。请先停止它，或用 --home 指定别的目录。")

    def _held_by(self) -> str:
        """The door that holds the home; it is written just behind the lock, until then it reads ``say``."""
        try:
            return self._holder.read_text(encoding="utf-8") or "say"
        except FileNotFoundError:
            return "say"
