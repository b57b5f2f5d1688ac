"""Random text and random expressions: only DiceError escapes, and values stay where they must."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.dice.engine import Computed, DiceError, explain, rng, roll, split_command
from plugins.dice.engine.render import as_json, detailed, for_model, short

SLOW = 0.02  # seconds
SHARDS = [
    *"0123456789dDkKqQxX+-*/%^#()（）＋－×÷＃ｄ６. \u3000\u200b≥力_$[]?!",
    *["kh", "kl", "dh", "dl", "3d6", "4d6k3", "//", "**", "力量", "攻击", "d%", "(1)", "\ud800", "\x00", "9" * 9],
    *"!rpabcfmFR<>=&|?:;,{}'\"",
    *["r1", "ro<3", "!!", "!p", "!>4", "min3", "max4", "cs>4", "f1", "优势", "dis", "b2", "p"],
    *["10a5", "k6", "m7", "5c8", "4df", "&&", "||", "==", "<=", "[1..6]", "[1,2]", "[0]", "[1:2]", ".sum()", "max("],
    *["x=", "&x=", "x", ";x", "'a'", "1.5", "{d6}", "[火]", "?1:2", "?1,", "sum(", "kh1"],
]
DIALECTS = st.sampled_from(["seal", "onedice", "roll20"])
CARD = {"力量": 60, "x": Computed("1d6+y"), "y": 2}
texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(SHARDS), max_size=40).map("".join))


@settings(max_examples=1000, deadline=None)
@given(texts, DIALECTS)
def test_no_text_raises_anything_but_a_dice_error(text: str, dialect: str) -> None:
    check(text, dialect)


@pytest.mark.long
@settings(max_examples=100_000, deadline=None)
@given(texts, DIALECTS)
def test_no_text_of_very_many_raises_anything_but_a_dice_error(text: str, dialect: str) -> None:
    started = time.perf_counter()
    check(text, dialect)
    if time.perf_counter() - started > SLOW:  # once more: the machine may have been busy elsewhere
        started = time.perf_counter()
        check(text, dialect)
        assert time.perf_counter() - started < SLOW


def check(text: str, dialect: str) -> None:
    """Roll and explain `text`: a result that fits together, or a DiceError that lies on it."""
    result = None
    spans = [(0, 0)]
    try:
        assert explain(text, dialect=dialect)
    except DiceError as error:
        spans.append(error.span)
    try:
        result = roll(text, dialect=dialect, variables=CARD)
    except DiceError as error:
        spans.append(error.span)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    if result is None:
        return
    assert text.endswith(result.rest)
    assert result.used == len(result.dice)
    assert result.text
    assert short(result)
    assert detailed(result)
    assert json.dumps([as_json(result), for_model(result)])
    assert sum(len(term.faces) for term in result.detail) == len(result.dice)


@settings(max_examples=400, deadline=None)
@given(texts)
def test_a_split_command_gives_an_expression_that_is_all_expression(text: str) -> None:
    try:
        command = split_command(text)
        result = roll(command.expression)
    except DiceError:
        return
    assert result.rest.strip("\u200b") == ""
    assert len(result.rounds) == command.rounds
    assert command.reason in text


def dice_terms() -> st.SearchStrategy[str]:
    keep = st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["kh", "kl"]), st.integers(1, 3)))
    return st.builds("{}d{}{}".format, st.integers(3, 12), st.integers(1, 300), keep)


def growing(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.builds("{}{}{}".format, inner, st.sampled_from(["+", "*", " + ", " * "]), inner)
    return st.one_of(joined, inner.map("({})".format))


monotone = st.recursive(st.one_of(dice_terms(), st.integers(0, 99).map(str)), growing, max_leaves=8)


@settings(max_examples=300, deadline=None)
@given(monotone)
def test_a_roll_lies_between_lowest_and_highest_faces(text: str) -> None:
    lowest, rolled, highest = (roll(text, rng=source).value for source in (rng.minimum(), None, rng.maximum()))
    assert isinstance(lowest, int)
    assert isinstance(rolled, int)
    assert isinstance(highest, int)
    assert lowest <= rolled <= highest


@settings(max_examples=300, deadline=None)
@given(monotone)
def test_a_roll_can_be_replayed_from_its_dice(text: str) -> None:
    first = roll(text)
    again = roll(text, rng=rng.replay(first.dice))
    assert (again.value, again.text, again.dice) == (first.value, first.text, first.dice)


class Plain:
    """An expression and the value Python gives it with division rounded toward zero."""

    def __init__(self, text: str, value: int) -> None:
        self.text = text
        self.value = value


def combined(left: Plain, sign: str, right: Plain) -> Plain:
    text = f"({left.text}){sign}({right.text})"
    if sign == "/":
        quotient = abs(left.value) // max(1, abs(right.value))
        value = quotient if (left.value < 0) == (right.value < 0) else -quotient
        return Plain(text, value) if right.value else left
    return Plain(text, {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[sign](left.value, right.value))


plain = st.recursive(
    st.integers(-99, 99).map(lambda number: Plain(str(number), number)),
    lambda inner: st.builds(combined, inner, st.sampled_from("+-*/"), inner),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(plain)
def test_arithmetic_agrees_with_python(expression: Plain) -> None:
    result = roll(expression.text)
    assert (result.value, result.rest) == (expression.value, "")


flat = st.lists(
    st.one_of(st.integers(1, 99).map(str), st.integers(1, 20).map("{}d1".format)), min_size=1, max_size=12
).flatmap(
    lambda operands: st.lists(st.sampled_from("+-*"), min_size=len(operands) - 1, max_size=len(operands) - 1).map(
        lambda signs: operands[0] + "".join(map("{}{}".format, signs, operands[1:]))
    )
)


@settings(max_examples=200, deadline=None)
@given(flat)
def test_precedence_agrees_with_d20(text: str) -> None:
    d20 = pytest.importorskip("d20")
    assert roll(text).value == d20.roll(text).total
