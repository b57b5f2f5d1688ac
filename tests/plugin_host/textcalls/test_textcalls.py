"""Calls in model text: which wrappings count, what stays text, what may be shown while it streams."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugin_host.conversation import ToolSpec
from plugin_host.textcalls import Parsed, StreamSplitter, describe_tools, describes, parse

NAMES = ("roll_dice", "draw_deck")
CALL = {"name": "roll_dice", "arguments": {"expression": "3d6"}}
ONE = json.dumps([CALL], ensure_ascii=False)


def fence(body: str, word: str = "function") -> str:
    return f"```{word}\n{body}\n```"


def only(text: str) -> tuple[str, Any, str]:
    parsed = parse(text, NAMES)
    assert len(parsed.calls) == 1, parsed
    call = parsed.calls[0]
    return call.name, call.arguments, call.verdict


def test_a_function_fence_with_an_array_is_a_clean_call_between_its_texts() -> None:
    parsed = parse(f"好，掷骰。\n\n{fence(ONE)}\n等结果", NAMES)
    assert (parsed.before, parsed.after, parsed.problems) == ("好，掷骰。", "等结果", [])
    assert [(c.name, c.arguments, c.verdict) for c in parsed.calls] == [("roll_dice", {"expression": "3d6"}, "clean")]


@pytest.mark.parametrize(
    "text",
    [
        fence(json.dumps(CALL)),
        fence(ONE, "FUNCTION"),
        f"```function {ONE}```",
        f"好的```function\n{ONE}```",
        f"````function\n{ONE}\n````",
        fence(json.dumps([{"name": "roll_dice", "arguments": json.dumps(CALL["arguments"])}])),
        fence(json.dumps([{"name": "ROLL_DICE", "parameters": CALL["arguments"]}])),
        fence(json.dumps([{"type": "function", "function": CALL}])),
        fence(ONE, "json"),
        fence(ONE, "tool_call"),
        fence(ONE, "tool_code"),
        f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>",
        f"<tool_call>{json.dumps(CALL)}",
        f"```function\n{ONE}",
    ],
)
def test_every_accepted_wrapping_of_valid_json_gives_the_same_clean_call(text: str) -> None:
    assert only(text) == ("roll_dice", {"expression": "3d6"}, "clean")


@pytest.mark.parametrize(
    "body",
    [
        "[{'name': 'roll_dice', 'arguments': {'expression': '3d6'}}]",
        '[{"name": "roll_dice", "arguments": {"expression": "3d6",},},]',
        '[{name: "roll_dice", arguments: {expression: "3d6"}}]',
        "［｛“name”：“roll_dice”，“arguments”：｛“expression”：“3d6”｝｝］",
        '\ufeff[{"name"\u200b: "roll_dice", "arguments": {"expression": "3d6"}}]',
        '[{"name": "roll_dice", "arguments": {"expression": "3d6"}}',
        '[{"name": "roll_dice", "arguments": {"expression": "3d6"}]',
        '[{"name": "roll_dice", "arguments": {"expression": "3d6"}',
        '{"name": "roll_dice", "arguments": {"expression": "3d6"',
        '[{"name": "roll_dice", "arguments": {"expression": "3d6"}}}]',
        'calls: [{"name": "roll_dice", "arguments": {"expression": "3d6"}}] // done',
        '// why\n[{"name": "roll_dice", /* x */ "arguments": {"expression": "3d6"}}]',
        '{"name": "roll_dice", "arguments": {"expression": "3d6"}}\n',
    ],
)
def test_damage_that_loses_nothing_is_repaired_to_the_exact_call(body: str) -> None:
    name, arguments, verdict = only(fence(body))
    assert (name, arguments) == ("roll_dice", {"expression": "3d6"})
    assert verdict == ("clean" if body.endswith("\n") else "repaired")


@pytest.mark.parametrize(
    "body",
    [
        '[{"name": "roll_dice", "arguments": {"expression": "3d',
        '[{"name": "roll_dice", "arguments": {"times": 1',
        '[{"name": "roll_dice", "arguments": {"expression": "3d6"',
        '[{"name": "roll_dice", "arguments": {"expression": "3d6",',
        '[{"name": "roll_dice", "arguments": {"expression": "3d6", "reason":',
    ],
)
def test_a_call_that_ends_where_a_value_may_go_on_is_truncated(body: str) -> None:
    assert only(fence(body))[2] == "truncated"
    assert only(f"```function\n{body}")[2] == "truncated"


def test_missing_closers_without_the_closing_fence_are_a_cut_not_a_slip() -> None:
    body = '[{"name": "roll_dice", "arguments": {"expression": "3d6"}'
    assert only(fence(body))[2] == "repaired"
    assert only(f"```function\n{body}")[2] == "truncated"


def test_a_damaged_sibling_never_drops_a_good_call() -> None:
    body = f'[{json.dumps(CALL)}, {{"name": "draw_deck", "arguments": {{"count": 1'
    parsed = parse(f"```function\n{body}", NAMES)
    assert [(c.name, c.verdict) for c in parsed.calls] == [("roll_dice", "repaired"), ("draw_deck", "truncated")]


def test_an_element_that_is_no_call_is_a_problem_that_says_which() -> None:
    parsed = parse(fence(json.dumps([CALL, {"arguments": {}}, 3])), NAMES)
    assert [call.name for call in parsed.calls] == ["roll_dice"]
    assert parsed.problems == [
        "第 2 个调用缺少 name（要一个字符串）",
        "第 3 个调用应为带 name 和 arguments 的对象，实际是 int",
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (f'[{json.dumps(CALL)}, {{"name": "draw_deck"', "第 2 个调用的 JSON 有误，缺少 arguments"),
        (f'[{json.dumps(CALL)}, {{"name": "draw_', "第 2 个调用不完整，文字在中间断了"),
    ],
)
def test_a_damaged_call_without_arguments_is_not_a_call_without_parameters(body: str, problem: str) -> None:
    parsed = parse(fence(body), NAMES)
    assert ([call.name for call in parsed.calls], parsed.problems) == (["roll_dice"], [problem])


def test_arguments_that_are_no_object_keep_their_own_text() -> None:
    call = parse(fence('[{"name": "roll_dice", "arguments": [3]}]'), NAMES).calls[0]
    assert (call.arguments, call.raw) == (None, "[3]")


def test_missing_and_null_arguments_are_no_arguments() -> None:
    parsed = parse(fence('[{"name": "roll_dice"}, {"name": "draw_deck", "arguments": null, "id": "c1"}]'), NAMES)
    assert [(c.arguments, c.verdict, c.call_id) for c in parsed.calls] == [({}, "clean", None), ({}, "clean", "c1")]


def test_several_fences_and_tags_give_their_calls_in_order() -> None:
    text = f"一{fence(ONE)}二<tool_call>{json.dumps(CALL)}</tool_call>三"
    parsed = parse(text, NAMES)
    assert (len(parsed.calls), parsed.before, parsed.after) == (2, "一", "二三")


def test_a_declared_call_of_an_unknown_tool_is_returned_and_a_json_fence_with_one_is_text() -> None:
    unknown = json.dumps([{"name": "no_such", "arguments": {}}])
    assert parse(fence(unknown), NAMES).calls[0].name == "no_such"
    assert parse(fence(unknown, "json"), NAMES) == Parsed(fence(unknown, "json"))


@pytest.mark.parametrize(
    "text",
    [
        f"```python\nprint('<tool_call>')\n{ONE}\n```",
        f"```markdown\n````function\n{ONE}\n```",
        '```json\n{"name": "roll_dice", "hp": 3}\n```',
        '```json\n{"name": "roll_dice"}\n```',
        "用 `<tool_call>` 和 ``` 记号",
        "```\n没有语言的代码\n```",
        "a < b 而 <t 不是标签",
        "",
    ],
)
def test_code_and_prose_stay_text(text: str) -> None:
    assert parse(text, NAMES) == Parsed(text)


def test_a_call_inside_thinking_is_no_call_and_thinking_is_not_shown() -> None:
    assert parse(f"<think>先 {fence(ONE)}</think>\n\n你好", NAMES) == Parsed("你好")
    assert parse("<thinking>没有结束 {", NAMES) == Parsed("")


def test_names_that_differ_only_in_case_are_not_guessed_between() -> None:
    text = fence(json.dumps([{"name": "ROLL", "arguments": {}}]))
    assert parse(text, ["roll", "Roll"]).calls[0].name == "ROLL"
    assert parse(text, ["roll"]).calls[0].name == "roll"


def test_a_fence_inside_a_json_string_does_not_end_the_call() -> None:
    code = "```python\nx = {}\n```"
    call = {"name": "roll_dice", "arguments": {"expression": code}}
    assert only(fence(json.dumps([call]))) == ("roll_dice", {"expression": code}, "clean")


def test_an_opening_that_the_end_cuts_is_not_shown() -> None:
    assert parse("好\n```funct", NAMES) == Parsed("好", problems=["调用块刚开始就断了"])


def test_a_block_of_64_kib_is_read_and_a_longer_one_is_refused() -> None:
    def sized(size: int) -> str:
        head, tail = '[{"name":"roll_dice","arguments":{"expression":"', '"}}]'
        return head + "x" * (size - len(head) - len(tail) - 1) + tail

    assert len(parse(fence(sized(64 * 1024)), NAMES).calls) == 1
    refused = parse(fence(sized(64 * 1024 + 1)), NAMES)
    assert (refused.calls, refused.problems) == ([], ["调用块有 65537 个字符，上限 65536"])


def streamed(pieces: list[str]) -> tuple[str, Parsed]:
    splitter = StreamSplitter(NAMES)
    shown = "".join(splitter.feed(piece) for piece in pieces)
    assert splitter.shown == len(shown)
    return shown, splitter.finish()


MARKUP = st.sampled_from(
    [
        "```function\n", "```function", "```json\n", "```python\n", "```", "``", "`", "\n```\n", "\n", " ", "\t",
        ONE, json.dumps(CALL), "]", "}", "[", "<tool_call>", "</tool_call>", "<tool_", "<think>", "</think>", "<", "<t",
        "好的", "a", '"', "\\", "{", ",", "\ufeff", "\r\n", "func", "tion",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.lists(MARKUP, max_size=25).map("".join), st.text(max_size=60))


@settings(deadline=None)
@given(st.lists(st.one_of(MARKUP, st.text(max_size=5)), max_size=25), st.randoms(use_true_random=False))
def test_any_chunking_gives_the_parse_of_the_whole_text(tokens: list[str], random: Any) -> None:
    text = "".join(tokens)
    cuts = sorted(random.sample(range(len(text) + 1), min(len(text) + 1, random.randint(0, 12))))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = parse(text, NAMES)
    for way in (pieces, list(text)):
        shown, parsed = streamed(way)
        assert parsed == whole
        assert parsed.before.startswith(shown)


@settings(deadline=None)
@given(TEXTS)
def test_no_text_raises_and_shown_text_has_no_outer_blanks(text: str) -> None:
    parsed = parse(text, NAMES)
    for part in (parsed.before, parsed.after):
        assert part == part.strip(" \t\r\n\ufeff\u200b")


def test_every_two_chunk_split_of_a_call_shows_only_the_text_before_it() -> None:
    text = f"先说一句。\n{fence(ONE)}\n后面"
    for cut in range(len(text)):
        shown, parsed = streamed([text[:cut], text[cut:]])
        assert "先说一句。".startswith(shown)
        assert parsed == parse(text, NAMES)


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        "```json\n[]\n```\n",
        "`",
        "```",
        "``` ",
        "<think>",
        "{",
        "```function\n[{",
        "a<t",
        '["',
        "/*",
        "\n```x",
    ],
)
def test_a_megabyte_of_hostile_text_is_read_in_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        start = perf_counter()
        parse(piece * (size // len(piece)), NAMES)
        return perf_counter() - start

    assert seconds(1_000_000) < 5.0  # measured below 0.7 s; quadratic behaviour takes minutes


def test_the_description_names_each_tool_with_its_schema() -> None:
    tool = ToolSpec("roll_dice", "掷骰", {"type": "object", "properties": {"expression": {"type": "string"}}})
    text = describe_tools([tool])
    assert "```function" in text
    assert '"expression": {"type": "string"}' in text
    assert describes(text, "roll_dice")
    assert not describes(text, "roll")
    assert describe_tools([]) == ""
