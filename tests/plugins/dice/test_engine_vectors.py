"""The rows of the reference's table that this form of the engine covers, and the decisions of its dialect."""

from __future__ import annotations

import dataclasses

import pytest

from plugins.dice.engine import DiceError, RollResult, rng, roll
from plugins.dice.engine.dialect import DIALECTS
from plugins.dice.engine.limits import DEFAULT_LIMITS
from plugins.dice.engine.nodes import Binary
from plugins.dice.engine.parser import parse

ANY = [
    ("4d1", 4),
    ("4D1", 4),
    ("4d1q", 1),
    ("4d1q1", 1),
    ("4d1kl1", 1),
    ("4d1kl(1)", 1),
    ("4d1dl", 3),
    ("4d1dl1", 3),
    ("4d1dh", 3),
    ("4d1dh1", 3),
    ("4d1k", 1),
    ("4d1kh2", 2),
    ("10d1d1", 10),
    ("(6d1)d1", 6),
    ("12d1 - 11", 1),
    ("3/2", 1),
    ("2 ** 3", 8),
    ("5 ** 2", 25),
    ("- 1", -1),
    ("+5", 5),
    ("1+2*3", 7),
    ("(1+2)*3", 9),
    ("2x3", 6),
    ("2X3", 6),
    ("8/3", 2),
    ("-1+3", 2),
    ("10/3", 3),
    ("-7/2", -3),
    ("-7//2", -4),
    ("-7%3", -1),
    ("7%-3", 1),
    ("2^3^2", 64),
    ("-2^2", 4),
    ("2*-3", -6),
    ("3--1", 4),
    ("3＋4", 7),
    ("3－1", 2),
    ("3＊2", 6),
    ("6／2", 3),
    ("（1+2）", 3),
    ("6÷2", 3),
    ("7％4", 3),
    ("2＾3", 8),
    ("４ｄ１", 4),
    ("４Ｄ１ｋ２", 2),
    ("((1))+((2))", 3),
    ("0^0", 1),
    ("1^999999999999999999", 1),
]


@pytest.mark.parametrize(("text", "value"), ANY)
def test_value_does_not_depend_on_the_dice(text: str, value: int) -> None:
    for source in (rng.minimum(), rng.maximum(), rng.system()):
        result = roll(text, rng=source)
        assert (result.value, result.rest) == (value, "")


BOUNDS = [
    ("d", 1, 100),
    ("2d", 2, 200),
    ("d + 2d", 3, 300),
    ("d%", 1, 100),
    ("3d%", 3, 300),
    ("d%5", 1, 0),
    ("1d6*5", 5, 30),
    ("(2d6+6)*5", 40, 90),
    ("4d6k3", 3, 18),
    ("4d6kh3", 3, 18),
    ("4d6q1", 1, 6),
    ("4d6kl", 1, 6),
    ("4d6dl1", 3, 18),
    ("4d6dh3", 1, 6),
    ("4d6dl0", 4, 24),
    ("4d6k5", 4, 24),
    ("1d6d10", 1, 60),
    ("(1d6)d10", 1, 60),
    ("2d(3d4)", 2, 24),
    ("4d6k(1d3)", 1, 18),
    ("2d20k1+1d8+3", 5, 31),
    ("1d6x2", 2, 12),
    ("1d6×2", 2, 12),
    ("2d6", 2, 12),
    ("（１ｄ６＋２）×２", 6, 16),
    ("dk", 1, 100),
    ("100d6", 100, 600),
]


@pytest.mark.parametrize(("text", "lowest", "highest"), BOUNDS)
def test_lowest_and_highest_faces_give_the_bounds(text: str, lowest: int, highest: int) -> None:
    assert roll(text, rng=rng.minimum()).value == lowest
    assert roll(text, rng=rng.maximum()).value == highest


REPLAYED = [
    ("2d6", [2, 5], 7),
    ("d6", [4], 4),
    ("4d6k3", [2, 6, 5, 3], 14),
    ("4d6q2", [2, 6, 5, 3], 5),
    ("4d6dh1", [2, 6, 5, 3], 10),
    ("4d6dl3", [2, 6, 5, 3], 6),
    ("(2D6+1D4)*2", [5, 3, 4], 24),
    ("2d20k1+1d8+3", [7, 19, 4], 26),
    ("(1d3)d10", [2, 9, 4], 13),
    ("1d6d4", [3, 1, 2, 4], 7),
    ("d6-d6", [2, 5], -3),
    ("d1000+d70000", [999, 69999], 70998),
]


@pytest.mark.parametrize(("text", "faces", "value"), REPLAYED)
def test_replayed_faces_are_used_from_left_to_right(text: str, faces: list[int], value: int) -> None:
    result = roll(text, rng=rng.replay(faces))
    assert (result.value, result.dice) == (value, faces)


REFUSED = [
    ("1/0", "division"),
    ("10//0", "division"),
    ("10%0", "division"),
    ("5/(1-1)", "division"),
    ("--1", "syntax"),
    ("++1", "syntax"),
    ("-+1", "syntax"),
    ("+-1", "syntax"),
    ("0d6", "count"),
    ("(0-2)d6", "count"),
    ("d0", "sides"),
    ("6d0", "sides"),
    ("1d(1-2)", "sides"),
    ("4d6k0", "keep"),
    ("4d6dl4", "keep"),
    ("4d6dh(1-2)", "keep"),
    ("4d6k1q1", "keep"),
    ("2^-1", "power"),
    ("d1.5", "decimal"),
    ("1.5d6", "type"),
    ("", "syntax"),
    (" ", "syntax"),
    ("(((", "syntax"),
    ("()", "syntax"),
    ("(1+)", "syntax"),
    ("2d(6", "syntax"),
    ("*3", "syntax"),
    ("力量", "name"),
    ("d20+力量", "name"),
    ("b技能", "name"),
    ("f1", "name"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_refusal_has_its_code_and_a_chinese_message(text: str, code: str) -> None:
    with pytest.raises(DiceError) as caught:
        roll(text)
    assert caught.value.code == code
    assert any("\u4e00" <= char <= "\u9fff" for char in caught.value.message)
    assert str(caught.value) == caught.value.message


def test_default_sides_apply_to_dice_without_sides() -> None:
    assert roll("2d", default_sides=20, rng=rng.maximum()).value == 40
    assert roll("2d", default_sides=6, rng=rng.maximum()).value == 12


def test_bad_default_sides_are_refused_when_used() -> None:
    assert roll("d6", default_sides=0, rng=rng.maximum()).value == 6
    with pytest.raises(DiceError) as caught:
        roll("d6+d", default_sides=0)
    assert (caught.value.code, caught.value.span) == ("sides", (3, 4))


def test_unknown_dialect_is_refused() -> None:
    with pytest.raises(DiceError) as caught:
        roll("d6", dialect="klingon")
    assert caught.value.code == "dialect"


def test_dialect_decides_grouping_of_powers_and_stacked_signs() -> None:
    other = dataclasses.replace(DIALECTS["seal"], power_groups_right=True, stacked_signs=True)
    root = parse("2^3^2", other, DEFAULT_LIMITS).root
    assert isinstance(root, Binary)
    assert isinstance(root.right, Binary)
    assert parse("-+-1", other, DEFAULT_LIMITS).end == 4


def test_variables_are_read_from_a_mapping_or_a_resolver() -> None:
    class Card:
        def resolve(self, name: str) -> int | None:
            return {"力量": 60}.get(name)

    assert roll("力量/2+1", variables={"力量": 60}).value == 31
    assert roll("力量/2+1", variables=Card()).value == 31
    assert roll("力量－射击：弓", variables={"力量": 60, "射击:弓": 45}).value == 15
    with pytest.raises(DiceError, match="敏捷"):
        roll("敏捷", variables=Card())


def test_a_cached_program_holds_no_values() -> None:
    assert [roll("力量+1", variables={"力量": value}).value for value in (1, 2)] == [2, 3]


def test_variable_that_is_no_integer_is_refused() -> None:
    with pytest.raises(DiceError) as caught:
        roll("1+力量", variables={"力量": "六十"})  # type: ignore[dict-item]
    assert (caught.value.code, caught.value.span) == ("type", (2, 4))


def test_text_that_is_no_str_is_a_type_error() -> None:
    for wrong in (None, 3, b"d6", ["d6"]):
        with pytest.raises(TypeError):
            roll(wrong)  # type: ignore[arg-type]


def test_result_is_reported_per_term() -> None:
    result = roll("4d6k3+d20", rng=rng.replay([2, 6, 2, 3, 17]))
    first, second = result.detail
    assert (first.text, first.span, first.sides, first.subtotal) == ("4d6k3", (0, 5), 6, 11)
    assert (first.faces, first.kept) == ((2, 6, 2, 3), (True, True, False, True))
    assert (second.text, second.faces, second.kept, second.subtotal) == ("d20", (17,), (True,), 17)
    assert result.used == 5


def test_roll_ids_differ_between_rolls_and_stay_with_one() -> None:
    results: list[RollResult] = [roll("d6") for _ in range(50)]
    assert len({result.roll_id for result in results}) == 50
    assert results[0].roll_id == results[0].roll_id
