"""The engine against others: a plain model in Python, and d20 with the same dice."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.dice.engine import rng, roll


def keep_model(faces: list[int], word: str, number: int) -> int:
    """What `word` with `number` makes of `faces`."""
    ordered = sorted(faces)
    cut = len(faces) - number
    return sum({"kh": ordered[cut:], "kl": ordered[:number], "dh": ordered[:cut], "dl": ordered[number:]}[word])


KEEPS = [
    (word, count, number, sides)
    for word, count, number, sides in itertools.product(("kh", "kl", "dh", "dl"), (2, 3, 5, 8), (1, 2, 4), (4, 20, 300))
    if number < count
]


@pytest.mark.parametrize(("word", "count", "number", "sides"), KEEPS)
def test_keeps_agree_with_the_model(word: str, count: int, number: int, sides: int) -> None:
    for seed in range(5):
        result = roll(f"{count}d{sides}{word}{number}", rng=rng.seeded(bytes([seed])))
        assert result.value == keep_model(result.dice, word, number)
        term = result.detail[0]
        assert sum(face for face, kept in zip(term.faces, term.kept, strict=True) if kept) == result.value
        assert result.text.endswith(f"={result.value}")


CHANGES = ("min3", "max3", "cs>3", "cs<=2", "cs=4", "cs>4f1", "ro1", "ro<3", "r1", "r<3", "!", "!>4", "!p", "!!", "!2")
ALTERED = [
    (count, sides, text)
    for count, sides in ((1, 6), (3, 6), (6, 10), (4, 300))
    for text in CHANGES
    if (sides, text) != (300, "!>4")  # goes on beyond every chain
]


def altered_model(faces: list[int], count: int, sides: int, text: str) -> int:
    """What the dice rolled make for `text`, from the rules alone."""
    first, added = faces[:count], faces[count:]
    if text.startswith("m"):
        return sum(max(face, 3) if text == "min3" else min(face, 3) for face in first)
    if text.startswith("cs"):
        tests = {"cs>3": first_over(3), "cs<=2": lambda f: f <= 2, "cs=4": lambda f: f == 4, "cs>4f1": first_over(4)}
        return sum(map(tests[text], first)) - (first.count(1) if text.endswith("f1") else 0)
    if text.startswith("r"):
        again = (lambda f: f < 3) if "<" in text else (lambda f: f == 1)
        if text.startswith("ro"):
            return sum(face for face in first if not again(face)) + sum(added)
        return sum(face for face in faces if not again(face))
    return sum(faces) - (len(added) if text == "!p" else 0)


def first_over(line: int) -> Callable[[int], bool]:
    return lambda face: face > line


@pytest.mark.parametrize(("count", "sides", "text"), ALTERED)
def test_altered_dice_agree_with_the_model(count: int, sides: int, text: str) -> None:
    for seed in range(8):
        result = roll(f"{count}d{sides}{text}", rng=rng.seeded(bytes([seed, 1])))
        assert result.value == altered_model(result.dice, count, sides, text)


POOLS = list(itertools.product((1, 4, 9), (0, 5, 8, 10), (6, 8), (6, 10)))


@pytest.mark.parametrize(("count", "line", "number", "sides"), POOLS)
def test_pools_and_crosses_agree_with_the_model(count: int, line: int, number: int, sides: int) -> None:
    for seed in range(5):
        result = roll(f"{count}a{line}k{number}m{sides}", rng=rng.seeded(bytes([seed, 2])))
        assert result.value == sum(face >= number for face in result.dice)
        assert result.used == count + sum(face >= line > 0 for face in result.dice)
        if line:
            crossed = roll(f"{count}c{line}m{sides}", rng=rng.seeded(bytes([seed, 3])))
            assert crossed.value == cross_model(crossed.dice, count, line)


def cross_model(faces: list[int], count: int, line: int) -> int:
    value = 0
    while count:
        now, faces = faces[:count], faces[count:]
        count = sum(face >= line for face in now)
        value += 10 if count else max(now)
    return value


TENS = list(itertools.product("bp", range(4)))


@pytest.mark.parametrize(("word", "count"), TENS)
def test_bonus_and_penalty_agree_with_the_model(word: str, count: int) -> None:
    for seed in range(40):
        for dialect in ("seal", "onedice"):
            result = roll(f"{word}{count}", dialect=dialect, rng=rng.seeded(bytes([seed, 4])))
            first, *tens = result.dice
            unit = first % 10
            digits = [face % 10 for face in tens] + ([first // 10 % 10] if dialect == "seal" else [])
            assert result.value == (min if word == "b" else max)(10 * digit + unit or 100 for digit in digits)


class Fixed:
    """Stands in for the module `random` in d20: faces from a list, or all lowest, or all highest."""

    def __init__(self, faces: list[int] | None, highest: bool = False) -> None:
        self.faces = iter(faces) if faces is not None else None
        self.highest = highest

    def randrange(self, sides: int) -> int:
        if self.faces is not None:
            return next(self.faces) - 1
        return sides - 1 if self.highest else 0


def terms() -> st.SearchStrategy[str]:
    keep = st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["kh", "kl"]), st.integers(1, 3)))
    die = st.builds("{}d{}{}".format, st.integers(1, 9), st.integers(1, 400), keep)
    return st.one_of(die, st.integers(0, 99).map(str))


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sign = st.sampled_from(["+", "-", "*", " + ", " - ", "==", "<", ">", "!=", "<=", ">="])
    return st.one_of(st.builds("({}{}{})".format, inner, sign, inner), inner.map("-({})".format))


shared = st.recursive(terms(), joined, max_leaves=8)


@settings(max_examples=300, deadline=None)
@given(shared, st.binary(min_size=1, max_size=4))
def test_lowest_highest_and_fixed_dice_give_what_d20_gives(text: str, key: bytes) -> None:
    d20 = pytest.importorskip("d20")
    rolled = roll(text, rng=rng.seeded(key))
    cases = [
        (roll(text, rng=rng.minimum()).value, Fixed(None)),
        (roll(text, rng=rng.maximum()).value, Fixed(None, highest=True)),
        (rolled.value, Fixed(rolled.dice)),
    ]
    for value, dice in cases:
        d20.expression.random = dice
        try:
            assert d20.roll(text).total == value
        finally:
            d20.expression.random = random
