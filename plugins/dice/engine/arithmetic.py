"""Owns arithmetic within bounds: every result is checked, every refusal is a DiceError."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import MappingProxyType
from typing import TypeVar

from plugins.dice.engine.errors import DiceError, Span
from plugins.dice.engine.values import Number, Value, finite, kind, number

# left, right, the most bits of a result, the characters to blame
_N = TypeVar("_N", int, float)
Arithmetic = Callable[[int, int, int, Span], Number]


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


def exact(left: int, right: int, bits: int, span: Span) -> Number:
    """The quotient: an integer when it comes out even, else a decimal."""
    quotient, rest = divmod(left, _divisor(right, span))
    return left / right if rest else quotient


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


def both_bits(left: int, right: int, bits: int, span: Span) -> int:
    return left & right


def either_bit(left: int, right: int, bits: int, span: Span) -> int:
    return left | right


def _divisor(value: _N, span: Span) -> _N:
    if value == 0:
        raise DiceError("division", span, "除数不能为零")
    return value


def _comparing(holds: Callable[[int, int], bool]) -> Arithmetic:
    return lambda left, right, bits, span: 1 if holds(left, right) else 0


COMPARISONS = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        "==": operator.eq,
        "!=": operator.ne,
        ">=": operator.ge,
        ">": operator.gt,
    }
)
ARITHMETIC: MappingProxyType[str, Arithmetic] = MappingProxyType(
    {
        "+": add,
        "-": subtract,
        "*": multiply,
        "/": truncate,
        "//": floor,
        ":": exact,
        "%": remainder,
        "^": power,
        "&": both_bits,
        "|": either_bit,
        **{sign: _comparing(holds) for sign, holds in COMPARISONS.items()},
    }
)


def mixed(sign: str, left: Value, right: Value, blamed: Span, span: Span) -> Number:
    """An operation in which an operand is no integer. Raises DiceError `type`, `division`, `power`, `overflow`."""
    if sign in ("==", "!="):
        return 1 if (left == right) == (sign == "==") else 0
    one, other = number(left, span), number(right, blamed)
    if sign in COMPARISONS:
        return 1 if COMPARISONS[sign](one, other) else 0
    if sign in ("&", "|"):
        raise DiceError("type", span, f"按位运算需要整数，不是{kind(left if isinstance(left, float) else right)}")
    try:
        return finite(_decimal(sign, float(one), float(other), span), span)
    except OverflowError:
        raise DiceError("overflow", span, "结果太大：超出了小数能表示的范围") from None


def _decimal(sign: str, left: float, right: float, span: Span) -> float:
    if sign in ("/", ":"):
        return left / _divisor(right, span)
    if sign == "//":
        return left // _divisor(right, span)
    if sign == "%":
        rest = abs(left) % abs(_divisor(right, span))
        return -rest if left < 0 else rest
    if sign == "^":
        return _decimal_power(left, right, span)
    return left + right if sign == "+" else left - right if sign == "-" else left * right


def _decimal_power(base: float, exponent: float, span: Span) -> float:
    if (base < 0 and exponent % 1) or (base == 0 and exponent < 0):
        raise DiceError("power", span, "这个底数不能取这样的指数")
    return float(base**exponent)
