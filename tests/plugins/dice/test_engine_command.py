"""How a chat command's body is taken apart into rounds, expression and reason."""

from __future__ import annotations

import pytest

from plugins.dice.engine import Command, DiceError, Limits, rng, roll, split_command

CARD = {"敏捷": 60}

EXPRESSIONS = [
    ("4d6k3+2 力量", 1, "4d6k3+2", "力量"),
    ("3#4d6k3+2 力量", 3, "3#4d6k3+2", "力量"),
    ("3＃４ｄ６ 力量", 3, "3＃４ｄ６", "力量"),
    ("（1d6＋2）×2", 1, "（1d6＋2）×2", ""),
    ("d攻击", 1, "d", "攻击"),
    ("d20攻击 地精", 1, "d20", "攻击 地精"),
    ("d20 -攻击", 1, "d20", "-攻击"),
    ("d20 /攻击/防御", 1, "d20", "/攻击/防御"),
    ("d20-攻击", 1, "d20-攻击", ""),
    ("d20 + 攻击", 1, "d20 + 攻击", ""),
    ("d20 +敏捷 -攻击", 1, "d20 +敏捷", "-攻击"),
    ("敏捷/2 跳", 1, "敏捷/2", "跳"),
    ("敏捷", 1, "敏捷", ""),
    ("1+2 力量", 1, "1+2", "力量"),
    ("1/0", 1, "1/0", ""),
    ("999999d6", 1, "999999d6", ""),
    ("  d6  x ", 1, "  d6", "x"),
    ("d20=?", 1, "d20", "=?"),
    ("d20？", 1, "d20", "？"),
    ("d20 > 10 成功", 1, "d20 > 10", "成功"),
    ("d20 >难度", 1, "d20", ">难度"),
    ("d20优势 攻击", 1, "d20优势", "攻击"),
    ("d20【火】 攻击", 1, "d20【火】", "攻击"),
    ("b2 侦查", 1, "b2", "侦查"),
    ("x=2d6；x*2 伤害", 1, "x=2d6；x*2", "伤害"),
    ("x=2d6; x + x 伤害", 1, "x=2d6; x + x", "伤害"),
]


@pytest.mark.parametrize(("body", "rounds", "expression", "reason"), EXPRESSIONS)
def test_expression_and_reason_are_told_apart(body: str, rounds: int, expression: str, reason: str) -> None:
    assert split_command(body, variables=CARD) == Command(rounds, expression, reason, False)


REASONS = ["", "力量", "力量 检定", "dex", "50%概率", "5 个哥布林", "50", "2-3人", "(困难)侦查", "-攻击", "攻击-地精"]


@pytest.mark.parametrize(
    "body", [*REASONS, "“大”", "，攻击", "?", "力量x2", "@某人 躲开", "b技能", "p2技能", "1?", "50.5", "[攻击]"]
)
def test_body_that_computes_nothing_is_a_reason_for_the_default_die(body: str) -> None:
    command = split_command(body, variables=CARD)
    assert command == Command(1, "d", body, True)
    assert roll(command.expression, rng=rng.maximum()).value == 100


def test_rounds_before_a_mere_reason_roll_the_default_die() -> None:
    command = split_command("3# 力量")
    assert command == Command(3, "3#d", "力量", True)
    assert roll(command.expression, rng=rng.maximum()).value == [100, 100, 100]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("(((", "syntax"),
        ("(d6+2", "syntax"),
        ("--1", "syntax"),
        ("13#d6", "rounds"),
        ("d0", "sides"),
    ],
)
def test_body_meant_as_expression_is_refused_when_unreadable(body: str, code: str) -> None:
    with pytest.raises(DiceError) as caught:
        split_command(body)
    assert caught.value.code == code


def test_errors_point_into_the_body_past_its_rounds() -> None:
    body = "３＃d6＋（2"
    command = split_command(body)
    assert (command.expression, command.reason) == ("３＃d6", "＋（2")
    with pytest.raises(DiceError) as caught:
        split_command("３＃（2＋")
    assert caught.value.span == (5, 5)


def test_reason_is_cut_at_its_limit() -> None:
    limits = Limits(reason_characters=5)
    assert split_command("d6 一二三四五", limits=limits).reason == "一二三四五"
    assert split_command("d6 一二三四五六", limits=limits).reason == "一二三四五"
    assert split_command("一二三四五六", limits=limits).reason == "一二三四五"


def test_body_over_the_limit_is_refused() -> None:
    assert len(split_command("长" * 512).reason) == 200
    with pytest.raises(DiceError) as caught:
        split_command("长" * 513)
    assert caught.value.code == "too_long"
