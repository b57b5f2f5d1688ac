"""The dice engine against d20: rolls per second, exact odds against icepool and dyce, and the battery of its dice.

    python bench/dice.py [--quick] [--json]

Speed: the same five expressions, both engines in turns in one run, the best of several rounds each; `trace` is
`roll(text)`, `text` is `roll(text).text`, `cold` is `roll(text)` with the cache of programs emptied before each roll
(d20: its cache of syntax trees). d20 always builds its text. Odds: the first call in a fresh process each,
imports not counted. Battery:
chi-square over the faces and over pairs of faces of every side count from 2 to 255, operating-system dice.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import d20

from plugins.dice.engine import rng, roll
from plugins.dice.engine.program import compiled
from plugins.dice.engine.rng import Source

EXPRESSIONS = ("1d20+5", "4d6kh3", "10d10", "100d6", "2d20kh1+1d8+3")
GOALS = {"trace": 5.0, "text": 3.0, "cold": 2.0}
WIDTHS = (8, 8, 8, 8, 9)
ODDS_TEXT = "100d6kh50"
ODDS_MODULE = "plugins.dice.engine.odds"
ODDS_PROGRAMS = {  # what is imported, what is timed
    "ours": (f"from {ODDS_MODULE} import odds", f"odds({ODDS_TEXT!r}).probabilities"),
    "icepool": ("import icepool", "dict(icepool.d6.highest(100, 50))"),
    "dyce": ("from dyce import H, P", "P(*[H(6)] * 100).at(slice(50, None))"),
}
TIMED = "import time; {}; s = time.perf_counter(); {}; print(time.perf_counter() - s)"
MOST_SIDES = 255
PAIR_SIDES = (2, 6, 10, 20)
ROOT_OF_TWO = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: rolls per round, rounds, dice per side count of the battery, seconds for a peer's odds."""

    rolls: int
    rounds: int
    dice: int
    sides: tuple[int, ...]
    patience: float


QUICK = Size(rolls=400, rounds=5, dice=20_000, sides=(2, 3, 6, 10, 20, 100, 255), patience=12)
FULL = Size(rolls=2_000, rounds=9, dice=200_000, sides=tuple(range(2, MOST_SIDES + 1)), patience=120)


def best_of_turns(tasks: dict[str, Callable[[], object]], size: Size) -> dict[str, float]:
    """The best seconds per call of each task; the tasks take turns, so that noise meets all of them."""
    best = dict.fromkeys(tasks, math.inf)
    for _ in range(size.rounds):
        for name, task in tasks.items():
            started = time.perf_counter()
            for _ in range(size.rolls):
                task()
            best[name] = min(best[name], (time.perf_counter() - started) / size.rolls)
    return best


def speed(expression: str, size: Size) -> dict[str, float]:
    """Our seconds per roll, and d20's, of one expression."""
    peer = d20.Roller()

    def cold() -> object:
        compiled.cache_clear()
        return roll(expression)

    def peer_cold() -> object:
        peer._parse_cache.clear()
        return peer.roll(expression)

    tasks: dict[str, Callable[[], object]] = {
        "trace": lambda: roll(expression),
        "text": lambda: roll(expression).text,
        "cold": cold,
        "d20": lambda: peer.roll(expression),
        "d20 cold": peer_cold,
    }
    return best_of_turns(tasks, size)


def ratios_of(seconds: dict[str, float]) -> dict[str, float]:
    """How many times as fast as d20 each of our three paths is."""
    return {name: seconds["d20 cold" if name == "cold" else "d20"] / seconds[name] for name in GOALS}


def speed_table(size: Size) -> dict[str, dict[str, float]]:
    """Measure and print the five expressions; their ratios."""
    print(f"{'microseconds':<16}{'trace':>8}{'text':>8}{'cold':>8}{'d20':>8}{'d20cold':>9}   times as fast")
    found = {}
    for expression in EXPRESSIONS:
        seconds = speed(expression, size)
        found[expression] = ratios_of(seconds)
        columns = "".join(
            f"{seconds[name] * 1e6:>{width}.2f}" for name, width in zip(seconds, (8, 8, 8, 8, 9), strict=True)
        )
        print(f"{expression:<16}{columns}   {', '.join(map(verdict, found[expression].items()))}")
    return found


def verdict(pair: tuple[str, float]) -> str:
    """A ratio, and its goal if it misses it."""
    name, ratio = pair
    return f"{name} {ratio:.1f}x" + ("" if ratio >= GOALS[name] else f" (goal {GOALS[name]:g}x missed)")


def installed(module: str) -> bool:
    """Whether `module` can be imported; a missing parent package is a no."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def odds_seconds(name: str, patience: float) -> float | None:
    """Seconds of one first call in a process of its own; None with a printed reason if there is no number."""
    module = ODDS_MODULE if name == "ours" else name
    if not installed(module):
        print(f"odds, {name}: {module} is not installed")
        return None
    command = [sys.executable, "-c", TIMED.format(*ODDS_PROGRAMS[name])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        print(f"odds, {name}: no answer in {patience:g} s")
        return None
    if done.returncode:
        print(f"odds, {name}: {done.stderr.strip().splitlines()[-1]}")
        return None
    seconds = float(done.stdout.split()[-1])
    print(f"odds, {name}: {ODDS_TEXT} in {seconds * 1e3:.1f} ms")
    return seconds


def odds_ratio(patience: float) -> float | None:
    """How many times as fast as icepool our exact odds are."""
    found = {name: odds_seconds(name, patience) for name in ODDS_PROGRAMS}
    ours, peer = found["ours"], found["icepool"]
    return None if ours is None or peer is None else peer / ours


def upper_tail(statistic: float, freedom: int) -> float:
    """The probability of a chi-square of `freedom` at or above `statistic` (Wilson and Hilferty's approximation)."""
    if freedom == 1:
        return math.erfc(math.sqrt(statistic / 2))
    spread = 2 / (9 * freedom)
    distance = ((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    return math.erfc(distance / ROOT_OF_TWO) / 2


def face_chance(source: Source, sides: int, dice: int) -> float:
    """The p-value of the faces of `dice` dice."""
    counts = Counter(source.faces(dice, sides))
    expected = dice / sides
    return upper_tail(sum((counts[face + 1] - expected) ** 2 / expected for face in range(sides)), sides - 1)


def pair_chance(source: Source, sides: int, dice: int) -> float:
    """The p-value of successive pairs that do not overlap."""
    faces = source.faces(2 * dice, sides)
    counts = Counter(zip(faces[::2], faces[1::2], strict=True))
    cells = sides * sides
    expected = dice / cells
    statistic = sum((count - expected) ** 2 / expected for count in counts.values())
    return upper_tail(statistic + (cells - len(counts)) * expected, cells - 1)


def battery(size: Size) -> dict[str, float | int]:
    """Measure and print the dice of operating-system entropy."""
    source = rng.system()
    faces = {sides: face_chance(source, sides, size.dice) for sides in size.sides}
    pairs = {sides: pair_chance(source, sides, size.dice) for sides in PAIR_SIDES}
    worst = min(faces, key=faces.__getitem__)
    low = sum(chance < 0.01 for chance in faces.values())
    print(
        f"chi-square of {len(faces)} side counts, {size.dice} dice each: lowest p {faces[worst]:.2g} (d{worst}), "
        f"{low} below 0.01 ({len(faces) / 100:.1f} expected)"
    )
    print("pairs: " + ", ".join(f"d{sides} p {chance:.2g}" for sides, chance in pairs.items()))
    return {
        "side_counts": len(faces),
        "lowest_p": faces[worst],
        "below_0.01": low,
        "lowest_pair_p": min(pairs.values()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    size = QUICK if options.quick else FULL
    ratios = speed_table(size)
    report = {"ratios": ratios, "odds_vs_icepool": odds_ratio(size.patience), "chi_square": battery(size)}
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
