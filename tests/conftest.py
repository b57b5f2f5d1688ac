"""Fixtures for every test: asyncio only, no way out of this machine, the log as a list, an empty home."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

LOCAL_NAMES = frozenset({"", "localhost", "0.0.0.0", "::"})


class OutsideConnectionError(AssertionError):
    """A test tried to reach another machine."""


def _is_local(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host or "")
    if name in LOCAL_NAMES or name == socket.gethostname():
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_outside_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuses every connection and look-up that leaves this machine, and fails the test even if it caught that."""
    attempts: list[str] = []

    def refuse_outside(host: Any) -> None:
        if not _is_local(host):
            attempts.append(str(host))
            raise OutsideConnectionError(f"a test tried to reach {host}")

    def guarded(original: Any) -> Any:
        def connect(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                refuse_outside(address[0])
            return original(self, address)

        return connect

    lookup = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_outside(host)
        return lookup(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield
    if attempts:
        pytest.fail(f"the test tried to reach {', '.join(attempts)}", pytrace=False)


@pytest.fixture
def logs() -> Iterator[list[str]]:
    """Each line logged during the test, as ``LEVEL message`` (a traceback follows on further lines)."""
    lines: list[str] = []
    sink = logger.add(lambda message: lines.append(str(message).rstrip("\n")), format="{level} {message}", level=0)
    yield lines
    logger.remove(sink)


@pytest.fixture
def tmp_home(tmp_path: Path) -> Path:
    """An empty home of a bot."""
    home = tmp_path / "home"
    home.mkdir()
    return home
