"""CallLog: what each line of a call says."""

from __future__ import annotations

from pathlib import Path

from plugin_host.calls import Part, ToolCall, ToolResult
from plugin_host.registry import Contribution, Registry
from plugin_host.runner.call_log import TEXT_LIMIT, CallLog
from plugin_host.tools import Source
from tests.kit.host_room import HostRoom, MovedClock, rows
from tests.kit.toolroom import context


def log() -> CallLog:
    def add(a: int) -> str:
        """Adds."""
        return str(a)

    contribution = Contribution(Source("plugin", "p"))
    contribution.tool(add, name="math.add")
    registry = Registry()
    registry.install(contribution)
    return CallLog(registry, MovedClock(frozen=True))


def result(status: str = "ok", text: str = "好") -> ToolResult:
    return ToolResult("c", "math.add", status, (Part("text", text),), error_code="x", ms=1.5)  # type: ignore[arg-type]


def test_a_request_shows_what_was_asked_as_it_was_asked() -> None:
    parsed = log().requested(ToolCall("c", "math__add", {"a": 1}, '{"a": 1 }', "native"), context())
    raw = log().requested(ToolCall("c", "math__add", None, '{"a": ', "prompt"), context())
    assert parsed.payload == {"arguments": {"a": 1}, "origin": "native", "id": "c"}
    assert raw.payload == {"arguments": '{"a": ', "origin": "prompt", "id": "c"}
    assert {entry.name for entry in (parsed, raw)} == {"math.add"}


def test_an_unknown_tool_is_named_as_the_caller_named_it() -> None:
    assert log().requested(ToolCall("c", "nobody", {}), context()).name == "nobody"


def test_every_line_belongs_to_its_event_and_step() -> None:
    ctx, call = context(), ToolCall("c", "math.add", {})
    lines = [log().requested(call, ctx), log().started(call, ctx), log().ended(call, result(), ctx)]
    assert {(line.session, line.turn, line.call) for line in lines} == {("group:100", "event", "event:1")}
    assert [line.type for line in lines] == ["tool_call_requested", "tool_call_started", "tool_call_completed"]
    assert [line.ms for line in lines] == [None, None, 1.5]


def test_the_last_line_says_how_it_ended() -> None:
    call = ToolCall("c", "math.add", {})
    kinds = [log().ended(call, result(status), context()).type for status in ("ok", "error", "denied", "timeout")]
    assert kinds == ["tool_call_completed"] + ["tool_call_failed"] * 3
    assert log().ended(call, result(), context(), "tool_call_reused").type == "tool_call_reused"
    assert log().ended(call, result("error"), context()).payload == {"status": "error", "code": "x", "text": "好"}


def test_the_text_of_a_line_is_cut() -> None:
    for length in (TEXT_LIMIT, TEXT_LIMIT + 1):
        ended = log().ended(ToolCall("c", "math.add", {}), result(text="字" * length), context())
        assert ended.payload["text"] == "字" * TEXT_LIMIT


async def test_the_started_line_is_durable_before_an_outside_tool_runs(tmp_path: Path) -> None:
    async with HostRoom(tmp_path) as room:

        async def look() -> str:
            """Looks."""
            return ",".join(kind for (kind,) in await rows(room.host.database, "select type from journal order by seq"))

        room.offer(look, name="outside")
        room.offer(look, name="inside", owner="other", outside=False)
        assert (await room.call("inside")).text == ""
        assert (await room.call("outside")).text.endswith("tool_call_requested,tool_call_started")


async def hi() -> str:
    """Answers."""
    return "好"


async def test_plugins_are_shown_every_call_that_ran(tmp_path: Path) -> None:
    plugin = """
    seen = []

    @hookimpl
    def call_finished(call, result):
        seen.append((call.name, result.status))
    """
    async with HostRoom(tmp_path, plugins={"eyes": plugin}) as room:
        room.offer(hi)
        await room.call("hi")
        seen = room.host.plugins.loader.running["eyes"].implementations[0].function.__globals__["seen"]
        assert seen == [("hi", "ok")]
