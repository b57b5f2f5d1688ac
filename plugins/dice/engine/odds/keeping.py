"""Owns keeping: the distribution of the scores of the best dice of some equal ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import comb

from plugins.dice.engine.odds.polynomial import PACK_STEPS, slot, unpacked
from plugins.dice.engine.odds.weights import Weights, listed
from plugins.dice.engine.odds.work import Work, digits
from plugins.dice.engine.values import Scalar

# weight, score: a face by what it adds to the sum
Face = tuple[int, int]


def kept_sum(count: int, keep: int, ranked: Sequence[Face], work: Work) -> Weights:
    """The summed scores of the `keep` best of `count` dice whose faces are `ranked`, the worst first.

    Conditioned on the worst face kept and on how many dice are strictly better; the polynomial of those
    is summed by Horner's rule with all coefficients packed into one integer.
    """
    total = sum(weight for weight, _ in ranked) ** count
    if keep == 1:
        return _best(count, ranked, total, work)
    width = slot(total)
    lowest = min(score for _, score in ranked)
    length = keep * (max(score for _, score in ranked) - lowest) + 1
    work.check_values(length)
    _charge(keep, ranked, width, length, work)
    packed = below = 0
    for at, face in enumerate(ranked):
        better = ranked[at + 1 :]
        base = min([face[1], *(score for _, score in better)])
        part = _with_worst(count, keep, face, below, _Better(better, base, 8 * width))
        packed += part << (8 * width * keep * (base - lowest))
        below += face[0]
    return listed(keep * lowest, unpacked(packed, width, length), total)


def _best(count: int, ranked: Sequence[Face], total: int, work: Work) -> Weights:
    """The score of the single best die: the differences of the cumulative counts."""
    work.charge(len(ranked) * (14 + digits(total.bit_length()) / 5))
    counts: dict[Scalar, int] = {}
    below = before = 0
    for weight, score in ranked:
        below += weight
        ways = below**count
        counts[score] = counts.get(score, 0) + ways - before
        before = ways
    return Weights(counts, total)


def _charge(keep: int, ranked: Sequence[Face], width: int, length: int, work: Work) -> None:
    faces = len(ranked)
    scaled = 1 if len({weight for weight, _ in ranked}) == 1 else 3
    run = _run_of(ranked)
    passes = 2 * faces.bit_length() if run else faces * scaled
    each = 20 + digits(8 * width) + passes * (4 + digits(4 * width * length) / 30)
    work.charge(faces * (20 + (keep - 1) * each / 2) + PACK_STEPS * length + faces**2 / 2)


def _run_of(faces: Sequence[Face]) -> bool:
    """Whether the scores are consecutive, up or down, and all weights are 1."""
    if any(weight != 1 for weight, _ in faces):
        return False
    step = faces[-1][1] - faces[0][1]
    return abs(step) == len(faces) - 1 and all(abs(one[1] - other[1]) == 1 for one, other in pairwise(faces))


class _Better:
    """The polynomial of one die that is strictly better, as something to multiply with."""

    __slots__ = ("base", "bits", "faces", "run", "start")

    def __init__(self, faces: Sequence[Face], base: int, bits: int) -> None:
        self.base = base
        self.bits = bits
        self.run = len(faces) if len(faces) > 3 and _run_of(faces) else 0
        self.start = min(faces[0][1], faces[-1][1]) - base if faces else 0
        merged: dict[int, int] = {}
        for weight, score in () if self.run else faces:
            merged[score - base] = merged.get(score - base, 0) + weight
        self.faces = [(weight, bits * shift) for shift, weight in merged.items()]

    def times(self, value: int) -> int:
        """The packed polynomial `value` times this one."""
        if self.run:
            return self._times_run(value) << (self.bits * self.start)
        return sum([(value if weight == 1 else value * weight) << shift for weight, shift in self.faces])

    def _times_run(self, value: int) -> int:
        """`value` times 1 + x + … of `run` terms, by doubling."""
        found, have = value, 1
        for bit in bin(self.run)[3:]:
            found += found << (self.bits * have)
            have *= 2
            if bit == "1":
                found = (found << self.bits) + value
                have += 1
        return found


def _with_worst(count: int, keep: int, face: Face, below: int, better: _Better) -> int:
    """The packed cases in which `face` is the worst kept one; worse faces have the weight `below` together."""
    weight, score = face
    rest = count - keep
    shift = better.bits * (score - better.base)
    # The ways of the dice that are not better, at most `rest` of which are worse: for one die more, all
    # continuations but those that make one worse die too many.
    ways = (weight + below) ** rest
    spill = below ** (rest + 1)
    found = 0
    for more in range(keep - 1, -1, -1):
        fewer = count - more - 1
        ways = (weight + below) * ways - comb(fewer, rest) * spill
        spill *= weight
        found = (better.times(found) if found else 0) + (comb(count, more) * ways << (shift * (keep - more)))
    return found
