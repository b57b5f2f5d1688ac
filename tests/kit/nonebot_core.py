"""A real dice core in its own process: NoneBot2, nonebot-adapter-onebot, nonebot-plugin-dnddicer."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from types import TracebackType

START = Path(__file__).with_name("nonebot_start.py")


class NoneBotCore:
    """Dials ``url`` (a ``/core`` of the bridge) and keeps its state in ``home``; ``output`` is its log so far."""

    def __init__(self, url: str, home: Path, token: str = "") -> None:
        self._url = url
        self._home = home
        self._token = token
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self.output = ""

    async def __aenter__(self) -> NoneBotCore:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.kill()

    async def start(self) -> None:
        """Start the process; that it has connected shows at the bridge."""
        self._home.mkdir(exist_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(START),
            cwd=self._home,
            env=self._environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        self._reading = asyncio.create_task(self._read(self._process))

    async def kill(self) -> None:
        """End it at once (it may ignore SIGTERM) and wait for its end."""
        if self._process is None or self._reading is None:
            return
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._reading
        self._process = None

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self.output += line.decode("utf-8", "replace")

    def _environment(self) -> dict[str, str]:
        own = {
            "DRIVER": "~websockets",
            "ONEBOT_WS_URLS": json.dumps([self._url]),
            "LOCALSTORE_USE_CWD": "true",
            "COMMAND_START": '[".", "/"]',
            "PYTHONUNBUFFERED": "1",
        }
        if self._token:
            own["ONEBOT_ACCESS_TOKEN"] = self._token
        kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        return {**kept, "HOME": str(self._home), **own}
