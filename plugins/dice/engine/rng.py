"""Owns the sources of dice: operating-system bytes, replayed, lowest, highest, seeded and verifiable faces."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from plugins.dice.engine.errors import NOWHERE, DiceError

BLOCK_BYTES = 4096
BYTE_SIDES = 255  # the most sides whose faces fit a byte
WORD_SIDES = 65_536


class Source(Protocol):
    """What a roll takes its randomness from."""

    def faces(self, count: int, sides: int) -> Sequence[int]:
        """`count` faces, each 1..sides, in roll order (`bytes` where faces fit)."""

    def below(self, bound: int) -> int:
        """One integer of 0..bound-1."""


@lru_cache(maxsize=BYTE_SIDES)
def byte_tables(sides: int) -> tuple[bytes, bytes]:
    """The table from byte to face, and the bytes to reject so that all faces are equally likely."""
    return bytes(byte % sides + 1 for byte in range(256)), bytes(range(256 - 256 % sides, 256))


class _ByteSource(ABC):
    """Faces out of a stream of random bytes, by rejection: the same bytes give the same faces."""

    __slots__ = ()

    @abstractmethod
    def take(self, count: int) -> bytes:
        """The next `count` bytes of the stream."""

    def faces(self, count: int, sides: int) -> Sequence[int]:
        if sides > BYTE_SIDES:
            return self.wide_faces(count, sides)
        table, rejected = byte_tables(sides)
        faces = self.take(count).translate(table, rejected)
        while len(faces) < count:
            faces += self.take(count - len(faces)).translate(table, rejected)
        return faces

    def wide_faces(self, count: int, sides: int) -> tuple[int, ...]:
        """Faces that do not fit a byte, from little-endian words of 2 or 4 bytes (or `below` beyond that)."""
        width, letter = (2, "H") if sides <= WORD_SIDES else (4, "I")
        space = 1 << 8 * width
        if sides > space:
            return tuple(self.below(sides) + 1 for _ in range(count))
        accepted = space - space % sides
        faces: list[int] = []
        while len(faces) < count:
            missing = count - len(faces)
            words = struct.unpack(f"<{missing}{letter}", self.take(width * missing))
            faces.extend([word % sides + 1 for word in words if word < accepted])
        return tuple(faces)

    def below(self, bound: int) -> int:
        if bound < 1:
            raise ValueError("bound must be at least 1")
        bits = (bound - 1).bit_length()
        size = (bits + 7) // 8
        while True:
            number = int.from_bytes(self.take(size), "little") >> (8 * size - bits)
            if number < bound:
                return number


class _Reserve(threading.local):
    """Faces made ahead from operating-system bytes, per thread: no two threads ever share a byte."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[bytes, int]] = {}  # by side count: a block of faces, how many are used up


# The one piece of state in the engine: entropy is the process's, and a block per source object would cost
# each roll a system call. It holds nothing that a caller could observe but speed.
_RESERVE = _Reserve()
# A child process must not roll the faces its parent has in reserve.
os.register_at_fork(after_in_child=lambda: _RESERVE.made.clear())


class SystemSource(_ByteSource):
    """Dice from the operating system's entropy. Holds nothing: the reserve belongs to the thread."""

    __slots__ = ()

    def take(self, count: int) -> bytes:
        return os.urandom(count)

    def faces(self, count: int, sides: int) -> Sequence[int]:
        made = _RESERVE.made
        if sides in made:
            pool, start = made[sides]
            end = start + count
            if end <= len(pool):
                made[sides] = (pool, end)
                return pool[start:end]
        return self.refilled(count, sides)

    def refilled(self, count: int, sides: int) -> Sequence[int]:
        """`count` faces of a new block; what the block holds beyond them goes into reserve."""
        if sides > BYTE_SIDES:
            return self.wide_faces(count, sides)
        table, rejected = byte_tables(sides)
        pool = os.urandom(BLOCK_BYTES).translate(table, rejected)
        while len(pool) < count:
            pool += os.urandom(BLOCK_BYTES).translate(table, rejected)
        _RESERVE.made[sides] = (pool, count)
        return pool[:count]


class SeededSource(_ByteSource):
    """Dice from SHAKE-128 over a key and a block counter: the same key gives the same dice, for ever."""

    __slots__ = ("_block", "_counter", "_key", "_start")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._counter = 0
        self._block = b""
        self._start = 0

    def take(self, count: int) -> bytes:
        while len(self._block) - self._start < count:
            block = hashlib.shake_128(self._counter.to_bytes(8, "big") + self._key).digest(BLOCK_BYTES)
            self._block = self._block[self._start :] + block
            self._start = 0
            self._counter += 1
        start = self._start
        self._start += count
        return self._block[start : self._start]


class VerifiableSource(SeededSource):
    """Dice that a committed secret, a salt and a label decide: with them anyone can roll the same again."""

    __slots__ = ()

    def __init__(self, secret: bytes, salt: bytes, label: str) -> None:
        parts = (secret, salt, label.encode("utf-8", "surrogatepass"))
        # Lengths before the parts: no two different triples make the same key.
        super().__init__(b"dice\x01" + b"".join(len(part).to_bytes(8, "big") + part for part in parts))


class ReplaySource:
    """The faces of a list, in order; DiceError `replay` when they run out or fit no such die."""

    __slots__ = ("_faces", "_next")

    def __init__(self, faces: Iterable[int]) -> None:
        self._faces = tuple(faces)
        self._next = 0

    def faces(self, count: int, sides: int) -> Sequence[int]:
        end = self._next + count
        if end > len(self._faces):
            left = len(self._faces) - self._next
            raise DiceError("replay", NOWHERE, f"重放的骰子不够：还要 {count} 个，只剩 {left} 个")
        faces = self._faces[self._next : end]
        for face in faces:
            if not 1 <= face <= sides:
                raise DiceError("replay", NOWHERE, f"重放的点数 {face} 不是 {sides} 面骰的点数")
        self._next = end
        return faces

    def below(self, bound: int) -> int:
        return self.faces(1, bound)[0] - 1


class MinimumSource:
    """Every die shows 1."""

    __slots__ = ()

    def faces(self, count: int, sides: int) -> Sequence[int]:
        return b"\x01" * count

    def below(self, bound: int) -> int:
        return 0


class MaximumSource:
    """Every die shows its highest face."""

    __slots__ = ()

    def faces(self, count: int, sides: int) -> Sequence[int]:
        return (sides,) * count

    def below(self, bound: int) -> int:
        return bound - 1


def system() -> SystemSource:
    """Dice from operating-system entropy: unbiased, unpredictable, safe in threads and after a fork."""
    return SystemSource()


def seeded(key: bytes) -> SeededSource:
    """Dice that are a function of `key` alone."""
    return SeededSource(key)


def verifiable(secret: bytes, salt: bytes, label: str) -> VerifiableSource:
    """Dice that are a function of the three alone: SHAKE-128 over them and a block counter.

    `secret` is committed to before and revealed after, `salt` is the players' own, `label` names the roll.
    """
    return VerifiableSource(secret, salt, label)


def replay(faces: Iterable[int]) -> ReplaySource:
    """Dice that show `faces` in order."""
    return ReplaySource(faces)


def minimum() -> MinimumSource:
    """Dice that all show their lowest face."""
    return MinimumSource()


def maximum() -> MaximumSource:
    """Dice that all show their highest face."""
    return MaximumSource()
