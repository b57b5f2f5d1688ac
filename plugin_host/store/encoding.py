"""JSON bodies of rows. Text from models and plugins may hold half a surrogate pair, which no encoder takes."""

from __future__ import annotations

from typing import Any

import msgspec


def encode_body(value: Any) -> bytes:
    """A value or dataclass as JSON; what is no Unicode text becomes ``?``."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(msgspec.to_builtins(value)))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
