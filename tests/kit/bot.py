"""A real ``plugin-host run`` in a child process, with a home of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
READY = re.compile(r"ready on port (\d+)")


class Bot:
    """One home and the processes that run it one after another."""

    def __init__(self, home: Path, config: dict[str, Any]) -> None:
        self.home = home
        self.log: list[str] = []
        self.port = 0
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        home.mkdir(parents=True, exist_ok=True)
        # JSON is YAML: no quoting rules to get wrong.
        (home / "config.yaml").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")

    async def __aenter__(self) -> Bot:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def start(self, timeout: float = 20.0, *, dies: bool = False) -> None:
        """Start the process and wait until it is ready; with ``dies`` it may end before that."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "plugin_host", "run", "--home", str(self.home),
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=child_environment(),
        )  # fmt: skip
        ready = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(ready))
        async with asyncio.timeout(timeout):
            await asyncio.wait({ready})
        if ready.exception() is None:
            self.port = ready.result()
        elif not dies:
            ready.result()

    async def kill(self) -> None:
        """SIGKILL, as a power cut does."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self.ended()

    async def stop(self, timeout: float = 5.0) -> int:
        """SIGTERM, as Ctrl-C does; returns the exit code. Raises TimeoutError when it does not stop in time."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(timeout):
            return await self.ended()

    async def ended(self) -> int:
        """Wait for the process to end; returns its exit code."""
        if self._process is None:
            return 0
        code = await self._process.wait()
        if self._reader is not None:
            await self._reader
        return code

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Query the store of the home."""
        with sqlite3.connect(self.home / "data" / "host.db") as connection:
            found = connection.execute(sql).fetchall()
        connection.close()
        return found

    async def _read(self, ready: asyncio.Future[int]) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            text = line.decode("utf-8", "replace").rstrip()
            self.log.append(text)
            if (found := READY.search(text)) and not ready.done():
                ready.set_result(int(found.group(1)))
        if not ready.done():
            ready.set_exception(RuntimeError("the bot did not start:\n" + "\n".join(self.log[-30:])))


def child_environment() -> dict[str, str]:
    """The environment of a child: ours, UTF-8, no proxies."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "PYTHONUTF8": "1"}


async def cli(home: Path, *arguments: str, stdin: str = "", timeout: float = 60.0) -> tuple[int, str, str]:
    """Run ``plugin-host`` with arguments; returns (exit code, stdout, stderr)."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "plugin_host", *arguments, "--home", str(home),
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=child_environment(),
    )  # fmt: skip
    async with asyncio.timeout(timeout):
        out, err = await process.communicate(stdin.encode())
    return process.returncode or 0, out.decode(), err.decode()


async def cli_json(home: Path, *arguments: str) -> list[dict[str, Any]]:
    """The JSON objects that a ``--json`` command prints, one per line."""
    _, out, _ = await cli(home, *arguments, "--json")
    return [json.loads(line) for line in out.splitlines() if line.strip()]
