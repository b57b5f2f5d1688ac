"""The envelope: any JSON object can be routed, and only its echo changes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.envelope import ABSENT, Envelope, open_envelope, text_of, whole_characters, with_echo

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(Envelope.__struct_fields__) | st.text(max_size=6)
frames = st.dictionaries(keys, values, max_size=8)


@given(frames, st.booleans())
def test_any_object_is_opened_and_keeps_everything_but_its_echo(frame: dict[str, Any], ascii_only: bool) -> None:
    raw = json.dumps(frame, ensure_ascii=ascii_only).encode()
    envelope = open_envelope(raw)
    assert envelope is not None
    assert (bytes(envelope.echo) == b"") is ("echo" not in frame)
    assert json.loads(with_echo(raw, msgspec.Raw(b'"own-1"'))) == {**frame, "echo": "own-1"}
    assert json.loads(with_echo(raw, envelope.echo)) == frame
    without = {key: value for key, value in frame.items() if key != "echo"}
    assert json.loads(with_echo(raw, ABSENT)) == without


@given(st.binary(max_size=40))
def test_bytes_that_are_no_object_are_none_and_never_an_error(raw: bytes) -> None:
    envelope = open_envelope(raw)
    assert envelope is None or raw.strip().startswith(b"{")


@pytest.mark.parametrize("raw", [b"[" * 200_000, b'{"a":' * 200_000, b"[1]", b"1", b'"x"', b"null", b""])
def test_what_is_no_object_is_none(raw: bytes) -> None:
    assert open_envelope(raw) is None


@given(st.text(st.characters(), max_size=20))
def test_only_halves_of_pairs_are_replaced(text: str) -> None:
    raw = json.dumps(text).encode()
    assert json.loads(whole_characters(raw)) == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def test_text_of_a_value_is_its_string_or_none() -> None:
    assert text_of(msgspec.Raw(b'"a\\u0041"')) == "aA"
    assert [text_of(msgspec.Raw(raw)) for raw in (b"1", b"null", b"", b"{}")] == [None] * 4
