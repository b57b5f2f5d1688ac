"""The plugin host as a peer in the same process: its event feed, its calls, its channel per account."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from loguru import logger

from bridge.account import Account
from bridge.action import encode_call, read_outcome
from bridge.envelope import Envelope
from bridge.onebot import Listener, read_event
from bridge.pending import Failure, PendingTable
from bridge.sent import note_sent
from plugin_host.values import Action, Event, Outcome

EVENTS_WAITING = 10_000
GONE_BEFORE = "link closed before write"
GONE_AFTER = "link lost after the action was written"

OnEvent = Callable[[Event], Awaitable[None]]
OnLate = Callable[[str, Outcome], None]


class EventFeed:
    """Event frames of one upstream link on their way to the host, in order, never in the way of the relay."""

    def __init__(self, on_event: OnEvent | None, names: tuple[str, ...], counts: Counter[str]) -> None:
        self._on_event = on_event
        self._names = names
        self._counts = counts
        self._frames: deque[tuple[bytes, Account, float]] = deque()
        self._wake = asyncio.Event()
        self._closed = False

    def offer(self, frame: bytes, account: Account, now: float) -> None:
        """Queue one event; over the limit it is dropped and counted. Without a host nothing is kept."""
        if self._on_event is None:
            return
        if len(self._frames) >= EVENTS_WAITING:
            self._counts["host_events_dropped"] += 1
            return
        self._frames.append((frame, account, now))
        self._wake.set()

    def close(self) -> None:
        """The link is over: what waits is still handed over, then the feed ends."""
        self._closed = True
        self._wake.set()

    async def run(self) -> None:
        """Hand events over one after another; an event that fails is logged and the next one goes on."""
        while self._frames or not self._closed:
            await self._wake.wait()
            self._wake.clear()
            while self._frames:
                await self._hand_over(*self._frames.popleft())

    async def _hand_over(self, frame: bytes, account: Account, now: float) -> None:
        try:
            event = read_event(frame, Listener(self._names, account.own_messages), now)
            if event is not None and event.kind != "meta" and self._on_event is not None:
                await self._on_event(event)
        except Exception:
            self._counts["host_events_failed"] += 1
            logger.exception("the host failed on an event")


class HostCall:
    """A call of the host that waits upstream (a Caller of the pending table)."""

    def __init__(self, account: Account, action: str, *, linger: float = 0.0, on_late: OnLate | None = None) -> None:
        self.linger = linger if on_late else 0.0
        self.key = ""
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._account = account
        self._action = action
        self._on_late = on_late

    def answered(self, frame: bytes, envelope: Envelope) -> None:
        """Take the answer; one that comes after the time limit goes to ``on_late``."""
        note_sent(self._account, self._action, envelope)
        outcome = read_outcome(envelope, frame)
        if not self.outcome.done():
            self.outcome.set_result(outcome)
        elif self._on_late is not None and self.key:
            self._on_late(self.key, outcome)

    def failed(self, failure: Failure, *, written: bool) -> None:
        """No answer: unknown when the action may have left, failed when it did not."""
        if self.outcome.done():
            return
        if written:
            error = GONE_AFTER if failure == "gone" else "no answer in time"
            self.outcome.set_result(Outcome("unknown", error=error))
            return
        error = {"gone": GONE_BEFORE, "silent": "not written in time", "full": "too much is waiting"}[failure]
        self.outcome.set_result(Outcome("failed", error=error))


class AccountChannel:
    """The way out of one account (a ``Channel`` of the host)."""

    def __init__(self, account: Account, pending: PendingTable, linger: float, on_late: OnLate | None) -> None:
        self._account = account
        self._pending = pending
        self._linger = linger
        self._on_late = on_late

    @property
    def door(self) -> str:
        """``<platform>:<self_id>``, as events and rows carry it."""
        return self._account.door

    async def send(self, action: Action, timeout: float) -> Outcome:
        """Write the action once and wait at most ``timeout`` seconds for its answer; never sent twice."""
        call = HostCall(self._account, action.action, linger=self._linger, on_late=self._on_late)
        call.key = action.key
        return await place_call(self._pending, self._account, action.action, action.params, call, timeout)


async def place_call(
    pending: PendingTable, account: Account, action: str, params: Mapping[str, Any], call: HostCall, timeout: float
) -> Outcome:
    """Send one action over the account's link and wait for what becomes of it."""
    link = account.actor()
    if link is None:
        return Outcome("failed", error=GONE_BEFORE)
    pending.place(link, lambda echo: encode_call(action, params, echo), call, timeout)
    return await call.outcome
