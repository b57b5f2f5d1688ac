"""Which messages are the bot's own: the ids that answers to sending actions bring."""

from __future__ import annotations

from typing import Any

import msgspec

from bridge.account import Account
from bridge.envelope import Envelope
from bridge.onebot import identifier


class _Sent(msgspec.Struct):
    message_id: Any = None


_SENT = msgspec.json.Decoder(_Sent)


def note_sent(account: Account, action: str, envelope: Envelope) -> None:
    """Remember the message id of an answer to a ``send_*`` action, so that replies to it count as addressed."""
    if not action.startswith("send_") or not bytes(envelope.data):
        return
    try:
        message_id = identifier(_SENT.decode(envelope.data).message_id)
    except msgspec.MsgspecError:
        return
    if message_id is not None:
        account.own_messages.add(message_id)
