"""The queue of a link: its bounds, its order, and frames that are withdrawn."""

from __future__ import annotations

import asyncio

from bridge.link import Link
from bridge.recent import RecentKeys
from tests.bridge.rig import MemoryWire


async def test_exactly_the_limit_of_frames_waits_and_the_next_is_counted() -> None:
    link = Link(MemoryWire(), "x", frames=3)
    assert all(link.offer(b"x") for _ in range(3))
    assert link.offer(b"x") is None
    assert link.dropped == 1


async def test_exactly_the_limit_of_bytes_waits_and_the_next_is_counted() -> None:
    link = Link(MemoryWire(), "x", size=10)
    assert link.offer(b"x" * 10)
    assert link.offer(b"x") is None
    assert Link(MemoryWire(), "x", size=10).offer(b"x" * 11) is None


async def test_frames_leave_in_order_and_a_withdrawn_one_does_not() -> None:
    wire = MemoryWire()
    link = Link(wire, "x")
    running = asyncio.create_task(link.run(lambda _: None))
    parcels = [link.offer(bytes([number])) for number in range(4)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [parcel.written for parcel in parcels if parcel] == [True, False, False, False]
    assert parcels[0] is not None
    assert parcels[2] is not None
    assert not parcels[0].withdraw()
    assert parcels[2].withdraw()
    wire.gate.set()
    await asyncio.wait_for(wire.third.wait(), 5)
    assert wire.written == [b"\x00", b"\x01", b"\x03"]
    await link.close()
    await running
    assert link.offer(b"late") is None


async def test_a_memory_of_keys_forgets_the_oldest_and_what_is_too_old() -> None:
    keys = RecentKeys(2)
    assert [keys.add(key) for key in "aabc"] == [True, False, True, True]
    assert ("a" in keys, "b" in keys, len(keys)) == (False, True, 2)
    brief = RecentKeys(2, 0.0)
    assert brief.add("a")
    assert brief.add("a")
