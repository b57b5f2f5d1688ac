"""Odds against every outcome of a roll: the engine is driven through all faces its dice can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest

from plugins.dice.engine import roll
from plugins.dice.engine.odds import odds

LONGEST = 9


class UnfinishedError(Exception):
    """A roll wanted more dice than the walk goes deep."""


class Path:
    """A source of dice that follows one path of the tree of all outcomes, and can go on to the next."""

    def __init__(self, longest: int) -> None:
        self.taken: list[list[int]] = []  # face and sides of each die
        self.at = 0
        self.longest = longest

    def faces(self, count: int, sides: int) -> Sequence[int]:
        return [self.face(sides) for _ in range(count)]

    def face(self, sides: int) -> int:
        if self.at == self.longest:
            raise UnfinishedError
        if self.at == len(self.taken):
            self.taken.append([1, sides])
        self.at += 1
        return self.taken[self.at - 1][0]

    def below(self, bound: int) -> int:
        return self.face(bound) - 1

    def share(self) -> Fraction:
        share = 1
        for _, sides in self.taken[: self.at]:
            share *= sides
        return Fraction(1, share)

    def forward(self) -> bool:
        """Go to the next path; False after the last."""
        self.at = 0
        while self.taken and self.taken[-1][0] == self.taken[-1][1]:
            self.taken.pop()
        if self.taken:
            self.taken[-1][0] += 1
        return bool(self.taken)


def outcomes(text: str, dialect: str, longest: int) -> tuple[dict[object, Fraction], Fraction]:
    """The probability of each value over all paths, and that of paths that are too long."""
    path, found, unfinished = Path(longest), {}, Fraction(0)
    while True:
        try:
            value = roll(text, rng=path, default_sides=8, dialect=dialect, variables={"力量": 3}).value
            found[value] = found.get(value, Fraction(0)) + path.share()
        except UnfinishedError:
            unfinished += path.share()
        if not path.forward():
            return found, unfinished


def small_terms() -> Iterator[str]:
    for count in (1, 2, 3, 4):
        for sides in (1, 2, 3, 5):
            yield f"{count}d{sides}"
            for keep in range(1, count + 2):
                yield from (f"{count}d{sides}{word}{keep}" for word in ("kh", "kl", "q"))
            for drop in range(count):
                yield from (f"{count}d{sides}{word}{drop}" for word in ("dh", "dl"))


ALTERED = """
    3d4min2 3d4max3 4d4k2min3 4d4q2max2 2d6min9 d8优势 d8劣势min3 d优势 3d4ro 3d4ro<3 2d6ro>4ro1 2d6rok1
    3d4ro1k2 3d4ro1dl1 3d6a5 3d4k2a3 3d4min3a3 4d3q3a2 3d4ro1a3 b p b2 p2 b0 f 3f 2df 2a0 3a11k4 3a0q4
    2a9m6k3 3a0m5k2 2c11m6 2c8m7
"""
ARITHMETIC = """
    2d6+1d4 2d4-3d3 1d6*5 1d6*1d4 (2d6+6)*5 10-2d4 7/1d4 2d6/3 (1d6-4)/2 (1d6-4)//2 (1d6-4)%3 2^1d4 1d4^2
    -2d4 -1d4+1d6 1d6+1.5 1d6*1000+1d4 1d6&3 1d6|1d4 1d6+1d4-1d3 1d6>3 2d6>=7 2d4<1d8 2d4<=1d8 1d6>1d4
    1d6>=2d4 1d4==1d6 1d4!=2 3<1d6 1d6>3.5 1d4-2&&1d6 1d3-1||1d6 1d6>2&&1d4>2 1d6>3?1d8:1d4+10
    1d6>9?1/0:2 1d4>3?'大',1d4>2?'中' 1d2>1?1d3 1d4>3?'大':'小' 1d6==1?0:1d6==2?5:1d4 (1d4)d4 1d4d3 2d(1d4)
    (1d3)d(1d3) 3d4k(1d3) 2d4min(1d4) x=1d6;x+x x=1d4;y=1d4;x*y+x x=1d6;x+1 &x=1d4;x+x x=1d4;x=x+1;x*x
    x=1d4;&y=x+1d3;y-y x=1d6 [2d4,1d6]kh [2d4,1d6]kl [1d4,1d6,1d5]kh2 [1d4,1d6,1d5]q2 [1d4,1d4,1d4]k2
    [1d4,1d4,1d4]dh1 [1d4,6,1d3]min2 max(1d4,1d6) min(1d4,1d6,5) sum([1d4,1d6]) len([1d4,2]) [1d4,1d6][0]
    [5,1d4,7][1d3-1] sum([1..4])+1d4 sum([1d4,1d3,1d5][1:]) x=[1d4,1d3];max(x) 力量*1d4 1d6>力量 d+力量
    1d4+力量*力量 2d%>100
"""
ONEDICE = ["4d4k2", "b", "p2", "2c8", "2c7m6", "1d4?", "[1d4,1d6]", "2d4a3", "1d6|1d4&3"]
ROLL20 = ["3d4>3", "3d4>2f1", "4d3dl1", "3d4ro<2", "1d6/4", "1d6//4", "{1d4,1d6}kh1", "--1d4", "2^1d3^2"]
CASES = [
    *[("seal", text) for text in [*small_terms(), *ALTERED.split(), *ARITHMETIC.split()]],
    *[("onedice", text) for text in ONEDICE],
    *[("roll20", text) for text in ROLL20],
]


@pytest.mark.parametrize(("dialect", "text"), CASES)
def test_odds_are_those_of_all_outcomes(dialect: str, text: str) -> None:
    found, unfinished = outcomes(text, dialect, LONGEST if "c" not in text else 5)
    answer = odds(text, default_sides=8, dialect=dialect, variables={"力量": 3})
    assert answer.rest == ""
    assert sum(answer.probabilities.values()) + answer.tail == 1
    for value in answer.probabilities.keys() | found.keys():
        low = found.get(value, Fraction(0))
        assert low <= answer.equals(value) <= low + unfinished, value
    assert unfinished < Fraction(1, 10)
    assert unfinished or list(answer.probabilities) == sorted(found, key=lambda value: (isinstance(value, str), value))


@pytest.mark.parametrize("text", ["8d4k3", "6d6q2", "7d5dl3", "5d8", "5d9k2min3", "8d4k5a3", "3d6ro1k2", "5d10a8"])
def test_larger_terms_are_those_of_up_to_a_hundred_thousand_outcomes(text: str) -> None:
    found, unfinished = outcomes(text, "seal", LONGEST)
    assert unfinished == 0
    assert odds(text).probabilities == found


OPEN = """
    1d4! 2d3! 2d4!>3 1d6!2 2d4!! 1d6!p 2d4!p>3 2d4!a3 1d6!min3 1d6!max4 2d4!!a7 1d4!!min3 1d4!!max6 2d4r
    2d4r<3 2d4rk1 2d4ror2 2a5k4m5 2a4m5k4 2a3m4q2 2a5m5k6 1a2m2 1d4!+1d4 1d4!+1d3! 1d4!*2 1d4!/2 1d4!+3
    1d4!>=5 3<1d4! 1d3>1?1d4!:2 2c3m3 2c4m6 3c13m12 3d3!k2 2d4!k3 2d4!>2kl1 3d4!dl1 2d4!k1a4 2d4!dl1a4
    2d4!k2min3 2d4ro1! 2d4r1!!a6 2d4ro<3!>3
"""


@pytest.mark.parametrize("text", OPEN.split())
def test_open_dice_agree_with_all_outcomes_as_far_as_those_go(text: str) -> None:
    found, unfinished = outcomes(text, "seal", 7)
    answer = odds(text)
    assert sum(answer.probabilities.values()) + answer.tail == 1
    assert answer.tail < Fraction(1, 10**6)
    assert unfinished < Fraction(2, 3)
    for value in answer.probabilities.keys() | found.keys():
        low = found.get(value, Fraction(0))
        assert low <= answer.equals(value) <= low + unfinished, value
