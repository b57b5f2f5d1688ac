"""Every limit of the engine, at its number and one beyond, and what must hold when one is hit."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from plugins.dice.engine import DiceError, Limits, rng, roll, split_command
from plugins.dice.engine.program import compiled


class Counting:
    """Lowest faces, and how many were asked for."""

    def __init__(self) -> None:
        self.rolled = 0

    def faces(self, count: int, sides: int) -> Sequence[int]:
        self.rolled += count
        return b"\x01" * count

    def below(self, bound: int) -> int:
        return 0


ONES_512 = "1+" * 255 + "01"

PAIRS = [
    ("characters", ONES_512, ONES_512 + " ", "too_long"),
    ("characters with a reason", "d6 " + "长" * 509, "d6 " + "长" * 510, "too_long"),
    ("characters of full width", "ｄ６ " + "长" * 509, "ｄ６ " + "长" * 510, "too_long"),
    ("digits of a count", "000000001d6", "0000000001d6", "literal"),
    ("digits of a side count", "d000000006", "d0000000006", "literal"),
    ("digits of a keep count", "2d6k000000001", "2d6k0000000001", "literal"),
    ("digits of a number", "9" * 18, "9" * 19, "literal"),
    ("dice", "10000d6", "10001d6", "budget"),
    ("dice of several terms", "5000d6+4999d6+d6", "5000d6+4999d6+2d6", "budget"),
    ("dice of nested terms", "(5000d1)d6", "(5000d1)d6+d6", "budget"),
    ("dice over rounds", "10#1000d6", "10#1000d6+d6", "budget"),
    ("sides", "d1000000", "d1000001", "sides"),
    ("computed sides", "d(10^6)", "d(10^6+1)", "sides"),
    ("nesting", "(" * 64 + "1" + ")" * 64, "(" * 65 + "1" + ")" * 65, "depth"),
    ("nesting left open", "1+" + "(" * 64, "1+" + "(" * 65, "depth"),
    ("nesting in dice", "d(" * 64 + "1" + ")" * 64, "d(" * 65 + "1" + ")" * 65, "depth"),
    ("operators", "+".join(["-1"] * 128) + "+1", "+".join(["-1"] * 128) + "+-1", "operators"),
    ("bits of a power", "2^255", "2^256", "overflow"),
    ("bits of a product", "2^128*2^127", "2^128*2^128", "overflow"),
    ("bits of a sum", "2^255+(2^255-1)", "2^255+2^255", "overflow"),
    ("bits of a difference", "0-2^255-(2^255-1)", "0-2^255-2^255", "overflow"),
    ("list items", "[1..1000]", "[1..1001]", "items"),
    ("list items downwards", "[1000..1]", "[1000..0]", "items"),
    ("work on lists", "x=[1..1000];" + "+".join(["sum(x)"] * 9), "x=[1..1000];" + "+".join(["sum(x)"] * 10), "items"),
    ("nested brackets of an index", "([0][" * 32 + "0" + "])" * 32, "([0][" * 33 + "0" + "])" * 33, "depth"),
    ("nested choices", "1?" * 64 + "1", "1?" * 65 + "1", "depth"),
    ("digits of a condition", "d6!000000007", "d6!0000000007", "literal"),
    ("dice of a pool", "10000a0", "10001a0", "budget"),
    ("dice of a cross", "10000c2", "10001c2", "budget"),
    ("dice of a bonus", "b9999", "b10000", "budget"),
    ("dice of fate", "10000f", "10001f", "budget"),
    ("sides of a pool", "a0m1000000", "a0m1000001", "sides"),
    ("rounds", "12#d6", "13#d6", "rounds"),
    ("rounds from below", "1#d6", "0#d6", "rounds"),
    ("digits of rounds", "000000000012#d6", "999999999999#d6", "rounds"),
]


@pytest.mark.parametrize(("within", "beyond", "code"), [row[1:] for row in PAIRS], ids=[row[0] for row in PAIRS])
def test_limit_itself_is_allowed_and_one_more_is_refused(within: str, beyond: str, code: str) -> None:
    roll(within, rng=rng.minimum())
    with pytest.raises(DiceError) as caught:
        roll(beyond, rng=rng.minimum())
    assert caught.value.code == code
    start, end = caught.value.span
    assert 0 <= start <= end <= len(beyond)


def test_default_limits_are_those_of_the_reference() -> None:
    limits = Limits()
    assert (limits.characters, limits.count_digits, limits.number_digits) == (512, 9, 18)
    assert (limits.dice, limits.sides, limits.depth, limits.operators) == (10_000, 1_000_000, 64, 256)
    assert (limits.integer_bits, limits.rounds, limits.detail_bytes) == (256, 12, 1024)


def test_budget_is_charged_before_anything_is_rolled() -> None:
    source = Counting()
    with pytest.raises(DiceError):
        roll("999999d6", rng=source)
    assert source.rolled == 0
    with pytest.raises(DiceError):
        roll("12#900d6", rng=source)
    assert source.rolled == 11 * 900


def test_other_limits_can_be_given() -> None:
    limits = Limits(dice=3, rounds=2, sides=20)
    assert roll("3d20", limits=limits, rng=rng.maximum()).value == 60
    for text, code in (("4d20", "budget"), ("3#d", "rounds"), ("d21", "sides")):
        with pytest.raises(DiceError) as caught:
            roll(text, limits=limits)
        assert caught.value.code == code
    assert roll("4d21", rng=rng.maximum()).value == 84


@pytest.mark.parametrize(
    ("text", "face"), [("d6!", 6), ("d6!!", 6), ("d6!p", 6), ("d6r6", 6), ("d6!>4", 5), ("a9", 9), ("1c9", 9)]
)
def test_a_die_may_go_on_as_often_as_the_chain_allows(text: str, face: int) -> None:
    limits = Limits(chain=3)
    goes_on = 3 if "d" in text else 2  # the first dice of a pool are a round too
    assert roll(text, limits=limits, rng=rng.replay([face] * goes_on + [1])).used == goes_on + 1
    with pytest.raises(DiceError) as caught:
        roll(text, limits=limits, rng=rng.replay([face] * (goes_on + 1) + [1]))
    assert caught.value.code == "endless"


def test_added_dice_are_charged() -> None:
    limits = Limits(dice=5)
    assert roll("4d6!", limits=limits, rng=rng.replay([6, 1, 1, 1, 1])).used == 5
    with pytest.raises(DiceError) as caught:
        roll("4d6!", limits=limits, rng=rng.replay([6, 6, 1, 1, 1, 1]))
    assert (caught.value.code, caught.value.span) == ("budget", (0, 4))


def test_computed_attributes_may_be_used_as_often_as_the_limit() -> None:
    limits = Limits(computed=3)
    assert roll("&x=2;x+x+x", limits=limits).value == 6
    with pytest.raises(DiceError) as caught:
        roll("&x=2;x+x+x+x", limits=limits)
    assert (caught.value.code, caught.value.span) == ("budget", (11, 12))


def test_only_short_texts_are_remembered() -> None:
    compiled.cache_clear()
    for text in ("d6" + " " * 62, "d6" + " " * 63, "2#d8" + " " * 70):
        roll(text)
    assert compiled.cache_info().currsize == 1
    roll("2#d6" + " " * 62)
    assert compiled.cache_info().hits == 1


def test_variable_beyond_the_bits_is_refused() -> None:
    assert roll("值", variables={"值": 2**256 - 1}).value == 2**256 - 1
    with pytest.raises(DiceError) as caught:
        roll("值", variables={"值": 2**256})
    assert caught.value.code == "overflow"


ABUSE = [
    "9**9**9",
    "999999999d6",
    "9999999d6",
    "(" * 512,
    "(" * 3000,
    "-" * 2000,
    "+".join(["1"] * 3000),
    "9" * 5000,
    "10000^10000",
    "99^99",
    "(99^99)d20",
    "9999^9999*9999^9999",
    "d(d(d(d(d100))))",
    "d1" * 256,
    "10" + "d1" * 200,
    "1+1*1^-(" * 63 + "1" + ")" * 63,
    "1+1*1^(" * 60 + "1" + ")" * 60,
    "1d9223372036854775807",
    "9223372036854775807+1",
    "99999999999#d6",
    "12#833d6",
    "10000d1000000",
    "5000d65536k2500+5000d65537",
    "((((d6)d6)d6)d6)d6",
    "1/0" + "/0" * 100,
    "*" * 512,
    "（" * 512,
    "\x00" * 512,
    "\ud800d6",
    "3d6\u202e攻击",
    "1+(" * 128,
    "1*(1+(" * 60,
    "1^1*1+(" * 60,
    "1?" * 256,
    "1?1:" * 128,
    "1?1," * 128,
    "[1?1," * 100,
    "[" * 64 + "1?1,1" + "]" * 64,
    "[1?2,(1?2,[1?2,(" * 30,
    "((1?1:" * 80,
    "a[1:" * 120,
    "[1][" * 120,
    "[1][0][x" * 60,
    "[" + "1," * 255,
    "{" * 512,
    "[" * 512,
    "'" * 511,
    "max(" * 128,
    "max(1," * 80,
    "x=1;" * 128,
    "&a=a+1;a",
    "&a=a+a;a",
    "&a=b+b;&b=a+a;a",
    "&a=" + "+".join(["b"] * 50) + ";&b=" + "+".join(["c"] * 50) + ";&c=" + "+".join(["d6"] * 50) + ";a",
    ";".join(f"&{chr(98 + at)}={chr(97 + at)}+{chr(97 + at)}" for at in range(24)) + ";y",
    "x=[1..1000];" + "+".join(["x.sum()"] * 50),
    "[1..1000].sum()^99",
    "12#&x=[1..1000];&y=sum(x);y+y+y+y+y+y+y",
    "12#&x=[1..1000];&y=x.len();" + "y+" * 200,
    "12#&x=[1..1000];&y=x==x;" + "y+" * 200,
    "12#x=[1..1000];" + "x[1:][0]+" * 50,
    "12#x=[1..1000];" + "(x==x)+" * 60,
    "10000d2!",
    "9999d2!!",
    "10000d6r<6",
    "10000d1000000r<999999",
    "10000d6!>0",
    "10000d6min3k5000cs>2f1",
    "10000a2",
    "10000a2m1000000k5",
    "10000c2m1000000",
    "b9999",
    "10000f",
    "1.5^999999",
    "9.9^308.9",
    "1e999",
    "." * 512,
    "1" + "." * 511,
    "10.0^308*10",
    "-" * 512,
    "1" + "!" * 511,
    "d6" + "!" * 510,
    "d6" + "r1" * 255,
    "d6" + "[a]" * 170,
    "d6!p" * 128,
    "1&&" * 170,
    "1||0&&" * 80 + "1",
    "3?" * 256,
    "1==" * 170 + "1",
    "99999999999999?",
    "[1..999]kh999min999999999",
]


@pytest.mark.parametrize("text", ABUSE, ids=range(len(ABUSE)))
@pytest.mark.parametrize("dialect", ["seal", "onedice", "roll20"])
def test_abuse_ends_at_once_in_a_value_or_a_dice_error(text: str, dialect: str) -> None:
    best = min(_seconds(text, dialect) for _ in range(3))
    assert best < 0.02


def _seconds(text: str, dialect: str) -> float:
    """The time of one roll with its text, nothing prepared."""
    compiled.cache_clear()
    start = time.perf_counter()
    span = (0, 0)
    try:
        shown = roll(text, dialect=dialect).text
    except DiceError as error:
        shown, span = error.message, error.span
    seconds = time.perf_counter() - start
    assert 0 <= span[0] <= span[1] <= len(text)
    assert len(shown.encode("utf-8", "replace")) < 4096
    return seconds


def test_deep_text_within_the_limits_needs_no_deep_stack() -> None:
    text = "1+1*1^(" * 63 + "(1)" + ")" * 63
    assert len(text) == 507
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: roll(text).value).result(10) == 2


def test_a_caller_with_little_stack_left_gets_a_dice_error() -> None:
    text = "(" * 60 + "d6" + ")" * 60

    def descend(levels: int) -> int:
        if levels:
            return descend(levels - 1)
        for read in (roll, split_command):
            with pytest.raises(DiceError) as caught:
                read(text)
            assert caught.value.code == "depth"
        return 1

    used = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        used += 1
    assert descend(sys.getrecursionlimit() - used - 90) == 1
