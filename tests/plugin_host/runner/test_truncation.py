"""Truncation: the head stays, the whole is handed out to be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugin_host.calls import Part, ToolResult
from plugin_host.runner.truncation import shortened
from plugin_host.store.originals import read_original
from tests.kit.host_room import HostRoom


def result(*parts: Part) -> ToolResult:
    return ToolResult("c", "t", "ok", parts)


@pytest.mark.parametrize("length", [0, 9, 10])
def test_a_result_within_the_limit_is_untouched(length: int) -> None:
    given = result(Part("text", "字" * length))
    assert shortened(given, 10) == (given, None)


def test_one_character_over_the_limit_is_cut_and_names_its_original() -> None:
    text = "一二三四五六七八九十末"
    cut, original = shortened(result(Part("text", text)), 10)
    assert original == text
    assert cut.truncated
    assert cut.text.startswith("一二三四五六七八九十\n[工具原文过长: 共 11 字，只显示前 10 字")
    assert cut.raw_id.startswith("raw:")
    assert cut.raw_id in cut.text


def test_zero_is_no_limit() -> None:
    given = result(Part("text", "字" * 100_000))
    assert shortened(given, 0) == (given, None)


def test_parts_count_together() -> None:
    parts = (Part("text", "12345"), Part("json", [1]))
    assert shortened(result(*parts), len("12345\n[1]"))[1] is None
    assert shortened(result(*parts), len("12345\n[1]") - 1)[1] == "12345\n[1]"


def test_every_original_has_a_name_of_its_own() -> None:
    given = result(Part("text", "x" * 11))
    assert shortened(given, 10)[0].raw_id != shortened(given, 10)[0].raw_id


@pytest.mark.parametrize(("length", "cut"), [(20, False), (21, True)])
async def test_a_result_over_the_limit_is_cut_and_its_original_kept(tmp_path: Path, length: int, cut: bool) -> None:
    async with HostRoom(tmp_path, tools={"result_limit": 20}) as room:

        async def long() -> str:
            """Long."""
            return "字" * length

        room.offer(long)
        result = await room.call("long")
        assert result.truncated is cut
        if not cut:
            assert (result.text, result.raw_id) == ("字" * 20, "")
            return
        assert result.text.startswith("字" * 20 + "\n[工具原文过长: 共 21 字")
        read = room.host.database.read
        assert await read(lambda tx: read_original(tx, result.raw_id, "group:100")) == "字" * 21
        assert await read(lambda tx: read_original(tx, result.raw_id, "group:2")) is None
