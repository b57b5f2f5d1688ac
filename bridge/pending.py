"""The table of calls that wait for an answer: own echo to caller, per upstream link; it always drains."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from bridge.envelope import Envelope, is_stream_part
from bridge.link import Link, Parcel

CALLS_WAITING = 20_000
Failure = Literal["gone", "silent", "full"]


class Caller(Protocol):
    """Who waits for the answer of one call. ``linger``: seconds for which a late answer is still wanted."""

    linger: float

    def answered(self, frame: bytes, envelope: Envelope) -> None:
        """One answer frame came; stream actions bring several."""
        ...

    def failed(self, failure: Failure, *, written: bool) -> None:
        """No answer will be waited for any more; ``written`` tells whether the call may have left."""
        ...


@dataclass(slots=True, eq=False)
class PendingCall:
    """One open call; ``overdue`` after its limit, when only a late answer is listened for."""

    link: Link
    caller: Caller
    parcel: Parcel
    timeout: float
    timer: asyncio.TimerHandle
    overdue: bool = False


class PendingTable:
    """Open calls by own echo. Own echoes are short strings that no other run of the bridge uses."""

    def __init__(self) -> None:
        self._calls: dict[str, PendingCall] = {}
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._calls)

    def place(self, link: Link, build: Callable[[str], bytes], caller: Caller, timeout: float) -> None:
        """Send ``build(own echo)`` over the link and wait; the caller hears exactly one end (or a stream's parts)."""
        echo = f"{self._prefix}-{next(self._numbers)}"
        open_before = link.is_open
        parcel = link.offer(build(echo)) if len(self._calls) < CALLS_WAITING else None
        if parcel is None:
            caller.failed("full" if open_before else "gone", written=False)
            return
        timer = asyncio.get_running_loop().call_later(timeout, self._expire, echo)
        self._calls[echo] = PendingCall(link, caller, parcel, timeout, timer)

    def settle(self, link: Link, echo: str | None, frame: bytes, envelope: Envelope) -> bool:
        """Hand an answer to its caller; False when nobody waits for that echo on that link."""
        call = self._calls.get(echo) if echo is not None else None
        if echo is None or call is None or call.link is not link:
            return False
        call.timer.cancel()
        if is_stream_part(envelope) and not call.overdue:
            call.timer = asyncio.get_running_loop().call_later(call.timeout, self._expire, echo)
        else:
            del self._calls[echo]
        call.caller.answered(frame, envelope)
        return True

    def lose(self, link: Link) -> None:
        """The link is over: every call that waits on it fails now."""
        for echo in [echo for echo, call in self._calls.items() if call.link is link]:
            call = self._calls.pop(echo)
            call.timer.cancel()
            if not call.overdue:
                call.caller.failed("gone", written=not call.parcel.withdraw())

    def _expire(self, echo: str) -> None:
        call = self._calls.pop(echo, None)
        if call is None or call.overdue:
            return
        written = not call.parcel.withdraw()
        if written and call.caller.linger > 0:
            call.overdue = True
            call.timer = asyncio.get_running_loop().call_later(call.caller.linger, self._expire, echo)
            self._calls[echo] = call
        call.caller.failed("silent", written=written)
