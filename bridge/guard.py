"""The guard against frames that would end a core's link: an event cut to a placeholder."""

from __future__ import annotations

import json

from bridge.message import plain_text

PLACEHOLDER = "[消息过大，已省略]"


def shortened(frame: bytes) -> bytes:
    """The event with its message replaced by a placeholder text and without a vendor's debug copy."""
    event = json.loads(frame)
    string = isinstance(event.get("message"), str)
    event["message"] = PLACEHOLDER if string else plain_text(PLACEHOLDER)
    event["raw_message"] = PLACEHOLDER
    event.pop("raw", None)
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
