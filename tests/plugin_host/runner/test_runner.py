"""Runner: the order of its checks, one result and one last line per call, limits of time and size."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from plugin_host import CallContext, CallError, Change, Private, Reply, Segment
from plugin_host.calls import Part, ToolCall, ToolResult
from plugin_host.runner.runner import calls_of
from plugin_host.store.journal import TERMINAL
from plugin_host.store.kept import get_kept, set_kept
from plugin_host.textcalls import parse
from tests.kit.host_room import HostRoom, rows


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[HostRoom]:
    async with HostRoom(tmp_path) as opened:
        yield opened


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


async def add(a: int, b: Annotated[int, Field(le=100)] = 1) -> str:
    """Adds."""
    return str(a + b)


async def last_lines(room: HostRoom) -> list[Any]:
    return [line.entry for line in await room.journal(*TERMINAL)]


async def test_a_call_runs_and_is_told_in_the_journal(room: HostRoom) -> None:
    room.offer(add)
    ctx = room.ctx()
    result = await room.call("add", ctx, a=1, b=2)
    assert (result.status, result.text, result.call_id, result.name) == ("ok", "3", "c", "add")
    lines = [line.entry for line in await room.journal() if line.entry.name]
    assert [line.type for line in lines] == ["tool_call_requested", "tool_call_started", "tool_call_completed"]
    assert {(line.call, line.turn, line.session, line.name) for line in lines} == {
        (f"{ctx.turn}:1", ctx.turn, "group:100", "add")
    }
    assert lines[0].payload == {"arguments": {"a": 1, "b": 2}, "origin": "internal", "id": "c"}
    assert lines[2].payload == {"status": "ok", "code": "", "text": "3"}
    assert lines[2].ms is not None


async def test_a_tool_is_found_by_its_provider_safe_alias(room: HostRoom) -> None:
    room.offer(add, name="math.add")
    result = await room.call("math__add", a=1)
    assert (result.text, result.name) == ("2", "math.add")


async def test_an_unknown_name_suggests_only_what_may_be_used(room: HostRoom) -> None:
    room.offer(add, name="memory_add")
    room.offer(add, name="memory_adds", owner="secret", privilege=100)
    room.offer(add, name="memory_addd", owner="off", default_on=False)
    result = await room.call("memory_ad")
    assert (result.status, result.error_code) == ("error", "unknown_tool")
    assert result.text == "没有叫 memory_ad 的工具函数；相近的有：memory_add"
    assert (await room.call("zzzz")).text == "没有叫 zzzz 的工具函数"


BAD = {"a": "x"}
CHECKS: list[tuple[str, dict[str, Any], dict[str, Any], Any, str, str]] = [
    # name, options of the tool, settings, arguments, status, code: each one fails all later checks, too
    ("nobody", {}, {}, BAD, "error", "unknown_tool"),
    ("add", {"session_types": "private", "privilege": 50, "default_on": False}, {}, BAD, "denied", "session_type"),
    ("add", {"privilege": 50, "default_on": False}, {"blocked": ["add"]}, BAD, "denied", "blocked"),
    ("add", {"privilege": 50, "default_on": False}, {}, BAD, "denied", "privilege"),
    ("add", {"requires": frozenset({"gpu"}), "default_on": False}, {}, BAD, "denied", "requirement_missing"),
    ("add", {"default_on": False, "approval": "deny"}, {}, BAD, "denied", "switched_off"),
    ("add", {"approval": "deny"}, {}, BAD, "denied", "approval_denied"),
    ("add", {"approval": "ask"}, {}, BAD, "error", "invalid_arguments"),
    ("add", {"approval": "ask"}, {}, {"a": 1}, "denied", "approval_required"),
    ("add", {"destructive": True}, {}, {"a": 1}, "denied", "approval_required"),
    ("add", {"destructive": True}, {"trust": "open"}, {"a": 1}, "ok", ""),
]


@pytest.mark.parametrize(("name", "options", "tools", "arguments", "status", "code"), CHECKS)
async def test_the_first_check_that_fails_gives_the_reason(
    tmp_path: Path, name: str, options: Any, tools: Any, arguments: Any, status: str, code: str
) -> None:
    async with HostRoom(tmp_path, tools=tools) as room:
        room.offer(add, **options)
        ctx = room.ctx()
        result = await room.call(name, ctx, **arguments)
        assert (result.status, result.error_code) == (status, code)
        kinds = [line.entry.type for line in await room.journal() if line.entry.name]
        refused = ["tool_call_requested", "tool_call_refused"]
        assert kinds == (refused if code else ["tool_call_requested", "tool_call_started", "tool_call_completed"])
        assert ctx.calls.counts["add"] == (0 if code else 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"a": True}, "a 应为整数，实际是 true"),
        ({}, "缺少必需参数 a"),
        ({"a": 1, "b": 101}, "b 不能大于 100，实际是 101"),
        ({"a": 1, "c": 2}, "没有参数 c"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_in_words(room: HostRoom, arguments: Any, words: str) -> None:
    room.offer(add)
    result = await room.call("add", **arguments)
    assert (result.status, result.error_code, result.recoverable) == ("error", "invalid_arguments", True)
    assert words in result.text


@pytest.mark.parametrize("verdict", ["truncated", "guessed"])
async def test_a_doubtful_call_runs_only_when_it_reads(room: HostRoom, verdict: Any) -> None:
    room.offer(add, name="writes")
    room.offer(add, name="reads", owner="other", read_only=True)
    results = [
        await room.host.runner.run(ToolCall("c", name, {"a": 1}, verdict=verdict), room.ctx())
        for name in ("writes", "reads")
    ]
    assert [(result.status, result.error_code) for result in results] == [("error", "truncated_call"), ("ok", "")]


@pytest.mark.parametrize(("calls", "codes"), [(2, ["", ""]), (3, ["", "", "budget_calls"])])
async def test_a_turn_has_so_many_calls(tmp_path: Path, calls: int, codes: list[str]) -> None:
    async with HostRoom(tmp_path, agent={"max_calls": 2}) as room:
        room.offer(add)
        ctx = room.ctx()
        results = [await room.call("add", ctx, a=n) for n in range(calls)]
        assert [result.error_code for result in results] == codes
        assert (await room.call("add", room.ctx(surface="command"), a=1)).ok


async def test_rights_and_switches_are_read_when_the_call_runs(room: HostRoom) -> None:
    room.offer(add)
    session = await room.host.sessions.get("group:100")
    ctx = room.ctx()
    session.switches["add"] = False
    refused = [(await room.call("add", ctx, a=1)).error_code for _ in range(2)]
    session.switches["add"] = True
    assert refused == ["switched_off"] * 2
    assert (await room.call("add", ctx, a=1)).ok


# Results and effects


@pytest.mark.parametrize(
    ("value", "text"), [("好", "好"), ({"a": 1}, '{"a": 1}'), (None, "完成"), ([1], "[1]"), (3, "3")]
)
async def test_what_a_tool_returns_is_its_result(room: HostRoom, value: Any, text: str) -> None:
    async def give() -> Any:
        """Gives."""
        return value

    room.offer(give)
    result = await room.call("give")
    assert (result.text, result.trust, result.delivered) == (text, "trusted", False)


async def test_what_comes_from_the_open_world_is_not_trusted(room: HostRoom) -> None:
    room.offer(add, open_world=True)
    assert (await room.call("add", a=1)).trust == "untrusted"


async def test_state_notes_and_replies_of_a_call_commit_with_its_last_line(room: HostRoom) -> None:
    async def act(ctx: CallContext) -> Reply:
        """Acts."""
        ctx.store.set("n", 1)
        ctx.note("roll", value=3)
        ctx.say("第一句")
        return Reply(ctx.session, (Segment.text("第二句"),))

    room.offer(act, outside=False)
    before = room.host.database.commits
    result = await room.call("act")
    await room.quiet()
    assert (result.text, result.delivered, room.channel.texts) == ("第二句", True, ["第一句", "第二句"])
    assert await rows(room.host.database, "select name, value from kept") == [("n", "1")]
    kinds = [line.entry.type for line in await room.journal()]
    assert kinds == ["tool_call_requested", "tool_call_started", "roll", "tool_call_completed"]
    assert room.host.database.commits > before


async def test_a_hidden_answer_of_a_tool_goes_to_its_asker_and_not_to_the_model(room: HostRoom) -> None:
    async def hide() -> Private:
        """Hides."""
        return Private("1D100=42", notice="暗骰")

    room.offer(hide)
    result = await room.call("hide")
    await room.quiet()
    assert room.channel.texts == ["暗骰", "1D100=42"]
    assert "42" not in result.text + str([line.entry.payload for line in await room.journal()])


async def test_a_hidden_answer_without_an_asker_goes_to_nobody(room: HostRoom) -> None:
    async def hide() -> Private:
        """Hides."""
        return Private("1D100=42")

    room.offer(hide)
    result = await room.call("hide", room.ctx(user=None))
    await room.quiet()
    assert (result.status, room.channel.actions) == ("error", [])
    assert "42" not in result.text


async def test_a_failing_call_leaves_nothing_of_what_it_asked_for(room: HostRoom) -> None:
    async def half(ctx: CallContext) -> str:
        """Half."""
        ctx.store.set("n", 1)
        ctx.say("一半")
        raise CallError("不行", code="no")

    room.offer(half)
    result = await room.call("half")
    await room.quiet()
    assert (result.status, result.error_code, result.text) == ("error", "no", "不行")
    assert room.channel.texts == []
    assert await rows(room.host.database, "select count(*) from kept") == [(0,)]


async def test_a_change_of_a_tool_is_undone_when_it_fails_and_its_words_are_the_result(room: HostRoom) -> None:
    async def spend(amount: int) -> Change:
        """Spends."""

        def work(tx: Any) -> int:
            left = int(get_kept(tx, "test", "bot", "bot", "gold") or 10) - amount
            set_kept(tx, "test", "bot", "bot", "gold", left)
            if left < 0:
                raise CallError("钱不够")
            return left

        return Change(work, lambda left: {"left": left})

    room.offer(spend)
    results = [await room.call("spend", room.ctx(), amount=amount) for amount in (4, 7, 6)]
    assert [(result.status, result.text) for result in results] == [
        ("ok", '{"left": 6}'), ("error", "钱不够"), ("ok", '{"left": 0}'),
    ]  # fmt: skip
    assert [line.type for line in await last_lines(room)] == [
        "tool_call_completed", "tool_call_failed", "tool_call_completed",
    ]  # fmt: skip


async def test_a_stray_exception_tells_the_model_only_that_it_failed(room: HostRoom, logs: list[str]) -> None:
    def explode() -> str:
        """Explodes."""
        raise ValueError("secret detail")

    room.offer(explode)
    result = await room.call("explode")
    assert (result.status, result.error_code, result.text) == ("error", "failed", "explode 执行失败（详情见日志）")
    assert "secret" not in str([line.entry.payload for line in await room.journal()])
    assert any("plugin test failed in explode" in line for line in logs)


async def test_a_tool_that_hands_on_an_inner_result_keeps_its_status_and_trust(room: HostRoom) -> None:
    async def outer() -> ToolResult:
        """Outer."""
        return ToolResult("inner", "other", "denied", (Part("text", "不许"),), error_code="x", trust="untrusted")

    room.offer(outer)
    result = await room.call("outer")
    assert (result.call_id, result.name, result.status, result.error_code, result.trust) == (
        "c", "outer", "denied", "x", "untrusted",
    )  # fmt: skip
    assert [line.type for line in await last_lines(room)] == ["tool_call_failed"]


@pytest.mark.parametrize("text", ["\ud83d", "\x00", "a" * 100_000])
async def test_no_text_of_a_model_or_a_tool_breaks_the_runner(room: HostRoom, text: str) -> None:
    async def echo(text: str) -> str:
        """Echoes."""
        return text

    room.offer(echo)
    raw = json.dumps({"text": text})
    async with asyncio.timeout(10):
        result = await room.host.runner.run(ToolCall("c", "echo", raw_arguments=raw, origin="native"), room.ctx())
        unknown = await room.host.runner.run(ToolCall("c", text[:20]), room.ctx())
    assert result.call_id == unknown.call_id == "c"
    assert len(await last_lines(room)) == 2


# Time


async def test_a_cancelled_call_has_its_result_and_its_line(room: HostRoom) -> None:
    started = asyncio.Event()

    async def waits() -> str:
        """Waits."""
        started.set()
        await asyncio.Event().wait()
        return ""

    room.offer(waits)
    ctx = room.ctx()
    calling = asyncio.create_task(room.call("waits", ctx))
    async with asyncio.timeout(5):
        await started.wait()
        ctx.cancel.set()
        result = await calling
    assert (result.status, result.error_code) == ("cancelled", "cancelled")
    assert [line.payload["status"] for line in await last_lines(room)] == ["cancelled"]


# Repetition


def counting(outcomes: list[Any]) -> Any:
    """A tool that gives these outcomes in turn; ``.ran`` is how often it ran."""

    async def count(key: str = "") -> Any:
        """Counts."""
        outcome = outcomes[min(count.ran, len(outcomes) - 1)]  # type: ignore[attr-defined]
        count.ran += 1  # type: ignore[attr-defined]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    count.ran = 0  # type: ignore[attr-defined]
    return count


@pytest.mark.parametrize(
    ("options", "runs"),
    [
        ({"idempotent": True}, 1),
        ({"idempotent": True, "random": True}, 3),
        ({"random": True}, 3),
        ({"read_only": True}, 3),
        ({}, 3),
    ],
)
async def test_a_success_is_reused_only_where_asking_again_cannot_differ(
    room: HostRoom, options: dict[str, bool], runs: int
) -> None:
    count = counting(["一", "二", "三"])
    room.offer(count, **options)
    ctx = room.ctx()
    texts = [(await room.call("count", ctx, id=f"c{n}", key="k")).text for n in range(3)]
    assert count.ran == runs
    assert texts == (["一"] * 3 if runs == 1 else ["一", "二", "三"])
    kinds = [line.type for line in await last_lines(room)]
    assert kinds.count("tool_call_reused") == 3 - runs
    assert (await room.call("count", room.ctx(), key="k")).text == ("二" if runs == 1 else "三")


async def test_other_arguments_are_another_call(room: HostRoom) -> None:
    count = counting(["一", "二"])
    room.offer(count, idempotent=True)
    ctx = room.ctx()
    assert [(await room.call("count", ctx, key=key)).text for key in "abab"] == ["一", "二", "一", "二"]


async def test_the_third_identical_failure_gives_the_former_result_and_the_fifth_ends_the_turn(room: HostRoom) -> None:
    count = counting([CallError("不行")])
    room.offer(count)
    ctx = room.ctx()
    results = [await room.call("count", ctx, id=f"c{n}", key="k") for n in range(5)]
    assert count.ran == 2
    assert [result.text for result in results] == ["不行"] * 5
    assert [result.call_id for result in results] == [f"c{n}" for n in range(5)]
    assert [result.end_turn for result in results] == [False] * 4 + [True]
    kinds = [line.type for line in await last_lines(room)]
    assert kinds == ["tool_call_failed"] * 2 + ["tool_call_reused"] * 3


async def test_former_successes_do_not_count_as_failures(room: HostRoom) -> None:
    count = counting(["好", "好", CallError("不行")])
    room.offer(count)
    ctx = room.ctx()
    results = [await room.call("count", ctx, key="k") for _ in range(7)]
    assert count.ran == 4
    assert [result.end_turn for result in results] == [False] * 6 + [True]


async def test_the_fifth_identical_refusal_ends_the_turn_and_others_do_not_count(room: HostRoom) -> None:
    room.offer(add)
    ctx = room.ctx()
    broken = [ToolCall("c", "add", raw_arguments='{"a": ' + "1" * n) for n in range(1, 5)]
    for call in broken:
        assert not (await room.host.runner.run(call, ctx)).end_turn
    results = [await room.call("add", ctx, a="x") for _ in range(5)]
    assert [result.end_turn for result in results] == [False] * 4 + [True]
    assert {result.error_code for result in results} == {"invalid_arguments"}


# Order


async def test_neighbours_that_only_read_run_side_by_side_and_results_keep_the_order_of_the_calls(
    room: HostRoom,
) -> None:
    running: set[str] = set()
    together: dict[str, frozenset[str]] = {}
    all_run = asyncio.Event()

    async def reads(key: str) -> str:
        """Reads; the first one ends last."""
        running.add(key)
        if len(running) == 3:
            all_run.set()
        await all_run.wait()
        for _ in range(10 if key == "a" else 0):
            await asyncio.sleep(0)
        running.discard(key)
        return key

    async def writes(key: str) -> str:
        """Writes."""
        running.add(key)
        together[key] = frozenset(running)
        await asyncio.sleep(0)
        running.discard(key)
        return key

    room.offer(reads, read_only=True)
    room.offer(writes, owner="other")
    order = [("reads", "a"), ("reads", "b"), ("reads", "c"), ("writes", "d"), ("writes", "e")]
    calls = [ToolCall(f"id-{key}", name, {"key": key}) for name, key in order]
    async with asyncio.timeout(10):
        results = await room.host.runner.execute_function_calls(calls, room.ctx())
    assert [(result.call_id, result.text) for result in results] == [(f"id-{key}", key) for _, key in order]
    assert together == {"d": frozenset("d"), "e": frozenset("e")}
    requested = [line.entry for line in await room.journal("tool_call_requested")]
    steps = {line.payload["id"]: int(line.call.rpartition(":")[2]) for line in requested}
    assert steps == {f"id-{key}": number for number, key in enumerate("abcde", 1)}


async def test_every_call_of_a_response_has_exactly_one_result(room: HostRoom) -> None:
    room.offer(add)
    count = counting([CallError("不行")])
    room.offer(count, owner="other")
    calls = [
        ToolCall("1", "add", {"a": 1}),
        ToolCall("2", "nobody", {}),
        ToolCall("3", "add", raw_arguments='{"a": 1'),
        ToolCall("4", "count", {}),
        ToolCall("5", "add", {"a": True}),
        ToolCall("6", "add", {"a": 1}),
    ]
    results = await room.host.runner.execute_function_calls(calls, room.ctx())
    assert [(result.call_id, result.status) for result in results] == [
        ("1", "ok"), ("2", "error"), ("3", "error"), ("4", "error"), ("5", "error"), ("6", "ok"),
    ]  # fmt: skip
    lines = await last_lines(room)
    assert len({line.call for line in lines}) == len(lines) == len(calls)


async def test_text_calls_go_through_the_same_door(room: HostRoom) -> None:
    room.offer(add)
    text = '好的\n```function\n[{"name": "add", "arguments": {"a": 1}}, {"name": "add", "arguments": {"a": "x"}}]\n```'
    ctx = room.ctx()
    parsed, results = await room.host.runner.execute_prompt_calls(text, {"add"}, ctx)
    assert parsed.before.strip() == "好的"
    assert [(result.status, result.error_code) for result in results] == [("ok", ""), ("error", "invalid_arguments")]
    origins = {line.entry.payload["origin"] for line in await room.journal("tool_call_requested")}
    assert origins == {"prompt"}
    ids = [call.id for call in calls_of(parse(text, {"add"}), room.ctx())]
    assert len(set(ids)) == 2


async def test_a_tool_sees_the_context_of_its_own_call(room: HostRoom) -> None:
    async def look(ctx: CallContext) -> dict[str, Any]:
        """Looks."""
        return {"plugin": ctx.plugin, "request": ctx.request_id, "left": ctx.deadline - time.monotonic()}

    room.offer(look, timeout=5)
    ctx = room.ctx()
    found = json.loads((await room.call("look", ctx)).text)
    assert (found["plugin"], found["request"]) == ("test", f"{ctx.turn}:1")
    assert 4 < found["left"] <= 5
