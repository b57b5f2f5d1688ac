"""The small typed view of a frame that routing needs; everything else stays undecoded bytes."""

from __future__ import annotations

import re
from typing import Any

import msgspec

ABSENT = msgspec.Raw(b"")
NULL = b"null"


class Envelope(msgspec.Struct):
    """What routing looks at. Ids may be of any JSON type here; ``echo`` keeps its bytes, ``ABSENT`` means no key."""

    post_type: Any = None
    meta_event_type: Any = None
    message_type: Any = None
    sub_type: Any = None
    self_id: Any = None
    user_id: Any = None
    group_id: Any = None
    message_id: Any = None
    time: Any = None
    action: Any = None
    params: msgspec.Raw = ABSENT
    echo: msgspec.Raw = ABSENT
    retcode: Any = None
    status: Any = None
    stream: Any = None
    interval: Any = None
    data: msgspec.Raw = ABSENT

    @property
    def is_event(self) -> bool:
        """True for anything that a protocol end reports by itself."""
        return isinstance(self.post_type, str)


class _StreamData(msgspec.Struct):
    type: Any = None


# Every escape is consumed in order, so that an escaped backslash before a "u" is not taken for one.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_ENVELOPE = msgspec.json.Decoder(Envelope)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_STREAM = msgspec.json.Decoder(_StreamData)
_TEXT = msgspec.json.Decoder(str)


def open_envelope(frame: bytes) -> Envelope | None:
    """Decode what routing needs; None when the frame is no JSON object."""
    for candidate in (frame, whole_characters(frame)):
        try:
            return _ENVELOPE.decode(candidate)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    return None


def with_echo(frame: bytes, echo: msgspec.Raw) -> bytes:
    """The frame with another echo (``ABSENT`` removes the key); the bytes of every other value stay as they are."""
    try:
        fields = _FIELDS.decode(frame)
    except msgspec.MsgspecError:
        fields = _FIELDS.decode(whole_characters(frame))
    if bytes(echo):
        fields["echo"] = echo
    else:
        fields.pop("echo", None)
    return msgspec.json.encode(fields)


def whole_characters(frame: bytes) -> bytes:
    """The frame with each escaped half of a surrogate pair replaced by U+FFFD.

    JavaScript peers write such halves (cut emoji in nicknames); the strict decoder refuses the whole frame for one.
    """
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match["half"] else match[0], frame)


def text_of(raw: msgspec.Raw) -> str | None:
    """The value when it is a JSON string, else None."""
    try:
        return _TEXT.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def is_stream_part(envelope: Envelope) -> bool:
    """True for a NapCat stream frame after which more frames with the same echo follow."""
    if envelope.stream != "stream-action" or not bytes(envelope.data):
        return False
    try:
        return bool(_STREAM.decode(envelope.data).type == "stream")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
