"""``python -m bridge``: it serves, it stops when told, and it says what is wrong."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.kit.protocol_end import ProtocolEnd

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def bridge(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AIPLUGIN4_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bridge", *arguments, cwd=ROOT, env=environ,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
async def test_it_serves_and_stops_cleanly(tmp_path: Path, signal_number: signal.Signals) -> None:
    port = free_port()
    async with ProtocolEnd() as end:
        config = f'bridge: {{listen: "127.0.0.1:{port}", protocol: [{{url: "{end.url}"}}]}}\n'
        (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
        async with bridge("--home", str(tmp_path)) as process:
            await end.wait_connected(timeout=20)
            url = f"http://127.0.0.1:{port}/healthz"
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                assert (await response.json())["upstream"]
            began = time.monotonic()
            process.send_signal(signal_number)
            assert await asyncio.wait_for(process.wait(), 5) == 0
            assert time.monotonic() - began < 3


async def test_a_wrong_configuration_is_told_and_ends_with_one(tmp_path: Path) -> None:
    config = tmp_path / "other.yaml"
    config.write_text("bridge: {listen: '0.0.0.0:0'}\n", encoding="utf-8")
    async with bridge("-c", str(config)) as process:
        _, errors = await asyncio.wait_for(process.communicate(), 20)
        assert process.returncode == 1
        assert "bridge.tokens.ob11" in errors.decode()
        assert "Traceback" not in errors.decode()


async def test_a_taken_address_is_told_and_ends_with_one(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = tmp_path / "config.yaml"
        config.write_text(f"bridge: {{listen: '127.0.0.1:{taken.getsockname()[1]}'}}\n", encoding="utf-8")
        async with bridge("-c", str(config)) as process:
            _, errors = await asyncio.wait_for(process.communicate(), 20)
            assert process.returncode == 1
            assert "Traceback" not in errors.decode()
