"""Commands: what a function must look like, and which command a line of chat addresses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_host import CallContext, CommandArgs
from plugin_host.commands import WORD_LIMIT, Command, command_from_function, matches, strip_prefix
from plugin_host.errors import HostError
from plugin_host.tools import Source

HERE = Source("plugin", "here")
PREFIXES = (".", "。", "/", "!", "！")


def answer(text: str) -> str:
    """回答一句。

    第二段。
    """
    return text


def command(*words: str, **options: Any) -> Command:
    return command_from_function(answer, words=words, source=HERE, **options)


def found(line: str, *commands: Command) -> list[str]:
    """The words that begin ``line``, in the order in which they are tried."""
    words = {word: one for one in commands for word in one.words}
    return [word for word, _ in matches(line, words, max(map(len, words)))]


def test_name_summary_and_help_come_from_word_and_docstring() -> None:
    made = command("JRRP", "今日人品")
    assert (made.name, made.words) == ("JRRP", ("jrrp", "今日人品"))
    assert (made.summary, made.help) == ("回答一句。", "回答一句。\n\n第二段。")
    assert (made.text_parameter, made.context_parameter, made.args_parameter) == ("text", None, None)


def test_parameters_are_found_by_annotation_whatever_their_names() -> None:
    def both(a: CommandArgs, b: CallContext) -> None: ...

    made = command_from_function(both, words="x", source=HERE)
    assert (made.args_parameter, made.context_parameter, made.text_parameter) == ("a", "b", None)


def untyped(a) -> None: ...  # type: ignore[no-untyped-def]


def twice(a: str, b: str) -> None: ...


def number(a: int) -> None: ...


def unresolved(a: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821


@pytest.mark.parametrize("function", [untyped, twice, number, unresolved])
def test_other_parameters_are_refused(function: Any) -> None:
    with pytest.raises(HostError, match=r"must be annotated|cannot be resolved"):
        command_from_function(function, words="x", source=HERE)


@pytest.mark.parametrize("word", ["x" * WORD_LIMIT, "骰" * 32, "x"])
def test_a_word_of_up_to_32_characters_is_good(word: str) -> None:
    assert command(word).words == (word,)


@pytest.mark.parametrize("word", ["x" * (WORD_LIMIT + 1), "", "a b", "a\tb", "a\u3000b"])
def test_longer_empty_and_blank_words_are_refused(word: str) -> None:
    with pytest.raises(HostError, match="1 to 32 characters"):
        command(word)


def test_no_word_and_an_unknown_option_are_refused() -> None:
    with pytest.raises(HostError, match="1 to 32 characters"):
        command()
    with pytest.raises(HostError, match=r"unknown option\(s\) levl"):
        command("x", levl=1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (".r 3d6", "r 3d6"),
        ("。r", "r"),
        ("  ！ r ", "r "),
        ("..r", ".r"),
        ("r 3d6", None),
        (".", None),
        ("", None),
        ("，r", None),
    ],
)
def test_a_prefix_opens_a_command(text: str, line: str | None) -> None:
    assert strip_prefix(text, PREFIXES) == line


def test_the_longest_word_is_tried_first() -> None:
    commands = command("r", glued=True), command("rh", glued=True), command("ra")
    assert found("rh 3d6", *commands) == ["rh", "r"]
    assert found("ra 侦查", *commands) == ["ra", "r"]
    assert found("ra50", *commands) == ["r"]


@pytest.mark.parametrize(
    ("line", "glued", "expected"),
    [
        ("r", False, ["r"]),
        ("r 3d6", False, ["r"]),
        ("r3d6", False, []),
        ("r3d6", True, ["r"]),
        ("r_x", False, []),
        ("r+1", False, ["r"]),
        ("R 3d6", False, ["r"]),
        ("r侦查", False, ["r"]),
        ("x r", True, []),
        ("", True, []),
    ],
)
def test_a_word_ends_where_the_line_says(line: str, glued: bool, expected: list[str]) -> None:
    assert found(line, command("r", glued=glued)) == expected


@pytest.mark.parametrize("line", ["今日人品", "今日人品 明天", "今日人品abc", "今日人品50"])
def test_a_chinese_word_needs_no_blank_behind_it(line: str) -> None:
    assert found(line, command("今日人品")) == ["今日人品"]


def test_args_split_at_blanks() -> None:
    assert CommandArgs("r", "3d6  攻击\t一").words == ["3d6", "攻击", "一"]


@given(st.text(max_size=50))
def test_any_line_is_matched_without_an_exception(line: str) -> None:
    commands = command("r", glued=True), command("rh"), command("今日人品")
    tried = found(line, *commands)
    assert tried == sorted(tried, key=len, reverse=True)
    assert all(line.casefold().startswith(word) for word in tried)
