"""One live connection to a peer: a bounded, ordered queue of frames out, and a loop of frames in."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from loguru import logger

from bridge.wire import Wire

FRAMES_WAITING = 4096
BYTES_WAITING = 128 * 1024 * 1024
# A burst in one TCP segment is read without a pause; after this many frames the writers get their turn.
FRAMES_PER_TURN = 64


class Parcel:
    """One frame on its way out. ``written`` is True from the moment its bytes may have left."""

    __slots__ = ("frame", "withdrawn", "written")

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        self.written = False
        self.withdrawn = False

    def withdraw(self) -> bool:
        """Keep a frame from being written; False when it is too late for that."""
        self.withdrawn = not self.written
        return self.withdrawn


class Link:
    """A connection with its counters. Compare links by identity: names are for people only."""

    def __init__(self, wire: Wire, name: str, *, frames: int = FRAMES_WAITING, size: int = BYTES_WAITING) -> None:
        self.wire = wire
        self.name = name
        self.received = 0
        self.sent = 0
        self.dropped = 0
        self._frames = frames
        self._size = size
        self._waiting: deque[Parcel] = deque()
        self._waiting_bytes = 0
        self._wake = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """True while frames can be handed to it."""
        return self.wire.is_open

    def offer(self, frame: bytes) -> Parcel | None:
        """Queue a frame behind the others; None when the link is closed or full (then it is counted as dropped)."""
        full = len(self._waiting) >= self._frames or self._waiting_bytes + len(frame) > self._size
        if full or not self.wire.is_open:
            self.dropped += 1
            return None
        parcel = Parcel(frame)
        self._waiting.append(parcel)
        self._waiting_bytes += len(frame)
        self._wake.set()
        return parcel

    async def run(self, receive: Callable[[bytes], None]) -> None:
        """Move frames both ways until the link is over; ``receive`` gets each frame in order and must not block."""
        writer = asyncio.create_task(self._write(), name=f"write {self.name}")
        try:
            while (frame := await self.wire.receive()) is not None:
                self.received += 1
                self._take(receive, frame)
                if self.received % FRAMES_PER_TURN == 0:
                    await asyncio.sleep(0)
        finally:
            writer.cancel()
            with suppress(asyncio.CancelledError):
                await writer

    def _take(self, receive: Callable[[bytes], None], frame: bytes) -> None:
        try:
            receive(frame)
        except Exception:
            # One frame that nobody foresaw must not cost the link, which would bring it again.
            logger.exception("{}: a frame of {} bytes failed", self.name, len(frame))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End the link; takes at most about a second."""
        await self.wire.close(code, reason)

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                if not await self._write_one(self._waiting.popleft()):
                    return

    async def _write_one(self, parcel: Parcel) -> bool:
        self._waiting_bytes -= len(parcel.frame)
        if parcel.withdrawn:
            return True
        if not self.wire.is_open:
            return False
        parcel.written = True
        try:
            await self.wire.send(parcel.frame)
        except (OSError, RuntimeError) as error:
            logger.debug("{}: write failed: {}", self.name, error)
            return False
        self.sent += 1
        return True
