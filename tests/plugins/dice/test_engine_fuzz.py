"""Random text and random expressions: only DiceError escapes, and values stay where they must."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.dice.engine import DiceError, rng, roll, split_command

SHARDS = [
    *"0123456789dDkKqQxX+-*/%^#()（）＋－×÷＃ｄ６. \u3000\u200b≥力_$[]?!",
    *["kh", "kl", "dh", "dl", "3d6", "4d6k3", "//", "**", "力量", "攻击", "d%", "(1)", "\ud800", "\x00", "9" * 9],
]
texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(SHARDS), max_size=40).map("".join))


@settings(max_examples=600, deadline=None)
@given(texts)
def test_no_text_raises_anything_but_a_dice_error(text: str) -> None:
    result, span = None, (0, 0)
    try:
        result = roll(text, variables={"力量": 60})
    except DiceError as error:
        span = error.span
    assert 0 <= span[0] <= span[1] <= len(text)
    if result is None:
        return
    assert text.endswith(result.rest)
    assert result.used == len(result.dice)
    assert result.text
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
