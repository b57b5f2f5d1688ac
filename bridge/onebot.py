"""Event frames of OneBot 11 to ``Event`` values: ids as strings, the key, the session, who is addressed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, cast

from bridge.media import MEDIA_LIMIT, without_long_media
from bridge.message import decode_message
from plugin_host.values import Event, EventKind, Role, Segment, Sender

PLATFORM = "QQ"
KINDS: Mapping[str, EventKind] = {"message": "message", "notice": "notice", "request": "request", "meta_event": "meta"}
ROLES = frozenset({"owner", "admin", "member"})
# What makes two notices or requests the same one. Vendors add keys freely, so unknown ones cannot take part.
KEY_FIELDS = (
    "comment", "duration", "file", "flag", "group_id", "honor_type", "message_id", "meta_event_type", "notice_type",
    "operator_id", "post_type", "request_type", "sender_id", "sub_type", "target_id", "title", "user_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Listener:
    """What decides whether a message is meant for the bot: its names, and the ids of its own recent messages."""

    names: tuple[str, ...] = ()
    own_messages: Container[str] = frozenset()


def read_event(frame: bytes, listener: Listener, now: float) -> Event | None:
    """Decode one event frame; None when it is no event, is malformed, or is a message of the bot itself.

    ``now`` (unix seconds) stands in when the frame carries no time. Unknown notice types and fields pass.
    """
    document = _document(frame)
    kind = KINDS.get(str(document.get("post_type")))
    if kind is None or _is_own(document, kind):
        return None
    kept = frame
    if len(frame) > MEDIA_LIMIT:
        short = without_long_media(document)
        kept = frame if short is document else json.dumps(short, ensure_ascii=False).encode()
        document = short
    if kind == "message":
        return _message(document, kept, listener, now)
    return _other(document, kind, kept, now)


def identifier(value: object) -> str | None:
    """An id of the wire (integer, or string of some vendors) as the host's string; None when there is none."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return str(value).strip() or None


def _document(frame: bytes) -> dict[str, Any]:
    try:
        document = json.loads(frame)
    except (ValueError, RecursionError):
        return {}
    if b"\\ud" in frame or b"\\uD" in frame:
        document = _printable(document)
    return document if isinstance(document, dict) else {}


def _printable(value: Any) -> Any:
    # JSON may hold half a surrogate pair; as a str it could be neither stored nor sent.
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return value


def _is_own(document: Mapping[str, Any], kind: EventKind) -> bool:
    author = identifier(document.get("user_id"))
    return kind == "message" and (author is None or author == identifier(document.get("self_id")))


def _message(document: dict[str, Any], frame: bytes, listener: Listener, now: float) -> Event | None:
    group, user = identifier(document.get("group_id")), identifier(document.get("user_id"))
    private = document.get("message_type") == "private"
    if not private and (document.get("message_type") != "group" or group is None):
        return None
    self_id = identifier(document.get("self_id")) or ""
    session = f"private:{user}" if private else f"group:{group}"
    message_id = identifier(document.get("message_id"))
    segments = decode_message(document.get("message"))
    return Event(
        key=f"{PLATFORM}:{self_id}:{session}:{message_id or _digest(document)}:{_key_time(document)}",
        kind="message",
        session=session,
        platform=PLATFORM,
        self_id=self_id,
        user_id=user,
        sender=_sender(document.get("sender")),
        message_id=message_id,
        segments=segments,
        text=_text(segments),
        time=_time(document, now),
        addressed=private or _is_addressed(segments, self_id, listener),
        raw=frame,
        door=f"{PLATFORM}:{self_id}",
        detail=_message_detail(document, private),
    )


def _other(document: dict[str, Any], kind: EventKind, frame: bytes, now: float) -> Event:
    self_id = identifier(document.get("self_id")) or ""
    session = _session(document, self_id)
    return Event(
        key=f"{PLATFORM}:{self_id}:{session}:{_digest(document)}:{_key_time(document)}",
        kind=kind,
        session=session,
        platform=PLATFORM,
        self_id=self_id,
        user_id=identifier(document.get("user_id")),
        sender=_sender(document.get("sender")),
        message_id=identifier(document.get("message_id")),
        time=_time(document, now),
        raw=frame,
        door=f"{PLATFORM}:{self_id}",
        detail={key: _detail_value(key, value) for key, value in document.items() if key != "raw"},
    )


def _session(document: Mapping[str, Any], self_id: str) -> str:
    group = identifier(document.get("group_id"))
    if group not in (None, "0"):
        return f"group:{group}"
    return f"private:{identifier(document.get('user_id')) or self_id}"


def _sender(sender: object) -> Sender:
    if not isinstance(sender, Mapping):
        return Sender()
    role = sender.get("role")
    return Sender(
        name=_word(sender.get("nickname")),
        card=_word(sender.get("card")),
        role=cast(Role, role) if role in ROLES else "member",
        title=_word(sender.get("title")),
    )


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _text(segments: tuple[Segment, ...]) -> str:
    """The text segments joined, without white space at the ends; only text can be a command."""
    return "".join(str(s.data.get("text", "")) for s in segments if s.type == "text").strip()


def _is_addressed(segments: tuple[Segment, ...], self_id: str, listener: Listener) -> bool:
    for segment in segments:
        if segment.type == "at" and str(segment.data.get("qq")) == self_id:
            return True
        if segment.type == "reply" and str(segment.data.get("id")) in listener.own_messages:
            return True
    text = _text(segments)
    return any(name and text.startswith(name) for name in listener.names)


def _message_detail(document: Mapping[str, Any], private: bool) -> dict[str, Any]:
    detail = {key: document[key] for key in ("message_type", "sub_type", "anonymous") if document.get(key) is not None}
    sender = document.get("sender")
    inner = sender.get("group_id") if isinstance(sender, Mapping) else None
    group = identifier(document.get("group_id")) or identifier(inner)
    if private and group:
        detail["temp_group"] = group  # a temporary session: the group through which this person may be answered
    return detail


def _detail_value(key: str, value: Any) -> Any:
    return identifier(value) if key.endswith("_id") and isinstance(value, int) else value


def _digest(document: Mapping[str, Any]) -> str:
    fields = {key: _detail_value(key, document[key]) for key in KEY_FIELDS if document.get(key) is not None}
    if "message" in document:
        fields["message"] = document["message"]
    body = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _key_time(document: Mapping[str, Any]) -> int:
    return int(_time(document, 0))


def _time(document: Mapping[str, Any], default: float) -> float:
    value = document.get("time")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return default
    return float(value)
