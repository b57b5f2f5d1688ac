"""Owns the work budget: how much one question about odds may compute, and what is said beyond it."""

from __future__ import annotations

from plugins.dice.engine.errors import NOWHERE, DiceError, Span

WORK_STEPS = 2_000_000  # one step is about 25 ns of work on coefficients, so the whole is about 50 ms
MOST_VALUES = 100_000  # of one distribution
DIGIT_BITS = 30
KARATSUBA_DIGITS = 70  # CPython multiplies larger integers by Karatsuba's method


class Work:
    """The steps that are left; charged before the work is done."""

    __slots__ = ("left",)

    def __init__(self, steps: int = WORK_STEPS) -> None:
        self.left = steps

    def charge(self, steps: float) -> None:
        """Pay for `steps`; DiceError `odds` when they are not left."""
        self.left -= int(steps) + 1
        if self.left < 0:
            raise refusal("这个算式的概率太难算，超出了计算量上限")

    def check_values(self, number: int) -> None:
        """DiceError `odds` when a distribution would have too many values."""
        if number > MOST_VALUES:
            raise refusal(f"可能的结果太多：最多 {MOST_VALUES} 种，这里有 {number} 种")


def refusal(message: str, span: Span = NOWHERE) -> DiceError:
    """The error for odds that are not computed."""
    return DiceError("odds", span, message)


def digits(bits: int) -> int:
    """How many machine digits an integer of `bits` bits has."""
    return bits // DIGIT_BITS + 1


def product_steps(bits: int, other: int) -> float:
    """The steps of one multiplication of integers of these sizes."""
    large, small = digits(max(bits, other)), digits(min(bits, other))
    if small <= KARATSUBA_DIGITS:
        return large * small / 25
    block: float = KARATSUBA_DIGITS**2 * (small / KARATSUBA_DIGITS) ** 1.585
    return large / small * block / 25
