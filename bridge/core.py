"""A dice core that is attached to us: its link, whose account it serves, and its open calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from loguru import logger

from bridge.account import Account, Role
from bridge.answer import BUSY, GONE, SILENT, failed_answer, heartbeat, lifecycle, ok_answer
from bridge.envelope import ABSENT, Envelope, with_echo
from bridge.guard import shortened
from bridge.link import Link
from bridge.pending import Failure
from bridge.sent import note_sent
from bridge.timing import Timing
from bridge.wire import Wire
from plugin_host.config.bridge import CoreEntry

REASONS: dict[Failure, tuple[int, str]] = {
    "gone": (GONE, "协议端未连接"),
    "silent": (SILENT, "协议端没有在时限内回答"),
    "full": (BUSY, "等待发送的内容过多"),
}

HELD_LIMIT = 64


class Core(Link):
    """One core link. ``account`` is None until an account is known; then ``greet`` wakes the core."""

    def __init__(self, wire: Wire, name: str, entry: CoreEntry, role: Role, timing: Timing) -> None:
        super().__init__(wire, name)
        self.entry = entry
        self.role: Role = role
        self.account: Account | None = None
        self.guarded = 0
        self._timing = timing
        self._held: list[Callable[[], None]] = []

    def greet(self, account: Account) -> None:
        """Bind the link to its account: lifecycle first, then the questions that were held back."""
        self.account = account
        if self.role != "api":
            self.offer(lifecycle(account.self_id))
        held, self._held = self._held, []
        for resume in held:
            resume()

    def hold(self, resume: Callable[[], None]) -> bool:
        """Call ``resume`` once the account is known, or in vain after a while; False when too much is held already."""
        if len(self._held) >= HELD_LIMIT:
            return False
        self._held.append(resume)
        asyncio.get_running_loop().call_later(self._timing.hold, self._give_up, resume)
        return True

    def _give_up(self, resume: Callable[[], None]) -> None:
        if resume in self._held:
            self._held.remove(resume)
            resume()

    async def beat(self) -> None:
        """Send heartbeats for as long as the link lives."""
        while True:
            await asyncio.sleep(self._timing.heartbeat)
            if self.account is not None and self.role != "api":
                online = self.account.online and self.account.actor() is not None
                self.offer(heartbeat(self.account.self_id, online, self._timing.heartbeat))

    def takes_event(self, account: Account, is_own: bool) -> bool:
        """True when events of that account are to be relayed here."""
        if self.account is not account or self.role == "api" or self.entry.events == "drop":
            return False
        return not (is_own and self.entry.self_messages == "drop")

    def tell(self, frame: bytes) -> None:
        """Relay one event; one that is too big for this core is shortened, so that it does not end the link."""
        if len(frame) <= self.entry.frame_limit:
            self.offer(frame)
            return
        self.guarded += 1
        if self.guarded == 1:
            logger.warning("{}: a frame of {} bytes is over the core's limit and was cut", self.name, len(frame))
        short = shortened(frame)
        if len(short) <= self.entry.frame_limit:
            self.offer(short)

    def answer(self, frame: bytes, echo: msgspec.Raw) -> None:
        """Deliver an answer of the protocol end under the core's own echo."""
        restored = with_echo(frame, echo)
        if len(restored) > self.entry.frame_limit:
            self.guarded += 1
            restored = failed_answer(BUSY, "回答超过核心的帧上限", bytes(echo))
        self.offer(restored)

    def succeed(self, data: bytes, echo: msgspec.Raw) -> None:
        """Answer a call from what we know, a moment later."""
        self._later(ok_answer(data, bytes(echo)))

    def refuse(self, retcode: int, message: str, echo: msgspec.Raw) -> None:
        """Answer a call with a failure of our own, a moment later."""
        self._later(failed_answer(retcode, message, bytes(echo)))

    def _later(self, frame: bytes) -> None:
        asyncio.get_running_loop().call_later(self._timing.local_delay, self.offer, frame)


class CoreCall:
    """A call of a core that waits upstream (a Caller of the pending table)."""

    linger = 0.0

    def __init__(self, core: Core, account: Account, action: str, echo: msgspec.Raw) -> None:
        self._core = core
        self._account = account
        self._action = action
        self._echo = echo.copy() if bytes(echo) else ABSENT

    def answered(self, frame: bytes, envelope: Envelope) -> None:
        """Hand the answer on with the echo the core gave."""
        note_sent(self._account, self._action, envelope)
        self._core.answer(frame, self._echo)

    def failed(self, failure: Failure, *, written: bool) -> None:
        """Tell the core at once, so that it does not wait for ever."""
        self._core.refuse(*REASONS[failure], self._echo)
