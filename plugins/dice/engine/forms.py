"""Owns the closures of everything but dice: operators, choices, lists, names, assignments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plugins.dice.engine.arithmetic import ARITHMETIC, Arithmetic, bounded, mixed
from plugins.dice.engine.context import Context
from plugins.dice.engine.errors import DiceError, Span, quoted
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.names import Computed, Held
from plugins.dice.engine.terms import Closure, IntClosure
from plugins.dice.engine.values import Number, Scalar, Value, finite, items, number, numbers, truth, whole

# sign, function, right operand, its characters, those of the whole
Step = tuple[str, Arithmetic, Closure, Span, Span]
# Takes the text of a computed attribute, which the user did not type here.
Compile = Callable[[str], Closure]


def constant(value: Value) -> Closure:
    return lambda context: value


def as_whole(closure: Closure, span: Span) -> IntClosure:
    """`closure` where only an integer will do."""

    def run(context: Context) -> int:
        value = closure(context)
        return value if value.__class__ is int else whole(value, span)

    return run


def negative(operand: Closure, span: Span) -> Closure:
    return lambda context: -number(operand(context), span)


def chain(first: Closure, steps: Sequence[Step], limits: Limits) -> Closure:
    """A chain of operators of equal standing, evaluated from left to right."""
    bits = limits.integer_bits

    def run(context: Context) -> Value:
        value = first(context)
        for sign, combine, operand, blamed, span in steps:
            right = operand(context)
            if value.__class__ is int and right.__class__ is int:
                value = combine(value, right, bits, span)
            else:
                if isinstance(value, tuple):
                    context.scoped().charge_items(len(value), span, limits)
                value = mixed(sign, value, right, blamed, span)
        return value

    return run


def both(left: Closure, right: Closure) -> Closure:
    """`&&`: the left value if it is false, else the right one."""

    def run(context: Context) -> Value:
        value = left(context)
        return right(context) if truth(value) else value

    return run


def either(left: Closure, right: Closure) -> Closure:
    """`||`: the left value if it is true, else the right one."""

    def run(context: Context) -> Value:
        value = left(context)
        return value if truth(value) else right(context)

    return run


def choice(branches: Sequence[tuple[Closure, Closure]], otherwise: Closure) -> Closure:
    def run(context: Context) -> Value:
        for condition, value in branches:
            if truth(condition(context)):
                return value(context)
        return otherwise(context)

    return run


def triangle(operand: IntClosure, bits: int, span: Span) -> Closure:
    def run(context: Context) -> int:
        last = operand(context)
        if last < 0:
            raise DiceError("type", span, "阶加的数不能是负数")
        return bounded(last * (last + 1) // 2, bits, span)

    return run


def list_of(parts: Sequence[Closure], span: Span) -> Closure:
    def run(context: Context) -> Value:
        return tuple([_item(part(context), span) for part in parts])

    return run


def _item(value: Value, span: Span) -> Scalar:
    if isinstance(value, tuple):
        raise DiceError("type", span, "列表里不能再放列表")
    return value


def range_of(first: IntClosure, last: IntClosure, limits: Limits, span: Span) -> Closure:
    def run(context: Context) -> Value:
        start, end = first(context), last(context)
        if abs(end - start) >= limits.items:
            raise DiceError("items", span, f"列表太长：最多 {limits.items} 项")
        context.scoped().charge_items(abs(end - start) + 1, span, limits)
        return tuple(range(start, end + 1) if start <= end else range(start, end - 1, -1))

    return run


def index(of: Closure, at: IntClosure, span: Span) -> Closure:
    def run(context: Context) -> Value:
        found, place = items(of(context), span), at(context)
        if not -len(found) <= place < len(found):
            raise DiceError("index", span, f"列表只有 {len(found)} 项，没有这一项")
        return found[place]

    return run


def slice_of(
    of: Closure, first: IntClosure | None, last: IntClosure | None, limits: Limits, span: Span
) -> Closure:  # fmt: skip
    def run(context: Context) -> Value:
        found = items(of(context), span)
        context.scoped().charge_items(len(found), span, limits)
        start = first(context) if first is not None else None
        return found[start : last(context) if last is not None else None]

    return run


def total(found: Sequence[Number], bits: int, span: Span) -> Number:
    """The sum of `found`, within bounds."""
    value = sum(found)
    return bounded(value, bits, span) if isinstance(value, int) else finite(value, span)


def call(function: str, arguments: Sequence[Closure], limits: Limits, span: Span) -> Closure:
    """`sum`, `max`, `min` or `len` of one list, or of the arguments."""

    def run(context: Context) -> Value:
        values = [argument(context) for argument in arguments]
        found = values[0] if len(values) == 1 else tuple([_item(value, span) for value in values])
        if function == "len":
            return len(items(found, span))
        listed = found if isinstance(found, tuple) else (found,)
        context.scoped().charge_items(len(listed), span, limits)
        numbered = numbers(listed, span)
        if function == "sum":
            return total(numbered, limits.integer_bits, span)
        if not numbered:
            raise DiceError("items", span, "空列表没有最大值和最小值")
        return max(numbered) if function == "max" else min(numbered)

    return run


def named(name: str, site: int, span: Span, limits: Limits, compile_text: Compile) -> Closure:
    """The value of a name: assigned in this message, or the resolver's."""

    def run(context: Context) -> Value:
        scope = context.scope
        held: Held | Closure | None = None
        if scope is not None:
            held = scope.values.get(name)
        if held is None:
            held = context.resolver.resolve(name)
            if held is None:
                raise DiceError("name", span, f"没有名为{quoted(name)}的属性")
        if held.__class__ is int:
            value: Value = bounded(held, limits.integer_bits, span)
        elif scope is not None and isinstance(held, tuple) and name in scope.values:
            value = held  # made by an expression of this message: nothing to check
        else:
            value = _held(held, context, site, span, limits, compile_text)
        context.trace.append((site, 0, (), 0, value))
        return value

    return run


def _held(
    held: Held | Closure, context: Context, site: int, span: Span, limits: Limits, compile_text: Compile
) -> Value:  # fmt: skip
    if isinstance(held, Computed):
        text = held.text
        return _computed(lambda inner: compile_text(text)(inner), context, site, span, limits)
    if callable(held):
        return _computed(held, context, site, span, limits)
    if isinstance(held, int):
        return bounded(int(held), limits.integer_bits, span)
    if isinstance(held, str):
        return held
    if isinstance(held, float):
        return finite(held, span)
    found = _held_list(held, limits, span)
    context.scoped().charge_items(len(found), span, limits)
    return found


def _held_list(held: object, limits: Limits, span: Span) -> tuple[Scalar, ...]:
    if isinstance(held, Sequence) and len(held) <= limits.items:
        found = tuple(held)
        if all(isinstance(item, int | float | str) for item in found):
            return found
    raise DiceError("type", span, "这个属性的值不是整数、小数、文字或它们的列表")


def _computed(closure: Closure, context: Context, site: int, span: Span, limits: Limits) -> Value:
    """The value of a computed attribute; errors and dice within it are those of its name."""
    scope = context.scoped()
    scope.enter(span, limits)
    outer, context.trace = context.trace, []
    try:
        value = closure(context)
    except DiceError as error:
        raise error.moved(span) from None
    finally:
        inner, context.trace = context.trace, outer
        scope.nested -= 1
    outer.extend((site, *entry[1:]) for entry in inner if entry[1])
    return value


def assign(name: str, value: Closure, computed: bool) -> Closure:
    def run(context: Context) -> Value:
        scope = context.scoped()
        if computed:
            scope.values[name] = value
            return ""
        found = value(context)
        scope.values[name] = found
        return found

    return run


def steps(closures: Sequence[Closure]) -> Closure:
    *before, last = closures

    def run(context: Context) -> Value:
        for closure in before:
            closure(context)
        return last(context)

    return run


def step(sign: str, operand: Closure, blamed: Span, span: Span) -> Step:
    return sign, ARITHMETIC[sign], operand, blamed, span
