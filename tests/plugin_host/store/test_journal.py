"""The journal: written in order, read newest last, counted per tool, cut when too long, forgotten when old."""

from __future__ import annotations

import pytest

from plugin_host.store import Database
from plugin_host.store.journal import (
    PAYLOAD_LIMIT,
    TERMINAL,
    AppendEntries,
    Entry,
    ToolUse,
    purge_journal,
    read_lines,
    steps_of,
    tool_uses,
    write_entries,
)

APPEND = AppendEntries()


def entry(type: str, name: str = "", *, session: str = "group:1", call: str = "", **more: object) -> Entry:
    return Entry(float(more.pop("time", 1.0)), session, "turn", type, call, name, **more)  # type: ignore[arg-type]


async def fill(store: Database, *entries: Entry) -> None:
    await store.unit(lambda tx: write_entries(tx, entries))


async def names(store: Database, **how: object) -> list[str]:
    lines = await store.read(lambda tx: read_lines(tx, **how))  # type: ignore[arg-type]
    return [line.entry.name for line in lines]


async def test_a_line_comes_back_as_it_was_written(store: Database) -> None:
    whole = Entry(12.5, "private:2", "key", "tool_call_completed", "c1", "roll", {"值": [1, None, {"a": "b"}]}, 3.25)
    await store.append(APPEND, whole)
    (line,) = await store.read(read_lines)
    assert line.entry == whole
    assert line.seq == 1


async def test_nothing_written_is_nothing_read(store: Database) -> None:
    await fill(store)
    assert await names(store) == []


async def test_the_newest_lines_are_read_oldest_first(store: Database) -> None:
    await fill(store, *(entry("note", str(number)) for number in range(51)))
    assert await names(store) == [str(number) for number in range(1, 51)]
    assert await names(store, limit=2) == ["49", "50"]
    assert await names(store, limit=51) == [str(number) for number in range(51)]
    assert await names(store, limit=52) == [str(number) for number in range(51)]
    assert len(await names(store, limit=0)) == 51


async def test_the_limit_counts_lines_of_the_session_that_is_asked_for(store: Database) -> None:
    for number in range(6):
        await fill(store, entry("note", str(number), session=f"group:{number % 2}"))
    assert await names(store, session="group:0", limit=2) == ["2", "4"]
    assert await names(store, session="group:9") == []


async def test_numbers_are_never_used_again(store: Database) -> None:
    await fill(store, entry("note"), entry("note"))
    await store.unit(lambda tx: purge_journal(tx, 100.0))
    await fill(store, entry("note"))
    assert [line.seq for line in await store.read(read_lines)] == [3]


async def test_tool_uses_count_calls_failures_and_mean_time(store: Database) -> None:
    done, failed, refused, reused = TERMINAL
    await fill(
        store,
        entry("tool_call_started", "roll"),
        entry(done, "roll", ms=10.0),
        entry(done, "roll", ms=20.0),
        entry(failed, "roll", ms=30.0),
        entry(refused, "ban"),
        entry(reused, "ban"),
        entry(done, ".r", ms=1.0),
        entry("note", "roll"),
        entry(done, "roll", session="group:2", ms=100.0),
    )
    assert await store.read(tool_uses) == [ToolUse("ban", 2, 2, 0.0), ToolUse("roll", 4, 1, 40.0)]
    assert await store.read(lambda tx: tool_uses(tx, "group:2")) == [ToolUse("roll", 1, 0, 100.0)]
    assert await store.read(lambda tx: tool_uses(tx, "group:3")) == []


async def test_steps_are_those_that_started_and_lost_are_those_that_never_ended(store: Database) -> None:
    started, (done, failed, *_) = "tool_call_started", TERMINAL
    assert await store.read(lambda tx: steps_of(tx, "turn")) == (False, [])
    await fill(store, entry("event.accepted"), entry("model_request"))
    assert await store.read(lambda tx: steps_of(tx, "turn")) == (False, [])
    await fill(store, entry(started, "roll", call="1"), entry(started, "ban", call="2"), entry(done, "roll", call="1"))
    assert await store.read(lambda tx: steps_of(tx, "turn")) == (True, [("2", "ban")])
    await fill(store, entry(failed, "ban", call="2"))
    assert await store.read(lambda tx: steps_of(tx, "turn")) == (True, [])
    assert await store.read(lambda tx: steps_of(tx, "another")) == (False, [])


@pytest.mark.parametrize(("extra", "cut"), [(0, False), (1, True)])
async def test_a_payload_over_its_limit_is_cut_and_stays_json(store: Database, extra: int, cut: bool) -> None:
    value = "骰" * (PAYLOAD_LIMIT - len('{"t": ""}') + extra)
    await store.append(APPEND, entry("note", payload={"t": value}))
    (line,) = await store.read(read_lines)
    assert (set(line.entry.payload) == {"cut"}) is cut
    assert len(str(line.entry.payload)) <= PAYLOAD_LIMIT + 8


async def test_what_is_no_json_is_written_as_text(store: Database) -> None:
    await store.append(APPEND, entry("note", payload={"error": LookupError("x")}))
    (line,) = await store.read(read_lines)
    assert line.entry.payload == {"error": "x"}


async def test_half_a_surrogate_pair_becomes_a_question_mark(store: Database) -> None:
    await store.append(APPEND, entry("note", payload={"arguments": "\ud83c骰🎲"}))
    (line,) = await store.read(read_lines)
    assert line.entry.payload == {"arguments": "?骰🎲"}


async def test_lines_before_a_time_are_forgotten(store: Database) -> None:
    await fill(store, *(entry("note", str(time), time=time) for time in (9.0, 9.999, 10.0, 11.0)))
    await store.unit(lambda tx: purge_journal(tx, 10.0))
    assert await names(store) == ["10.0", "11.0"]
