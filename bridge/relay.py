"""The middle of the bridge: which frame goes where. Bytes pass unchanged but for the echo.

Everything here runs on the event loop and blocks on nothing; links queue what they cannot write at once. A later
interception of core traffic (injected commands, captured replies) has its place in ``_call_upstream``, between the
frame of a core and the link of a protocol end.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import partial

import msgspec

from bridge.account import Account, Accounts, Upstream
from bridge.action import is_slow
from bridge.answer import BAD_CALL, BUSY, GONE, LOCAL_ACTIONS, TOKEN_REFUSALS, local_data
from bridge.core import Core, CoreCall
from bridge.envelope import Envelope, open_envelope, text_of, with_echo
from bridge.host import EventFeed
from bridge.onebot import identifier
from bridge.pending import PendingTable
from bridge.timing import Timing
from plugin_host.config.bridge import BridgeSettings

# Meta events that every core gets from us instead, whether or not a protocol end is there.
OWN_META = frozenset({"lifecycle", "heartbeat"})


class Relay:
    """Routes frames between protocol ends, cores and the host."""

    def __init__(self, settings: BridgeSettings, timing: Timing) -> None:
        self.accounts = Accounts()
        self.cores: list[Core] = []
        self.pending = PendingTable()
        self.counts: Counter[str] = Counter()
        self._settings = settings
        self._timing = timing

    def from_upstream(self, link: Upstream, feed: EventFeed, frame: bytes) -> None:
        """One frame of a protocol end: an event for cores and host, or the answer to a call."""
        envelope = open_envelope(frame)
        if envelope is None:
            self.counts["bad_frames"] += 1
        elif envelope.is_event:
            self._event(link, feed, frame, envelope)
        elif not self.pending.settle(link, text_of(envelope.echo), frame, envelope):
            self._unclaimed(link, envelope)

    def from_core(self, core: Core, frame: bytes) -> None:
        """One frame of a core: a call, which gets exactly one answer when it carries an action."""
        envelope = open_envelope(frame)
        if envelope is None:
            self.counts["bad_frames"] += 1
        elif core.role == "event":
            self.counts["calls_on_event_links"] += 1
        elif isinstance(envelope.action, str):
            self._call(core, frame, envelope)
        elif bytes(envelope.echo):
            core.refuse(BAD_CALL, "缺少 action", envelope.echo)
        else:
            self.counts["frames_without_action"] += 1

    def _event(self, link: Upstream, feed: EventFeed, frame: bytes, envelope: Envelope) -> None:
        account = link.account
        link.healthy = True
        if account is None:  # links are bound before their events come here, unless an event does not say whose it is
            self.counts["events_without_account"] += 1
            return
        if envelope.post_type == "meta_event" and envelope.meta_event_type in OWN_META:
            _note_health(link, account, envelope)
            return
        if self._is_old(envelope) or not self._is_new(account, frame, envelope):
            return
        is_own = _is_own(envelope)
        if envelope.post_type == "message_sent":
            account.own_messages.add(str(envelope.message_id))
        for core in self.cores:
            if core.takes_event(account, is_own):
                core.tell(frame)
        if not is_own:
            feed.offer(frame, account, time.time())

    def _is_old(self, envelope: Envelope) -> bool:
        limit, sent = self._settings.max_event_age, envelope.time
        if not limit or not isinstance(sent, int | float) or time.time() - sent <= limit:
            return False
        self.counts["events_too_old"] += 1
        return True

    def _is_new(self, account: Account, frame: bytes, envelope: Envelope) -> bool:
        if account.is_new(frame, envelope):
            return True
        self.counts["events_twice"] += 1
        return False

    def _unclaimed(self, link: Upstream, envelope: Envelope) -> None:
        if envelope.retcode in TOKEN_REFUSALS and not link.healthy:
            link.refused = True
        else:
            self.counts["answers_unclaimed"] += 1

    def limit(self, action: str) -> float:
        """Seconds to wait for the answer to an action."""
        limit = self._settings.action_timeout
        return max(limit, self._timing.slow_action) if is_slow(action) else limit

    def _call(self, core: Core, frame: bytes, envelope: Envelope) -> None:
        name, account = _base_name(envelope.action), core.account
        link = account.actor() if account is not None else None
        if account is not None and link is not None:
            self._call_upstream(core, frame, envelope, account, link)
        elif name not in LOCAL_ACTIONS:
            core.refuse(GONE, "协议端未连接", envelope.echo)
        elif account is not None:
            core.succeed(local_data(account, name), envelope.echo)
        elif not core.hold(partial(self._resume, core, frame, envelope)):
            core.refuse(BUSY, "等待账号的请求过多", envelope.echo)

    def _resume(self, core: Core, frame: bytes, envelope: Envelope) -> None:
        if core.account is None:
            core.refuse(GONE, "还不知道机器人账号", envelope.echo)
        else:
            self._call(core, frame, envelope)

    def _call_upstream(self, core: Core, frame: bytes, envelope: Envelope, account: Account, link: Upstream) -> None:
        call = CoreCall(core, account, envelope.action, envelope.echo)
        self.pending.place(
            link, lambda echo: with_echo(frame, msgspec.Raw(f'"{echo}"'.encode())), call, self.limit(envelope.action)
        )


def _base_name(action: str) -> str:
    return action.removesuffix("_async").removesuffix("_rate_limited")


def _is_own(envelope: Envelope) -> bool:
    if envelope.post_type == "message_sent":
        return True
    author = identifier(envelope.user_id)
    return envelope.post_type == "message" and author is not None and author == identifier(envelope.self_id)


def _note_health(link: Upstream, account: Account, envelope: Envelope) -> None:
    if envelope.meta_event_type != "heartbeat":
        return
    if isinstance(envelope.status, dict):
        account.online = envelope.status.get("online") is not False
    if isinstance(envelope.interval, int | float):
        link.note_heartbeat(envelope.interval / 1000)
