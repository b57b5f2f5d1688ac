"""Owns polynomials with non-negative integer coefficients: packed into one integer, multiplied, raised."""

from __future__ import annotations

from collections.abc import Sequence

from plugins.dice.engine.odds.work import Work, digits, product_steps

PACK_STEPS = 8  # to pack or unpack one coefficient


def slot(most: int) -> int:
    """The bytes of a slot that holds coefficients up to `most`."""
    return most.bit_length() // 8 + 1


def packed(coefficients: Sequence[int], width: int) -> int:
    """The integer whose slots of `width` bytes are the coefficients, so that integer products are theirs."""
    return int.from_bytes(b"".join([count.to_bytes(width, "little") for count in coefficients]), "little")


def unpacked(value: int, width: int, length: int) -> list[int]:
    """The first `length` slots of `value`."""
    data = value.to_bytes(max(width * length, value.bit_length() // 8 + 1), "little")
    return [int.from_bytes(data[at : at + width], "little") for at in range(0, width * length, width)]


def product(left: Sequence[int], right: Sequence[int], work: Work) -> list[int]:
    """The coefficients of the product."""
    length = len(left) + len(right) - 1
    width = slot(sum(left) * sum(right))
    work.charge(2 * PACK_STEPS * length + product_steps(8 * width * len(left), 8 * width * len(right)))
    return unpacked(packed(left, width) * packed(right, width), width, length)


def power(coefficients: Sequence[int], exponent: int, work: Work, length: int | None = None) -> list[int]:
    """The first `length` (None: all) coefficients of a power; the first coefficient must not be 0."""
    whole = (len(coefficients) - 1) * exponent + 1
    wanted = whole if length is None else min(length, whole)
    width = slot(sum(coefficients) ** exponent)
    terms = [(at, count) for at, count in enumerate(coefficients) if count and at]
    by_series = wanted * (5 + len(terms) * (6 + digits(8 * width) / 6))
    by_product = 2 * product_steps(4 * width * whole, 4 * width * whole) + 2 * PACK_STEPS * wanted
    work.charge(min(by_series, by_product))
    if by_product < by_series:
        return unpacked(packed(coefficients, width) ** exponent, width, wanted)
    return _series_power(coefficients[0], terms, exponent, wanted)


def _series_power(first: int, terms: list[tuple[int, int]], exponent: int, wanted: int) -> list[int]:
    """A power by its differential equation: f·g' = exponent·f'·g for g = f**exponent."""
    found = [first**exponent]
    for at in range(1, wanted):
        total = sum([((exponent + 1) * back - at) * count * found[at - back] for back, count in terms if back <= at])
        found.append(total // (at * first))
    return found


def die_power(sides: int, count: int, work: Work) -> list[int]:
    """The coefficients of (1 + x + … + x**(sides-1)) ** count: how often each sum of dice comes, from the lowest.

    A recurrence of three terms, for the lower half only: the sums are symmetric.
    """
    length = (sides - 1) * count + 1
    work.check_values(length)
    if count == 1 or sides == 1:
        work.charge(length)
        return [1] * length
    work.charge(length / 2 * (12 + 0.6 * digits(count * sides.bit_length())))
    found = [1]
    half = (length + 1) // 2
    for at in range(1, half):
        total = (at - 1 + count) * found[at - 1]
        if at >= sides:
            total += (at - sides - count * sides) * found[at - sides]
        if at > sides:
            total += (count * (sides - 1) - at + sides + 1) * found[at - sides - 1]
        found.append(total // at)
    return found + found[: length - half][::-1]
