"""The content of one envelope → calls, each with a verdict of its own, and what could not be read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from plugin_host.calls import Verdict
from plugin_host.textcalls.repairing import SIZE_LIMIT, START, Budget, exact, mend, refuse_constant
from plugin_host.textcalls.shown import INVISIBLE
from plugin_host.textcalls.values import ParsedCall

ORDER: tuple[Verdict, ...] = ("clean", "repaired", "guessed", "truncated")
ARGUMENT_KEYS = ("arguments", "parameters")
CALL_KEYS = frozenset({"name", "id", "type", "function", *ARGUMENT_KEYS})
BLANK = INVISIBLE + ",;，"
CALL_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Item:
    """One value that stands where a call should: the text it came from and what its repair was worth.

    ``damaged``: the element itself was not valid JSON.
    """

    value: Any
    verdict: Verdict
    raw: str
    damaged: bool = False


@dataclass(slots=True)
class Reading:
    """What one envelope holds. ``foreign``: something in it is no call of a known tool."""

    calls: list[ParsedCall] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    foreign: bool = False


class CallReader:
    """Reads envelopes of one response; ``names`` are the tools exposed in this turn."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._folded: dict[str, list[str]] = {}
        for name in self._names:
            self._folded.setdefault(name.casefold(), []).append(name)
        self._budget = Budget()

    def read(self, content: str, *, ended: bool) -> Reading:
        """The calls in the content; ``ended`` is False when the envelope was never closed."""
        reading = Reading()
        if len(content) > SIZE_LIMIT:
            reading.problems.append(f"调用块有 {len(content)} 个字符，上限 {SIZE_LIMIT}")
            reading.foreign = True
            return reading
        for number, item in enumerate(self._items(content, ended=ended), 1):
            if number > CALL_LIMIT:
                reading.problems.append(f"一个调用块最多 {CALL_LIMIT} 个调用，后面的没有执行")
                break
            self._read_item(item, number, reading)
        if not reading.calls and not reading.problems:
            reading.foreign = True
            reading.problems.append("调用块里没有 JSON 数组或对象")
        return reading

    def _items(self, content: str, *, ended: bool) -> Iterator[Item]:
        try:
            value = exact(content)
        except (ValueError, RecursionError):
            yield from self._elements(content.strip(INVISIBLE), ended=ended)
            return
        for element in value if isinstance(value, list) else [value]:
            yield Item(element, "clean", json.dumps(element, ensure_ascii=False))

    def _elements(self, text: str, *, ended: bool) -> Iterator[Item]:
        """The elements that are whole exactly as they are, then what is left from the first damaged one on."""
        position, inside = 0, False
        decoder = json.JSONDecoder(parse_constant=refuse_constant)
        while position < len(text):
            if text[position] in BLANK or (text[position] == "]" and inside):
                inside = inside and text[position] != "]"
                position += 1
            elif text[position] == "[" and not inside:
                inside, position = True, position + 1
            else:
                try:
                    value, end = decoder.raw_decode(text, position)
                except (ValueError, RecursionError):
                    break
                yield Item(value, "repaired", text[position:end])
                position = end
        rest = text[position:]
        if START.search(rest):
            yield from self._damaged(rest, inside=inside, ended=ended)

    def _damaged(self, rest: str, *, inside: bool, ended: bool) -> Iterator[Item]:
        mended = mend("[" + rest if inside else rest, self._budget)
        # Without the closing mark the text was cut off; brackets that are missing then are no slip of the pen.
        verdict: Verdict = mended.verdict if ended or mended.closed else "truncated"
        values = mended.value if isinstance(mended.value, list) and mended.value else [mended.value]
        for element in values:
            yield Item(element, verdict, rest, damaged=True)

    def _read_item(self, item: Item, number: int, reading: Reading) -> None:
        shape = _shape(item.value)
        if shape is None or (item.damaged and not shape.given):
            reading.foreign = True
            reading.problems.append(_complaint(item, number))
            return
        name = self._known(shape.name)
        reading.foreign = reading.foreign or name is None or not shape.plain
        arguments, worth, raw = self._arguments(shape.arguments, item)
        reading.calls.append(ParsedCall(name or shape.name, arguments, worth, raw, shape.call_id))

    def _arguments(self, value: Any, item: Item) -> tuple[dict[str, Any] | None, Verdict, str]:
        if isinstance(value, dict):
            return value, item.verdict, item.raw
        if value is None or (isinstance(value, str) and not value.strip()):
            return {}, item.verdict, item.raw
        if not isinstance(value, str):
            return None, item.verdict, json.dumps(value, ensure_ascii=False)
        mended = mend(value, self._budget)
        worst = max(mended.verdict, item.verdict, key=ORDER.index)
        if isinstance(mended.value, dict):
            return mended.value, worst, item.raw
        return None, worst, value

    def _known(self, name: str) -> str | None:
        for written in (name, name.removeprefix("functions.")):
            if written in self._names:
                return written
            if len(alike := self._folded.get(written.casefold(), [])) == 1:
                return alike[0]
        return None


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a call. ``given``: arguments were written; ``plain``: nothing but the fields of a call."""

    name: str
    arguments: Any
    call_id: str | None
    given: bool
    plain: bool


def _shape(value: Any) -> Shape | None:
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    fields = inner if isinstance(inner, dict) else value
    name = fields.get("name", inner if isinstance(inner, str) else None)
    if not isinstance(name, str) or not name.strip():
        return None
    keys = [key for key in ARGUMENT_KEYS if key in fields]
    call_id = value.get("id")
    return Shape(
        name=name.strip(),
        arguments=fields[keys[0]] if keys else None,
        call_id=call_id if isinstance(call_id, str) and call_id else None,
        given=bool(keys),
        plain=bool(keys) and CALL_KEYS.issuperset(value) and CALL_KEYS.issuperset(fields),
    )


def _complaint(item: Item, number: int) -> str:
    if item.verdict == "truncated":
        return f"第 {number} 个调用不完整，文字在中间断了"
    if _shape(item.value) is not None:
        return f"第 {number} 个调用的 JSON 有误，缺少 arguments"
    if isinstance(item.value, dict):
        return f"第 {number} 个调用缺少 name（要一个字符串）"
    if item.value is None:
        return f"第 {number} 个调用不是能读懂的 JSON：{item.raw[:60]}"
    return f"第 {number} 个调用应为带 name 和 arguments 的对象，实际是 {type(item.value).__name__}"
