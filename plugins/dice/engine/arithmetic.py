"""Owns integer arithmetic within bounds: every result is checked, every refusal is a DiceError."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from plugins.dice.engine.errors import DiceError, Span

# left, right, the most bits of a result, the characters to blame
Arithmetic = Callable[[int, int, int, Span], int]


def bounded(value: int, bits: int, span: Span) -> int:
    """`value` if it fits `bits` bits; DiceError `overflow` otherwise."""
    if value.bit_length() > bits:
        raise DiceError("overflow", span, f"结果太大：整数最多 {bits} 位二进制")
    return value


def add(left: int, right: int, bits: int, span: Span) -> int:
    return bounded(left + right, bits, span)


def subtract(left: int, right: int, bits: int, span: Span) -> int:
    return bounded(left - right, bits, span)


def multiply(left: int, right: int, bits: int, span: Span) -> int:
    return bounded(left * right, bits, span)


def truncate(left: int, right: int, bits: int, span: Span) -> int:
    """The quotient, rounded toward zero."""
    quotient = abs(left) // abs(_divisor(right, span))
    return quotient if (left < 0) == (right < 0) else -quotient


def floor(left: int, right: int, bits: int, span: Span) -> int:
    """The quotient, rounded down."""
    return left // _divisor(right, span)


def remainder(left: int, right: int, bits: int, span: Span) -> int:
    """What `truncate` leaves, with the sign of `left`."""
    rest = abs(left) % abs(_divisor(right, span))
    return -rest if left < 0 else rest


def power(base: int, exponent: int, bits: int, span: Span) -> int:
    """`base` to the `exponent`; the size is estimated before anything is computed."""
    if exponent < 0:
        raise DiceError("power", span, "指数不能是负数")
    if (base.bit_length() - 1) * exponent >= bits and abs(base) > 1:
        raise DiceError("overflow", span, f"结果太大：整数最多 {bits} 位二进制")
    return bounded(base**exponent, bits, span)


def _divisor(value: int, span: Span) -> int:
    if value == 0:
        raise DiceError("division", span, "除数不能为零")
    return value


ARITHMETIC: MappingProxyType[str, Arithmetic] = MappingProxyType(
    {"+": add, "-": subtract, "*": multiply, "/": truncate, "//": floor, "%": remainder, "^": power}
)
