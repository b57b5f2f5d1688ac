"""The sources of dice: fairness of the mapping, determinism, exhaustion, threads and forks."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence

import pytest

from plugins.dice.engine import DiceError, rng, roll

# Wilson-Hilferty: a chi-square above this has a probability of about 4e-11.
SIGMAS = 6.5


def chi_square_bound(freedom: int) -> float:
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + SIGMAS * part**0.5) ** 3)


def chi_square(faces: Sequence[int], sides: int) -> float:
    counts = Counter(faces)
    assert set(counts) <= set(range(1, sides + 1))
    expected = len(faces) / sides
    return sum((counts[face] - expected) ** 2 for face in range(1, sides + 1)) / expected


@pytest.mark.parametrize("sides", [2, 3, 6, 10, 20, 100, 255, 256, 1000])
def test_system_faces_are_evenly_spread(sides: int) -> None:
    source = rng.system()
    faces = [face for _ in range(40) for face in source.faces(max(500, sides), sides)]
    assert chi_square(faces, sides) < chi_square_bound(sides - 1)


def test_system_singles_are_evenly_spread() -> None:
    faces = [roll("d20").value for _ in range(20_000)]
    assert chi_square([face for face in faces if isinstance(face, int)], 20) < chi_square_bound(19)


def test_system_pairs_are_independent() -> None:
    faces = rng.system().faces(40_000, 6)
    pairs = [6 * (first - 1) + second for first, second in zip(faces[::2], faces[1::2], strict=True)]
    assert chi_square(pairs, 36) < chi_square_bound(35)


def test_system_below_is_evenly_spread() -> None:
    source = rng.system()
    numbers = [source.below(37) + 1 for _ in range(20_000)]
    assert chi_square(numbers, 37) < chi_square_bound(36)


def test_every_face_has_equally_many_accepted_bytes() -> None:
    for sides in range(1, 256):
        table, rejected = rng.byte_tables(sides)
        accepted = bytes(range(256)).translate(table, rejected)
        assert Counter(accepted) == dict.fromkeys(range(1, sides + 1), 256 // sides)


@pytest.mark.parametrize("sides", [1, 2, 6, 255, 256, 257, 65_536, 65_537, 1_000_000, 2**32, 2**32 + 1])
def test_faces_lie_between_one_and_sides(sides: int) -> None:
    for source in (rng.system(), rng.seeded(b"key"), rng.minimum(), rng.maximum()):
        for count in (1, 2, 300):
            faces = source.faces(count, sides)
            assert len(faces) == count
            assert min(faces) >= 1
            assert max(faces) <= sides


def test_large_and_small_counts_share_the_reserve_without_repeats() -> None:
    source = rng.system()
    first, second = bytes(source.faces(6000, 200)), bytes(source.faces(6000, 200))
    assert first[:64] not in second
    assert second[:64] not in first


def test_minimum_and_maximum_show_the_ends() -> None:
    assert list(rng.minimum().faces(3, 1000)) == [1, 1, 1]
    assert list(rng.maximum().faces(3, 1000)) == [1000, 1000, 1000]
    assert (rng.minimum().below(9), rng.maximum().below(9)) == (0, 8)


def test_seeded_dice_depend_on_the_key_alone() -> None:
    one, two, other = rng.seeded(b"key"), rng.seeded(b"key"), rng.seeded(b"kez")
    faces = list(one.faces(200, 20))
    assert faces == list(two.faces(200, 20))
    assert faces != list(other.faces(200, 20))
    assert list(one.faces(50, 1000)) == list(two.faces(50, 1000))
    assert one.below(10**9) == two.below(10**9)


def test_seeded_dice_do_not_depend_on_how_they_are_asked_for() -> None:
    together, single = rng.seeded(b"key"), rng.seeded(b"key")
    for sides in (6, 100, 1000, 100_000):
        assert list(together.faces(700, sides)) == [single.faces(1, sides)[0] for _ in range(700)]


def test_seeded_dice_never_change_between_versions() -> None:
    assert list(rng.seeded(b"plugin-host").faces(8, 20)) == [14, 16, 8, 13, 7, 9, 1, 8]
    assert chi_square(rng.seeded(b"plugin-host").faces(60_000, 6), 6) < chi_square_bound(5)


def test_replay_gives_its_faces_and_then_refuses() -> None:
    source = rng.replay([3, 6])
    assert roll("2d6", rng=source).dice == [3, 6]
    with pytest.raises(DiceError) as caught:
        roll("1+d6", rng=source)
    assert (caught.value.code, caught.value.span) == ("replay", (2, 4))


def test_replay_refuses_a_face_that_the_die_does_not_have() -> None:
    for text, faces in (("d6", [7]), ("d6", [0]), ("2d6k1", [3, -1]), ("(1)d(6)", [7])):
        with pytest.raises(DiceError) as caught:
            roll(text, rng=rng.replay(faces))
        assert (caught.value.code, caught.value.span) == ("replay", (0, len(text)))


def test_replay_serves_below_too() -> None:
    source = rng.replay([3])
    assert source.below(6) == 2
    with pytest.raises(DiceError):
        source.below(6)


def test_below_needs_a_positive_bound() -> None:
    assert rng.system().below(1) == 0
    with pytest.raises(ValueError, match="at least 1"):
        rng.system().below(0)


def test_threads_roll_different_dice() -> None:
    blocks: list[bytes] = []

    def draw() -> None:
        blocks.append(bytes(rng.system().faces(64, 250)))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(set(blocks)) == 8


def test_a_forked_child_does_not_roll_its_parents_reserve() -> None:
    source = rng.system()
    source.faces(1, 249)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, bytes(source.faces(64, 249)))
        os._exit(0)
    ours = bytes(source.faces(64, 249))
    theirs = os.read(reader, 64)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    assert len(theirs) == 64
    assert theirs != ours
