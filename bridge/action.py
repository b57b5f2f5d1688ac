"""Actions on their way to a protocol end, and what their answers mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bridge.envelope import Envelope
from bridge.message import plain_text
from bridge.onebot import identifier
from plugin_host.values import Outcome, Segment

ID_FIELDS = frozenset({"user_id", "group_id", "message_id", "target_id", "operator_id", "self_id"})
MESSAGE_FIELDS = frozenset({"message", "messages", "content"})
# Ids above this are rounded by JavaScript peers when they travel as numbers, so they stay strings.
SAFE_INTEGER = 2**53 - 1
SLOW_WORDS = ("upload_", "download_", "forward", "_stream", "ocr_", "get_file", "get_record", "_history")


def encode_call(action: str, params: Mapping[str, Any], echo: str) -> bytes:
    """One call as a frame: ids become integers, every message becomes an array whose text is only text."""
    keep_message_id = action == "get_forward_msg"  # its id is an opaque string, though some vendors call it so
    body = {key: _wire_value(key, value, keep_message_id) for key, value in params.items()}
    frame = json.dumps({"action": action, "params": body, "echo": echo}, ensure_ascii=False, separators=(",", ":"))
    return frame.encode("utf-8", "replace")


def is_slow(action: str) -> bool:
    """True for actions that a protocol end may honestly need long for (transfers, merged forwards, history)."""
    return any(word in action for word in SLOW_WORDS)


def read_outcome(envelope: Envelope, frame: bytes) -> Outcome:
    """What an answer says about its action: sent (ok or async) or failed, with the message id as a string."""
    answer = _loaded(frame)
    data = answer.get("data")
    retcode = envelope.retcode if isinstance(envelope.retcode, int) else 0
    message_id = identifier(data.get("message_id")) if isinstance(data, dict) else None
    if _succeeded(envelope.status, retcode):
        return Outcome("sent", message_id=message_id, retcode=retcode, data=data)
    return Outcome("failed", retcode=retcode, error=_reason(answer), data=data)


def _loaded(frame: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(frame)
    except (ValueError, RecursionError):  # an answer that routing could read, with a value that Python cannot hold
        return {}
    return answer if isinstance(answer, dict) else {}


def _succeeded(status: object, retcode: int) -> bool:
    if status in ("ok", "async"):
        return True
    return status != "failed" and retcode in (0, 1)


def _reason(answer: Mapping[str, Any]) -> str:
    words = (answer.get(key) for key in ("wording", "message", "msg"))
    return next((word for word in words if isinstance(word, str) and word), "")


def _wire_value(key: str, value: Any, keep_message_id: bool) -> Any:
    if key in ID_FIELDS and isinstance(value, str) and not (key == "message_id" and keep_message_id):
        return _integer(value)
    if key in MESSAGE_FIELDS:
        return _wire_message(value)
    return value


def _integer(value: str) -> int | str:
    digits = value[1:] if value.startswith("-") else value
    if digits.isascii() and digits.isdigit() and int(digits) <= SAFE_INTEGER:
        return int(value)
    return value


def _wire_message(value: Any) -> Any:
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, Segment):
        value = [value]
    if not isinstance(value, list | tuple):
        return value
    return [_wire_segment(element) for element in value]


def _wire_segment(element: Any) -> Any:
    if isinstance(element, Segment):
        element = {"type": element.type, "data": dict(element.data)}
    if not isinstance(element, Mapping) or element.get("type") != "node":
        return element
    data = element.get("data")
    if not isinstance(data, Mapping) or "content" not in data:
        return element
    return {**element, "data": {**data, "content": _wire_message(data["content"])}}
