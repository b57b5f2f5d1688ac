"""What we ask a protocol end about itself when a link opens; cores get these answers while it is away."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec

from bridge.account import Upstream
from bridge.action import encode_call
from bridge.answer import TOKEN_REFUSALS
from bridge.envelope import Envelope
from bridge.onebot import identifier
from bridge.pending import Failure, PendingTable


@dataclass(frozen=True, slots=True)
class Login:
    """The account behind a link, and the JSON ``data`` with which the end described it."""

    self_id: str
    data: bytes


class Question:
    """A call of the bridge itself (a Caller of the pending table)."""

    linger = 0.0

    def __init__(self) -> None:
        self.answer: asyncio.Future[Envelope | None] = asyncio.get_running_loop().create_future()

    def answered(self, frame: bytes, envelope: Envelope) -> None:
        """Take the answer."""
        if not self.answer.done():
            self.answer.set_result(envelope)

    def failed(self, failure: Failure, *, written: bool) -> None:
        """There will be no answer."""
        if not self.answer.done():
            self.answer.set_result(None)


async def ask_login(pending: PendingTable, link: Upstream, timeout: float) -> Login | None:
    """Ask who the end is; None when it does not say. A refused token is noted on the link."""
    envelope = await _ask(pending, link, "get_login_info", timeout)
    if envelope is None:
        return None
    if envelope.retcode in TOKEN_REFUSALS and not link.healthy:
        link.refused = True
    self_id = _user_id(envelope)
    return Login(self_id, bytes(envelope.data)) if self_id else None


async def ask_version(pending: PendingTable, link: Upstream, timeout: float) -> bytes | None:
    """The JSON ``data`` of get_version_info, None when the end does not say."""
    envelope = await _ask(pending, link, "get_version_info", timeout)
    if envelope is None or envelope.retcode != 0 or not bytes(envelope.data):
        return None
    return bytes(envelope.data)


async def _ask(pending: PendingTable, link: Upstream, action: str, timeout: float) -> Envelope | None:
    question = Question()
    pending.place(link, lambda echo: encode_call(action, {}, echo), question, timeout)
    return await question.answer


def _user_id(envelope: Envelope) -> str | None:
    try:
        data = msgspec.json.decode(envelope.data)
    except msgspec.MsgspecError:
        return None
    return identifier(data.get("user_id")) if isinstance(data, dict) else None
