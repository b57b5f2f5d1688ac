"""The event frames and segments of the fake protocol end, written without any code of the bridge."""

from __future__ import annotations

from typing import Any

Message = str | list[dict[str, Any]]


def text(words: str) -> dict[str, Any]:
    """A text segment."""
    return {"type": "text", "data": {"text": words}}


def at(user: str | int) -> dict[str, Any]:
    """An at segment."""
    return {"type": "at", "data": {"qq": str(user)}}


def reply(message_id: str | int) -> dict[str, Any]:
    """A reply segment."""
    return {"type": "reply", "data": {"id": str(message_id)}}


def array(message: Message) -> list[dict[str, Any]]:
    """A message as segments; a str is one text segment."""
    return [text(message)] if isinstance(message, str) else message


def cq(segments: list[dict[str, Any]]) -> str:
    """Segments as the CQ string of ``raw_message``."""
    return "".join(_code(segment) for segment in segments)


def message_event(self_id: str, user_id: str, message: Message, **fields: Any) -> dict[str, Any]:
    """A message event with every field of the standard; ``fields`` adds or replaces some."""
    segments = array(message)
    return {
        "self_id": int(self_id),
        "user_id": int(user_id),
        "post_type": "message",
        "message": segments,
        "message_format": "array",
        "raw_message": cq(segments),
        "font": 14,
        **fields,
    }


def _code(segment: dict[str, Any]) -> str:
    if segment["type"] == "text":
        return _escape(str(segment["data"]["text"]))
    params = "".join(f",{key}={_escape(str(value)).replace(',', '&#44;')}" for key, value in segment["data"].items())
    return f"[CQ:{segment['type']}{params}]"


def _escape(words: str) -> str:
    return words.replace("&", "&amp;").replace("[", "&#91;").replace("]", "&#93;")
