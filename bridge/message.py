"""The message codec: OneBot 11 messages (CQ string or array) to tuples of Segment, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from plugin_host.values import Segment

CQ_CODE = re.compile(r"\[CQ:(?P<type>[A-Za-z0-9_.-]+)(?P<params>(?:,[A-Za-z0-9_.-]+=[^,\]]*)*),?\]")


def escape(text: str, *, comma: bool = False) -> str:
    """Escape plain text for a CQ string; ``comma`` is needed inside the parameters of a code."""
    text = text.replace("&", "&amp;").replace("[", "&#91;").replace("]", "&#93;")
    return text.replace(",", "&#44;") if comma else text


def unescape(text: str) -> str:
    """Undo ``escape`` exactly once (``&amp;`` last, so that ``&amp;#91;`` becomes ``&#91;``)."""
    return text.replace("&#44;", ",").replace("&#91;", "[").replace("&#93;", "]").replace("&amp;", "&")


def decode_message(message: object) -> tuple[Segment, ...]:
    """Read the ``message`` of an event: a CQ string, an array of segments or one segment object.

    Elements that are no segments are left out; scalar data values become strings, ``null`` values vanish.
    """
    if isinstance(message, str):
        return tuple(_segments_of_string(message))
    if isinstance(message, Mapping):
        message = [message]
    if not isinstance(message, list | tuple):
        return ()
    return tuple(segment for element in message if (segment := _segment_of(element)) is not None)


def encode_array(segments: Iterable[Segment]) -> list[dict[str, Any]]:
    """Segments as the array form; the only form in which the bridge sends, because its text is never parsed."""
    return [{"type": segment.type, "data": dict(segment.data)} for segment in segments]


def encode_string(segments: Iterable[Segment]) -> str:
    """Segments as a CQ string (``raw_message`` of events); nested values become JSON text."""
    return "".join(_code(segment) for segment in segments)


def plain_text(text: str) -> list[dict[str, Any]]:
    """A text as an array message that says exactly this text, whatever it looks like."""
    return [{"type": "text", "data": {"text": text}}]


def _segments_of_string(text: str) -> Iterator[Segment]:
    begin = 0
    for code in CQ_CODE.finditer(text):
        yield from _text(text[begin : code.start()])
        begin = code.end()
        yield Segment(code["type"], dict(_params(code["params"])))
    yield from _text(text[begin:])


def _text(escaped: str) -> Iterator[Segment]:
    if escaped:
        yield Segment.text(unescape(escaped))


def _params(params: str) -> Iterator[tuple[str, str]]:
    for pair in params.split(",")[1:]:
        key, _, value = pair.partition("=")
        yield key, unescape(value)


def _segment_of(element: object) -> Segment | None:
    if isinstance(element, str):
        return Segment.text(element)
    if not isinstance(element, Mapping) or not isinstance(element.get("type"), str):
        return None
    data = element.get("data")
    if not isinstance(data, Mapping):
        data = {}
    return Segment(element["type"], {str(key): _value(value) for key, value in data.items() if value is not None})


def _value(value: object) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return value


def _code(segment: Segment) -> str:
    if segment.type == "text":
        return escape(_string(segment.data.get("text", "")))
    params = "".join(f",{key}={escape(_string(value), comma=True)}" for key, value in segment.data.items())
    return f"[CQ:{segment.type}{params}]"


def _string(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
