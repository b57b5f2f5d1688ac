"""What is asked of a distribution, what large ones look like, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.dice.engine import DiceError, rng, roll
from plugins.dice.engine.names import Computed
from plugins.dice.engine.odds import Distribution, odds
from plugins.dice.engine.odds.work import MOST_VALUES, WORK_STEPS, Work

SAMPLES = 4000
SHARDS = [
    *"0123456789dDkKqQxX+-*/%^#()（）×÷；＃ｄ６. \u200b≥力_$[]{}?!:;,&|<>=abcfmpr'",
    *[
        "kh",
        "dl",
        "3d6",
        "4d6k3",
        "//",
        "x=1d6;",
        "&y=d4;",
        "10a5",
        "5c8",
        "4df",
        "[1d6,2]",
        "max(",
        "优势",
        "ro1",
        "!!",
    ],
]
texts = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(SHARDS), max_size=25).map("".join))


def refusal(text: str, **settings: object) -> DiceError:
    with pytest.raises(DiceError) as caught:
        odds(text, **settings)  # type: ignore[arg-type]
    return caught.value


def test_the_questions_have_the_answers_of_three_dice() -> None:
    three = odds("3d6 三围")
    assert (three.minimum, three.maximum, three.mode) == (3, 18, 10)
    assert (three.mean, three.variance, three.tail) == (Fraction(21, 2), Fraction(35, 4), 0)
    assert three.sd == pytest.approx(2.9580398915)
    assert three.at_least(15) == Fraction(20, 216)
    assert three.at_most(4) == Fraction(4, 216)
    assert three.at_least(19) == three.at_most(2) == three.equals(2) == 0
    assert three.at_least(-5) == three.at_most(99) == 1
    assert three.equals(3) == Fraction(1, 216)
    assert three.percentile(18) == 100
    assert three.percentile(10) == 50
    assert [three.quantile(share) for share in (0, 0.5, Fraction(1, 216), 1)] == [3, 10, 3, 18]
    assert (three.expression, three.rest) == ("3d6", " 三围")
    assert list(three.probabilities) == list(range(3, 19))


def test_a_comparison_is_a_probability() -> None:
    check = odds("４ｄ６ｋ３ ≥ 15")
    assert check.probabilities == {0: Fraction(996, 1296), 1: Fraction(300, 1296)}
    assert check.mean == Fraction(300, 1296)


def test_a_constant_has_one_value() -> None:
    assert odds("2*3+1").probabilities == {7: Fraction(1)}


def test_texts_have_probabilities_but_no_mean() -> None:
    words = odds("1d4>3?'大':'小'")
    assert words.probabilities == {"大": Fraction(1, 4), "小": Fraction(3, 4)}
    assert words.mode == "小"
    with pytest.raises(DiceError) as caught:
        _ = words.mean
    assert caught.value.code == "type"


LARGE = """
    1000d6 100d6kh50 100d20kl40 200d100 30d10!a9 50d6!+3 20d6!p 10a9k7 8a8k6m12 10c7 12c9m8 40df b3 p4
    60d10ro<3k20 80d6r1 200d6min3 90d20max15 5d20min10+20d4 (2d6)d8 (1d4)d6*3-2d4 [6d6,4d10,7d4]kh
    x=2d6;x*x+1d100 60d8dl10 9d6!!a8 30d6>30d6 1d100<=65 3d6>=11?2d8:1d4 8d6!k6 20d6!dl5 4d6ro1!
"""


@pytest.mark.parametrize("text", LARGE.split())
def test_samples_of_the_engine_have_the_mean_within_five_sigma(text: str) -> None:
    source = rng.seeded(text.encode())
    sample = fmean(roll(text, rng=source).value for _ in range(SAMPLES))  # type: ignore[misc]
    answer = odds(text)
    assert answer.rest == ""
    assert sum(answer.probabilities.values()) + answer.tail == 1
    assert abs(sample - float(answer.mean)) <= 5 * answer.sd / SAMPLES**0.5 + 1e-6


ENDS = """
    1d6 3d6 100d6kh50 100d6kl7 30d10dh4 1000d6 12d8+5 3d6*4 4df 3d20min10 200d6max4 7a0k5 1d6*1d8
    (1d6)d10 [4d6,3d8]kh 60d6a5 1d20优势 9c11 d100+d100*2 2d6/3 x=1d6;x+x+1d4 1d6>3?2d8:1d4 60d10ro<3
"""


@pytest.mark.parametrize("text", ENDS.split())
def test_the_ends_are_those_of_the_lowest_and_highest_dice(text: str) -> None:
    answer = odds(text)
    low, high = roll(text, rng=rng.minimum()).value, roll(text, rng=rng.maximum()).value
    if text.startswith(("1d6>3?", "60d10ro")):  # the lowest dice do not give the lowest value there
        assert answer.minimum <= low  # type: ignore[operator]
    else:
        assert (answer.minimum, answer.maximum) == (low, high)


@pytest.mark.parametrize(
    ("whole", "low", "high"),
    [("30d6", "30d6q10", "30d6k20"), ("9d20", "9d20kl1", "9d20dl1"), ("8d3", "8d3dh5", "8d3k5")],
)
def test_what_is_kept_and_what_is_dropped_have_the_mean_of_all(whole: str, low: str, high: str) -> None:
    assert odds(low).mean + odds(high).mean == odds(whole).mean


def test_low_keeps_mirror_high_ones() -> None:
    low, high = odds("40d12kl13").probabilities, odds("40d12kh13").probabilities
    assert low == {13 * 13 - value: share for value, share in reversed(high.items())}


def test_the_tail_is_exactly_what_the_values_leave() -> None:
    die = odds("1d6!")
    assert die.tail > 0
    assert die.equals(6) == 0
    assert die.equals(7) == Fraction(1, 36)
    assert die.equals(13) == Fraction(1, 216)
    known = sum(Fraction(1, 6 ** ((value - 1) // 6 + 1)) for value in die.probabilities)
    assert die.tail == 1 - known
    assert die.at_least(2) == Fraction(5, 6)  # the tail is part of it
    assert die.at_least(10**6) == die.tail


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *[
            (text, "odds")
            for text in ("10000d6", "100d100k50", "1d100001", "100d100*100d100", "1000000d6!", "[1d6,2d6]")
        ],
        *[
            (text, "odds")
            for text in ("4d6!!k3", "1d6!r1", "10-1d6!", "2*(0-1d6!)", "1d6!%2", "1d6!>1d6", "3#d20", "4d6!>3k2")
        ],
        *[(text, "odds") for text in ("x=1d6!;x+x", "[1..1d6]", "x=[1d6,1d4];max(x)+min(x)", "1d1000*1d1000*1d1000")],
        *[("10001d6", "budget"), ("0d6", "count"), ("1d0", "sides"), ("1d6/(1d6-1)", "division"), ("攻击+1", "name")],
        *[("1d6r<7", "endless"), ("1d6!>0", "endless"), ("3a1", "pool"), ("2^1d300", "overflow"), ("(((", "syntax")],
        *[("4d6k0", "keep"), ("", "syntax"), ("9" * 600, "too_long"), ("&x=x+1;x", "budget"), ("1d6+'a'", "type")],
    ],
)
def test_what_cannot_be_answered_is_refused(text: str, code: str) -> None:
    error = refusal(text)
    if text != "1000000d6!":
        assert error.code == code
    assert error.message
    assert 0 <= error.span[0] <= error.span[1] <= len(text)


def test_an_unknown_dialect_is_refused() -> None:
    assert refusal("1d6", dialect="latin").code == "dialect"


def test_the_number_of_values_is_bounded_at_n_and_n_plus_one() -> None:
    assert len(odds(f"1d{MOST_VALUES}").weights.counts) == MOST_VALUES
    assert "结果太多" in refusal(f"1d{MOST_VALUES + 1}").message


def test_the_work_is_bounded_at_its_last_step() -> None:
    work = Work()
    work.charge(WORK_STEPS - 1)
    assert work.left == 0
    with pytest.raises(DiceError):
        work.charge(0)


def test_computed_attributes_are_drawn_anew_at_each_use() -> None:
    held = {"伤害": Computed("1d6"), "双倍": Computed("伤害+伤害"), "力量": 3}
    assert odds("双倍+力量", variables=held).probabilities == odds("2d6+3").probabilities
    assert odds("x=伤害;x+x", variables=held).probabilities == odds("1d6*2").probabilities


def test_a_computed_attribute_that_needs_an_assigned_name_is_conditioned_on_it() -> None:
    assert odds("x=1d6;双", variables={"双": Computed("x+x")}).probabilities == odds("1d6*2").probabilities


def test_computed_attributes_in_many_cases_are_answered_and_endless_ones_refused() -> None:
    held = {"伤害": Computed("1d6"), "甲": Computed("乙+乙"), "乙": Computed("甲+甲"), **_doubling(14)}
    many = odds("x=1d30;y=1d40;x*y+x+y+伤害", variables=held)  # more cases than a roll may use attributes
    assert many.mean == Fraction(31, 2) * Fraction(41, 2) + 36 + Fraction(7, 2)
    assert refusal("甲", variables=held).code == "budget"
    assert refusal("n14", variables=held).span == (0, 3)


def _doubling(depth: int) -> dict[str, Computed]:
    """Attributes of which the last uses the first 2**depth times."""
    return {"n0": Computed("1d2"), **{f"n{at}": Computed(f"n{at - 1}+n{at - 1}") for at in range(1, depth + 1)}}


def test_default_sides_stand_for_those_not_written() -> None:
    assert odds("2d", default_sides=4).probabilities == odds("2d4").probabilities


@settings(max_examples=500, deadline=None)
@given(texts)
def test_no_text_raises_anything_but_a_dice_error(text: str) -> None:
    span = (0, 0)
    answer: Distribution | None = None
    try:
        answer = odds(text, variables={"力": 3, "_": Computed("1d4")})
    except DiceError as error:
        span = error.span
    assert 0 <= span[0] <= span[1] <= len(text)
    if answer is not None:
        assert sum(answer.weights.counts.values()) + answer.weights.tail == answer.weights.total
        assert min(answer.weights.counts.values()) > 0
        assert text.endswith(answer.rest)
