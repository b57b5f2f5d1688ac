"""Owns the limits of one roll; every one is checked before the work it bounds is done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one message may ask for. Counts are inclusive: the limit itself is allowed."""

    characters: int = 512  # of the whole text, after folding
    count_digits: int = 9  # digits of a literal die count, side count or keep count
    number_digits: int = 18  # digits of any other literal
    dice: int = 10_000  # dice of one message, shared by all its rounds
    sides: int = 1_000_000
    depth: int = 64  # nested brackets
    operators: int = 256  # infix operators, signs and chained dice
    integer_bits: int = 256
    rounds: int = 12
    chain: int = 100  # dice that one die may bring by exploding or re-rolling; rounds of a pool
    items: int = 1000  # of a list
    listed: int = 10_000  # list items that one message works on, counted anew for each operation
    computed: int = 1000  # uses of computed attributes
    reason_characters: int = 200  # a longer reason is cut
    detail_faces: int = 50  # faces of one term that are written out
    detail_bytes: int = 1024  # UTF-8 bytes of the detail; a longer one is folded


DEFAULT_LIMITS = Limits()
