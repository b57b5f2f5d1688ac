"""MinuteUse: a sliding minute per session."""

from __future__ import annotations

from pathlib import Path

from plugin_host.runner.usage import CALL_LIMIT, MinuteUse
from plugin_host.tools import Budget
from tests.kit.host_room import HostRoom, MovedClock


def test_calls_are_counted_by_tool_and_session_for_a_minute() -> None:
    clock = MovedClock(frozen=True)
    use = MinuteUse(clock)
    for tool in ("dice", "dice", "luck"):
        use.add("group:1", tool)
    clock.ahead = 30.0
    use.add("group:1", "dice")
    use.add("group:2", "dice")
    assert use.of("group:1") == {"dice": 3, "luck": 1}
    assert use.of("group:2") == {"dice": 1}
    clock.ahead = 60.0
    assert use.of("group:1") == {"dice": 3, "luck": 1}
    clock.ahead = 60.1
    assert use.of("group:1") == {"dice": 1}
    clock.ahead = 91.0
    assert use.of("group:1") == {}
    assert use.of("nobody") == {}


def test_the_window_is_bounded() -> None:
    use = MinuteUse(MovedClock(frozen=True))
    for _ in range(CALL_LIMIT + 1):
        use.add("group:1", "dice")
    assert use.of("group:1") == {"dice": CALL_LIMIT}


async def add(a: int) -> str:
    """Adds one."""
    return str(a + 1)


async def test_a_tool_has_its_own_budget_per_turn_and_minute(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:
        room.offer(add, name="turn", budget=Budget(per_turn=1))
        room.offer(add, name="minute", owner="other", budget=Budget(per_minute=2))
        ctx = room.ctx()
        assert [(await room.call("turn", ctx, a=n)).error_code for n in range(2)] == ["", "budget_turn"]
        assert (await room.call("turn", room.ctx(), a=1)).ok
        found = [(await room.call("minute", room.ctx(), a=n)).error_code for n in range(3)]
        assert found == ["", "", "budget_minute"]
        assert (await room.call("minute", room.ctx(session="group:2"), a=1)).ok
