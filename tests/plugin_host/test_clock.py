"""Clock: UTC for what is stored, monotonic for waiting."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_host.clock import Clock, iso


def test_the_clock_tells_real_time() -> None:
    clock = Clock()
    assert abs(clock.now() - time.time()) < 1
    first = clock.monotonic()
    assert clock.monotonic() >= first


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_780_000_000.5, "2026-05-28T20:26:40.500Z"),
        (0.0004, "1970-01-01T00:00:00.000Z"),
    ],
)
def test_seconds_as_iso_in_utc(seconds: float, text: str) -> None:
    assert iso(seconds) == text


@given(st.integers(0, 4_000_000_000_000))
def test_iso_keeps_milliseconds(milliseconds: int) -> None:
    read = datetime.fromisoformat(iso(milliseconds / 1000))
    assert read.tzinfo == UTC
    assert abs(read.timestamp() * 1000 - milliseconds) <= 1
