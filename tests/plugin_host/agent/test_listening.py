"""Listening: pages are shown once and in order, call markup never, cut arguments are not trusted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from plugin_host.agent.listening import Response, listen
from plugin_host.calls import ToolCall
from plugin_host.conversation import CallMade, Chunk, Finished, TextDelta

FENCE = '```function\n[{"name": "roll", "arguments": {"expression": "d6"}}]\n```'


async def stream(chunks: Sequence[Chunk]) -> AsyncIterator[Chunk]:
    for chunk in chunks:
        yield chunk


async def heard(*chunks: Chunk, room: int = 99) -> tuple[Response, list[str]]:
    """(the response, the pages shown meanwhile) where ``room`` pages fit."""
    shown: list[str] = []

    async def show(page: str) -> bool:
        if len(shown) >= room:
            return False
        shown.append(page)
        return True

    ids = iter(range(100))
    return await listen(stream(chunks), {"roll"}, show, mint=lambda: f"id{next(ids)}"), shown


async def test_text_without_calls_is_unsaid_until_the_end() -> None:
    response, shown = await heard(TextDelta("你"), TextDelta("好"), Finished("m"))
    assert (response.text, response.unsaid, response.calls, shown) == ("你好", "你好", (), [])


async def test_a_finished_page_is_shown_while_the_rest_comes() -> None:
    response, shown = await heard(TextDelta("一\f二"), TextDelta("页\f三"), Finished("m"))
    assert shown == ["一", "二页"]
    assert response.unsaid == "三"


async def test_pages_that_no_longer_fit_stay_together() -> None:
    response, shown = await heard(TextDelta("一\f二\f三\f四"), Finished("m"), room=1)
    assert shown == ["一"]
    assert response.unsaid == "二\n三\n四"


async def test_a_call_in_the_text_is_executed_and_never_shown() -> None:
    response, _ = await heard(TextDelta("我来掷。\n" + FENCE[:20]), TextDelta(FENCE[20:]), Finished("m"))
    assert response.unsaid == "我来掷。"
    assert [(call.id, call.name, call.arguments, call.origin) for call in response.calls] == [
        ("id0", "roll", {"expression": "d6"}, "prompt")
    ]


async def test_native_calls_win_over_markup_which_still_is_not_shown() -> None:
    native = ToolCall("c1", "roll", raw_arguments="{}", origin="native")
    response, _ = await heard(TextDelta(FENCE), CallMade(native), Finished("m"))
    assert response.calls == (native,)
    assert response.text == ""


async def test_the_last_native_call_of_a_cut_response_is_marked() -> None:
    calls = [ToolCall(name, "roll", raw_arguments='{"a": 1', origin="native") for name in ("c1", "c2")]
    response, _ = await heard(*map(CallMade, calls), Finished("m", finish_reason="length"))
    assert [call.verdict for call in response.calls] == ["clean", "truncated"]


async def test_a_complete_fence_of_a_cut_response_is_still_trusted() -> None:
    response, _ = await heard(TextDelta(FENCE + "\n然后"), Finished("m", finish_reason="length"))
    assert [call.verdict for call in response.calls] == ["clean"]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30))
async def test_any_chunking_shows_the_same(sizes: list[int]) -> None:
    whole = f"前言\f第二页 {FENCE} 后话"
    chunks: list[Chunk] = []
    rest = whole
    while rest:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(TextDelta(rest[:size]))
        rest = rest[size:]
    response, shown = await heard(*chunks, Finished("m"))
    assert (shown, response.unsaid, len(response.calls)) == (["前言"], "第二页", 1)
