"""What tests of the bridge hold in their hands: the host's side, a core, and a running bridge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from bridge.bridge import Bridge
from bridge.timing import Timing
from plugin_host.values import Channel, Event

FAST = Timing(first_delay=0.02, longest_delay=0.3, heartbeat=30.0, hold=0.3, challenge=0.2, linger=5.0)


class HostSide:
    """What a host would see."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.channels: dict[str, Channel] = {}
        self.lost: list[str] = []
        self.late: list[tuple[str, Any]] = []
        self.changed = asyncio.Condition()
        self.handle: Callable[[Event], Awaitable[None]] | None = None

    async def on_event(self, event: Event) -> None:
        self.events.append(event)
        if self.handle is not None:
            await self.handle(event)
        await self.wake()

    def on_channel(self, channel: Channel) -> None:
        self.channels[channel.door] = channel
        self._task = asyncio.ensure_future(self.wake())

    def on_channel_lost(self, door: str) -> None:
        self.lost.append(door)
        del self.channels[door]
        self._task = asyncio.ensure_future(self.wake())

    def on_late(self, key: str, outcome: Any) -> None:
        self.late.append((key, outcome))
        self._task = asyncio.ensure_future(self.wake())

    async def wake(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def until(self, true: Callable[[], bool], timeout: float = 5.0) -> None:
        """Wait until something seen by the host makes ``true`` true."""
        async with asyncio.timeout(timeout), self.changed:
            await self.changed.wait_for(true)


class FakeCore:
    """A core on one WebSocket of the bridge."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def raw(self, timeout: float = 5.0) -> str:
        """The next frame as text."""
        async with asyncio.timeout(timeout):
            frame = await self.socket.recv()
        assert isinstance(frame, str)
        return frame

    async def frame(self, timeout: float = 5.0) -> Any:
        """The next frame, decoded."""
        return json.loads(await self.raw(timeout))

    async def call(self, action: str, echo: Any = "e", **params: Any) -> Any:
        """Call and return the next frame that is no event."""
        await self.socket.send(json.dumps({"action": action, "params": params, "echo": echo}))
        while "post_type" in (frame := await self.frame()):
            pass
        return frame


class Rig:
    """A started bridge with its host side."""

    def __init__(self, bridge: Bridge, host: HostSide, stack: AsyncExitStack) -> None:
        self.bridge = bridge
        self.host = host
        self._stack = stack

    def url(self, path: str) -> str:
        return f"ws://127.0.0.1:{self.bridge.port}{path}"

    async def core(self, path: str = "/core", *, greeted: bool = True, **headers: str) -> FakeCore:
        """Attach a core; waits for its lifecycle event unless told otherwise."""
        socket = await self._stack.enter_async_context(
            connect(self.url(path), additional_headers=headers, proxy=None, compression=None, close_timeout=0.2)
        )
        core = FakeCore(socket)
        if greeted:
            assert (await core.frame())["meta_event_type"] == "lifecycle"
        return core

    async def until(self, true: Callable[[dict[str, Any]], bool], timeout: float = 5.0) -> dict[str, Any]:
        """Poll the health until it fits."""
        async with asyncio.timeout(timeout):
            while True:
                health = self.bridge.health()
                if true(health):
                    return health
                await asyncio.sleep(0.005)


class MemoryWire:
    """A wire whose other side is this test."""

    ignored = 0
    close_code = 1000

    def __init__(self) -> None:
        self.is_open = True
        self.written: list[bytes] = []
        self.gate = asyncio.Event()
        self.ended = asyncio.Event()
        self.third = asyncio.Event()

    async def receive(self) -> bytes | None:
        await self.ended.wait()
        return None

    async def send(self, frame: bytes) -> None:
        await self.gate.wait()
        self.written.append(frame)
        if len(self.written) == 3:
            self.third.set()

    async def ping(self, timeout: float) -> bool:
        return True

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.is_open = False
        self.ended.set()
