"""One WebSocket, whichever library holds it: text frames as bytes, in and out."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol

from aiohttp import WSMsgType, web
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

CLOSE_LIMIT = 1.0
ABNORMAL = 1006


class Wire(Protocol):
    """A WebSocket that is past its handshake. ``ignored`` counts binary frames, which OneBot peers must not send."""

    ignored: int

    @property
    def is_open(self) -> bool:
        """False once either side began to close."""
        ...

    @property
    def close_code(self) -> int:
        """The code the link ended with; 1006 when the other side just vanished."""
        ...

    async def receive(self) -> bytes | None:
        """The next text frame, None when the link is over."""
        ...

    async def send(self, frame: bytes) -> None:
        """Write one text frame; raises OSError when the link is gone."""
        ...

    async def ping(self, timeout: float) -> bool:
        """True when the other side answers a ping within ``timeout`` seconds."""
        ...

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close politely for at most a second, then for good."""
        ...


class AcceptedWire:
    """A WebSocket that a peer opened to our aiohttp server (built with ``autoping=False``)."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request) -> None:
        self.socket = socket
        self._request = request
        self._pong = asyncio.Event()
        self.ignored = 0

    @property
    def is_open(self) -> bool:
        """False once either side began to close."""
        return not self.socket.closed and not self._gone

    @property
    def _gone(self) -> bool:
        transport = self._request.transport
        return transport is None or transport.is_closing()

    @property
    def close_code(self) -> int:
        """The code the link ended with."""
        return self.socket.close_code or ABNORMAL

    async def receive(self) -> bytes | None:
        """The next text frame, None when the link is over."""
        while True:
            message = await self.socket.receive()
            if message.type is WSMsgType.TEXT:
                text: str = message.data
                return text.encode()
            if message.type is WSMsgType.PING:
                await self.socket.pong(message.data)
            elif message.type is WSMsgType.PONG:
                self._pong.set()
            elif message.type is WSMsgType.BINARY:
                self.ignored += 1
            else:
                return None

    async def send(self, frame: bytes) -> None:
        """Write one text frame; raises OSError when the link is gone."""
        await self.socket.send_frame(frame, WSMsgType.TEXT)

    async def ping(self, timeout: float) -> bool:
        """True when the other side answers a ping within ``timeout`` seconds."""
        self._pong.clear()
        try:
            async with asyncio.timeout(timeout):
                await self.socket.ping()
                await self._pong.wait()
        except (TimeoutError, OSError):
            return False
        return True

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close politely for at most a second, then for good."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(CLOSE_LIMIT):
                await self.socket.close(code=code, message=reason.encode())
        if (transport := self._request.transport) is not None:
            transport.abort()


class DialledWire:
    """A WebSocket that we opened with the websockets client."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.ignored = 0

    @property
    def is_open(self) -> bool:
        """False once either side began to close."""
        return self._socket.state is State.OPEN

    @property
    def close_code(self) -> int:
        """The code the link ended with."""
        return self._socket.close_code or ABNORMAL

    async def receive(self) -> bytes | None:
        """The next text frame, None when the link is over."""
        try:
            while True:
                message = await self._socket.recv()
                if isinstance(message, str):
                    return message.encode()
                self.ignored += 1
        except ConnectionClosed:
            return None

    async def send(self, frame: bytes) -> None:
        """Write one text frame; raises OSError when the link is gone."""
        try:
            await self._socket.send(frame, text=True)
        except ConnectionClosed as error:
            raise ConnectionResetError(str(error)) from error

    async def ping(self, timeout: float) -> bool:
        """True when the other side answers a ping within ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await (await self._socket.ping())
        except (TimeoutError, ConnectionClosed):
            return False
        return True

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close politely for at most a second, then for good."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_LIMIT):
                await self._socket.close(code, reason)
        self._socket.transport.abort()
