"""Owns dice that bring further dice: explosions, pools and crosses, exact up to a bound with the tail's mass."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import ceil, exp, log

from plugins.dice.engine.odds.polynomial import power, product
from plugins.dice.engine.odds.weights import Weights, listed
from plugins.dice.engine.odds.work import Work, digits

TAIL_LOG = log(1e12)  # tails are kept below 1e-12
BOUND_TRIES = 48
BOUND_STEPS = 200  # to find the bound, for each different number that a face adds
MOST_EXPONENT = 600.0


def open_sum(count: int, stop: Mapping[int, int], go: Mapping[int, int], work: Work, reach: int = 1) -> Weights:
    """The sum of `count` dice with their followers: a face in `go` brings one more die, one in `stop` none.

    Both map what a face adds (0 or more) to how many faces do. One die's generating function is
    stop / (sides - go); its power is expanded as a power series, so every count given is exact. The bound is
    one for `reach` times as many dice.
    """
    constant = sum(stop.values()) + sum(go.values()) - go.get(0, 0)
    adding = sorted((score, number) for score, number in go.items() if score)
    lowest = min(stop)
    base = [stop.get(score, 0) for score in range(lowest, max(stop) + 1)]
    if not adding:
        return listed(count * lowest, power(base, count, work), constant**count)
    work.charge(BOUND_STEPS * (len(stop) + 2 * len(go)))
    length = _bound(count * reach, stop, go) - count * lowest + 1
    work.check_values(length)
    chained = length // adding[0][0]
    total: int = constant ** (count + chained)
    work.charge(length * (5 + len(adding) * (6 + digits(total.bit_length()) / 6)))
    followers = [constant**chained]
    for at in range(1, length):
        terms = [
            number * (at - score + count * score) * followers[at - score] for score, number in adding if score <= at
        ]
        followers.append(sum(terms) // (at * constant))
    counts = product(power(base, count, work, length), followers, work)[:length]
    return listed(count * lowest, counts, total, total - sum(counts))


def _bound(count: int, stop: Mapping[int, int], go: Mapping[int, int]) -> int:
    """A value that the sum exceeds with less than the tail's mass: the best of some Chernoff bounds."""
    sides = sum(stop.values()) + sum(go.values())
    low, high = 0.0, MOST_EXPONENT / max([*stop, *go])
    if _moment(go, high) >= sides:
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if _moment(go, middle) >= sides else (middle, high)
        high = low
    bounds = []
    for at in range(1, BOUND_TRIES):
        t = high * at / BOUND_TRIES
        growth = log(_moment(stop, t)) - log(sides - _moment(go, t))
        bounds.append((count * growth + TAIL_LOG) / t)
    return max(ceil(min(bounds)), count * min(stop) + 1)


def _moment(faces: Mapping[int, int], t: float) -> float:
    return sum([number * exp(t * score) for score, number in faces.items()])


def crossed(count: int, line: int, sides: int, score: int, work: Work) -> Weights:
    """A cross: each round with a face of `line` or more scores `score` and goes on with those dice.

    The last round scores its highest face. After r rounds each die is still there with (critical/sides)**r,
    so the chance of an end with at most face t is closed; rounds are listed until the tail is small.
    """
    critical = max(0, sides - line + 1)
    rounds = max(1, ceil((TAIL_LOG + log(count)) / log(sides / critical))) if critical else 1
    ends = min(line - 1, sides)
    bits = (rounds * count + count) * sides.bit_length()
    work.check_values(rounds * ends)
    work.charge(rounds * ends * (10 + 8 * digits(bits)))
    counts = [0] * ((rounds - 1) * score + ends + 1)
    total = sides ** (rounds * count)
    for at in range(rounds):
        gone, there = (sides**at - critical**at) * sides, critical**at
        ways = [(gone + there * face) ** count for face in range(ends + 1)]
        scale = sides ** ((rounds - at - 1) * count)
        for face, (less, more) in enumerate(pairwise(ways), 1):
            counts[at * score + face] += (more - less) * scale
    if not critical:
        return listed(0, counts, total)
    # Later rounds score more than this: values above it are not complete yet.
    counts = counts[: rounds * score + 1]
    return listed(0, counts, total, total - sum(counts))
