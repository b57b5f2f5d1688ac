"""What the engine reads as expression, what it leaves, where its errors point, and how it writes results."""

from __future__ import annotations

import pytest

from plugins.dice.engine import DiceError, Limits, rng, roll
from plugins.dice.engine.fold import fold

PREFIXES = [
    ("3d1 k2", 3, " k2"),
    ("1 2", 1, " 2"),
    ("1+", 1, "+"),
    ("1+2 力量", 3, " 力量"),
    ("3d1力量", 3, "力量"),
    ("d1攻击", 1, "攻击"),
    ("5＝+2", 5, "＝+2"),
    ("３ｄ１ ≥２", 1, ""),
    ("3d1*5#3", 15, "#3"),
    ("3d1 xyz", 3, " xyz"),
    ("2d1x", 2, "x"),
    ("3d1 x 光", 3, " x 光"),
    ("1+2)", 3, ")"),
    ("1+(2", 1, "+(2"),
    ("1*2+(3", 2, "+(3"),
    ("1+2*(3^", 3, "*(3^"),
    ("3---1", 3, "---1"),
    ("5%", 5, "%"),
    ("3d1.", 3, "."),
    ("3d1，攻击", 3, "，攻击"),
    ("2d1[火]", 2, ""),
    ("\u200b2d1\u200b 理由", 2, "\u200b 理由"),
    ("3dx2", 3, "dx2"),
]


@pytest.mark.parametrize(("text", "value", "rest"), PREFIXES)
def test_longest_valid_prefix_is_rolled_and_the_rest_is_left(text: str, value: int, rest: str) -> None:
    result = roll(text)
    assert (result.value, result.rest) == (value, rest)


def test_reason_is_the_stripped_rest_cut_to_its_limit() -> None:
    assert roll("d6  力量 检定 ").reason == "力量 检定"
    assert roll("d6 " + "长" * 200).reason == "长" * 200
    assert roll("d6 " + "长" * 201).reason == "长" * 200


SPANS = [
    ("1/0 除", "1/0"),
    ("２＋３/（１－１）", "３/（１－１）"),
    ("d6+2d0", "2d0"),
    ("ｄ６＋２ｄ０ 攻击", "２ｄ０"),
    ("\u200b1+３d\ufeff0", "３d\ufeff0"),
    ("4d6k0+1", "k0"),
    ("d20+力量-1", "力量"),
    ("(3+4", "(3+4"),
    ("３＃ｄ２０＋力", "力"),
    ("３＃２ｄ０", "２ｄ０"),
    ("１３＃ｄ", "１３"),
]


@pytest.mark.parametrize(("text", "blamed"), SPANS)
def test_error_points_at_the_users_own_characters(text: str, blamed: str) -> None:
    with pytest.raises(DiceError) as caught:
        roll(text)
    start, end = caught.value.span
    assert text[start:end] == blamed


def test_missing_operand_is_blamed_where_it_is_missing() -> None:
    with pytest.raises(DiceError) as caught:
        roll("(2*)")
    assert (caught.value.code, caught.value.span) == ("syntax", (3, 4))


def test_fold_keeps_the_way_back_through_longer_and_vanishing_characters() -> None:
    folded = fold("１\u200b≥２")
    assert folded.text == "1>=2"
    assert [folded.start(index) for index in range(5)] == [0, 2, 2, 3, 4]
    assert [folded.end(index) for index in range(5)] == [0, 1, 3, 3, 4]
    assert folded.span((1, 3)) == (2, 3)


def test_fold_leaves_ascii_alone() -> None:
    text = "".join(map(chr, range(128)))
    assert fold(text).text is text


TEXTS = [
    ("4d6k3+2", [6, 5, 1, 4], "4d6k3+2={6+5+4|1}+2=17"),
    ("3d6", [1, 2, 3], "3d6={1+2+3}=6"),
    ("1d20+5", [15], "1d20+5=15+5=20"),
    ("d", [42], "d100=42"),
    ("2d + 1", [42, 8], "2d100+1={42+8}+1=51"),
    ("（1d6＋2）×2 攻击", [3], "(1d6+2)*2=(3+2)*2=10"),
    ("1+2", [], "1+2=3"),
    ("7", [], "7"),
    ("(1d3)d10", [2, 9, 4], "(1d3)d10={2d10: 9+4; 1d3: 2}=13"),
    ("3d6d4", [1, 1, 1, 4, 3, 2], "3d6d4={3d4: 4+3+2; 3d6: 1+1+1}=9"),
    ("(力)d6", [3, 4], "(力)d6={2d6: 3+4; 力: 2}=7"),
    ("d6+债+力", [3], "d6+债+力=3+(-5)+2=0"),
    ("2#d20+1", [3, 4], "2#d20+1：\n1. 3+1=4\n2. 4+1=5"),
]


@pytest.mark.parametrize(("text", "faces", "shown"), TEXTS)
def test_short_text_shows_expression_faces_and_value(text: str, faces: list[int], shown: str) -> None:
    assert roll(text, rng=rng.replay(faces), variables={"力": 2, "债": -5}).text == shown


def test_fifty_faces_are_written_out_and_fifty_one_are_counted() -> None:
    assert roll("50d6", rng=rng.minimum()).text == "50d6={" + "+".join("1" * 50) + "}=50"
    assert roll("51d6", rng=rng.minimum()).text == "51d6={51个：1×51}=51"
    assert roll("51d6k20", rng=rng.maximum()).text == "51d6k20={20个：6×20|弃31个}=120"


def test_many_faces_of_a_large_die_are_cut() -> None:
    text = roll("60d1000", rng=rng.minimum()).text
    assert text == "60d1000={" + "1+" * 50 + "…共60个}=60"


def test_detail_over_its_limit_of_bytes_is_folded() -> None:
    expression = "2d6+3"
    assert roll(expression, rng=rng.minimum(), limits=Limits(detail_bytes=7)).text == "2d6+3={1+1}+3=5"
    folded = roll(expression, rng=rng.minimum(), limits=Limits(detail_bytes=6)).text
    assert folded == "2d6+3={明细过长，已折叠}=5"


def test_detail_of_many_long_terms_is_folded() -> None:
    text = roll("+".join(["50d1000"] * 20), rng=rng.maximum()).text
    assert len(text.encode()) < 1024
    assert "已折叠" in text


def test_rounds_give_one_result_each_and_all_dice_in_order() -> None:
    result = roll("3＃d6＋1 攻击", rng=rng.replay([2, 3, 4]))
    assert (result.value, result.dice, result.reason, result.used) == ([3, 4, 5], [2, 3, 4], "攻击", 3)
    assert [round_.value for round_ in result.rounds] == [3, 4, 5]
    assert len({round_.roll_id for round_ in result.rounds}) == 3
    assert [term.subtotal for term in result.detail] == [2, 3, 4]


def test_a_roll_without_rounds_is_its_own_round() -> None:
    result = roll("d6")
    assert result.rounds == (result,)
