"""Media data inside frames: what is too long to be kept becomes a reference."""

from __future__ import annotations

import hashlib
from typing import Any

from bridge.message import decode_message, encode_array, encode_string
from plugin_host.values import Segment

MEDIA_LIMIT = 64 * 1024


def without_long_media(document: dict[str, Any]) -> dict[str, Any]:
    """The event with every media value above 64 KiB replaced by ``omitted:sha256:<hex>:<length>``.

    Returns the document itself when nothing is too long. The form of ``message`` (string or array) is kept.
    """
    segments = decode_message(document.get("message"))
    shortened = tuple(_shortened(segment) for segment in segments)
    if shortened == segments:
        return document
    string = encode_string(shortened)
    message: Any = string if isinstance(document.get("message"), str) else encode_array(shortened)
    changed = {**document, "message": message}
    changed.pop("raw", None)  # a vendor's debug copy of the same media
    if "raw_message" in document:
        changed["raw_message"] = string
    return changed


def _shortened(segment: Segment) -> Segment:
    if segment.type == "text" or not any(_is_long(value) for value in segment.data.values()):
        return segment
    return Segment(segment.type, {key: _reference(value) for key, value in segment.data.items()})


def _reference(value: Any) -> Any:
    if not _is_long(value):
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"omitted:sha256:{digest}:{len(value)}"


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > MEDIA_LIMIT
