"""Owns the Pratt parser: the longest valid prefix of a folded text becomes a tree, the rest is left."""

from __future__ import annotations

from dataclasses import dataclass

from plugins.dice.engine.dialect import POWER, SIGN, Dialect
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.lexer import Token, name_at, token_at
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.nodes import Binary, Dice, Keep, Name, Negative, Node, Number

_LOW = ("kl", "q", "dl")
_NEVER = -1


@dataclass(frozen=True, slots=True)
class Parsed:
    """A tree, where its text ends, and whether it holds anything but one operand."""

    root: Node
    end: int
    operators: int


def parse(text: str, dialect: Dialect, limits: Limits) -> Parsed:
    """Parse the longest valid prefix of folded `text`; DiceError `syntax` when there is none."""
    parser = _Parser(text, dialect, limits)
    try:
        root = parser.expression(0)
    except DiceError as error:
        furthest = parser.furthest
        if furthest is None or error.code != "syntax" or error.span >= furthest.span:
            raise
        raise furthest from None
    return Parsed(root, parser.position, parser.operators)


class _Parser:
    """One pass over one text. A failed infix operator gives its place back: the prefix stands."""

    __slots__ = ("dead", "depth", "dialect", "furthest", "limits", "operators", "peeked", "position", "text")

    def __init__(self, text: str, dialect: Dialect, limits: Limits) -> None:
        self.text = text
        self.dialect = dialect
        self.limits = limits
        self.position = 0
        self.depth = 0
        self.operators = 0
        self.dead = _NEVER  # the infix operator that failed: nobody tries it again, so parsing stays linear
        self.furthest: DiceError | None = None
        self.peeked: tuple[int, Token] = (_NEVER, Token("other", "", 0, 0))

    def peek(self) -> Token:
        """The token at the position, lexed once however often it is asked for."""
        position, token = self.peeked
        if position != self.position:
            token = token_at(self.text, self.position)
            self.peeked = (self.position, token)
        return token

    def expression(self, floor: int) -> Node:
        """Operands joined by operators that bind at least as tightly as `floor`."""
        start = self.peek().start
        left = self.operand()
        while True:
            token = self.peek()
            if token.kind != "operator" or token.start == self.dead:
                return left
            operator = self.dialect.operators.get(token.text.lower())
            if operator is None or operator.binding < floor:
                return left
            right = self.right_side(token, operator.binding)
            if right is None:
                return left
            left = Binary(operator, left, right, (start, self.position))

    def right_side(self, token: Token, binding: int) -> Node | None:
        """The right operand of the operator `token`; None if none follows (then nothing is consumed)."""
        before = (self.position, self.operators, self.depth)
        self.count_operator(token)
        self.position = token.end
        groups_right = binding == POWER and self.dialect.power_groups_right
        try:
            return self.expression(binding if groups_right else binding + 1)
        except DiceError as error:
            if error.code != "syntax":
                raise
            if self.furthest is None or error.span > self.furthest.span:
                self.furthest = error
        self.position, self.operators, self.depth = before
        self.dead = token.start
        return None

    def operand(self) -> Node:
        token = self.peek()
        if token.kind == "number":
            return self.number(token)
        if token.kind == "die":
            return self.chain(self.dice(None, token, token.start), token.start)
        if token.kind == "open":
            return self.chain(self.group(token), token.start)
        if token.kind == "operator" and token.text in "+-":
            return self.signed(token)
        name = name_at(self.text, token.start)
        if name is None:
            raise DiceError("syntax", (token.start, token.end), "这里缺少一个数字或骰子")
        self.position = name.end
        return Name(name.text, (name.start, name.end))

    def number(self, token: Token) -> Node:
        self.position = token.end
        if "." in token.text:
            raise DiceError("decimal", (token.start, token.end), "这里只能使用整数，不能使用小数")
        counts = self.glued("die") is not None
        digits = self.limits.count_digits if counts else self.limits.number_digits
        return self.chain(self.literal(token, digits), token.start)

    def literal(self, token: Token, digits: int) -> Number:
        span = (token.start, token.end)
        if token.end - token.start > digits:
            raise DiceError("literal", span, f"数字太长：这里最多 {digits} 位")
        return Number(int(token.text), span)

    def glued(self, kind: str) -> Token | None:
        """The next token if it is of `kind` and no space stands before it."""
        token = self.peek()
        return token if token.kind == kind and token.start == self.position else None

    def signed(self, token: Token) -> Node:
        negative = False
        start = token.start
        while token.kind == "operator" and token.text in "+-":
            self.count_operator(token)
            negative ^= token.text == "-"
            self.position = token.end
            following = self.peek()
            if following.kind == "operator" and following.text in "+-" and not self.dialect.stacked_signs:
                raise DiceError("syntax", (start, following.end), "不能连写多个正负号")
            token = following
        operand = self.expression(SIGN)
        return Negative(operand, (start, self.position)) if negative else operand

    def group(self, token: Token) -> Node:
        """A bracket and what it holds. The node keeps the inner span: errors point at what was computed."""
        if self.depth >= self.limits.depth:
            raise DiceError("depth", (token.start, token.end), f"括号嵌套太深：最多 {self.limits.depth} 层")
        self.depth += 1
        self.position = token.end
        node = self.expression(0)
        closing = self.peek()
        if closing.kind != "close":
            raise DiceError("syntax", (token.start, max(closing.start, token.end)), "括号没有闭合，缺少右括号")
        self.position = closing.end
        self.depth -= 1
        return node

    def chain(self, node: Node, start: int) -> Node:
        """`node` and the dice terms glued behind it, each taking the one before as its count."""
        while (token := self.glued("die")) is not None:
            if isinstance(node, Dice):
                self.count_operator(token)
            node = self.dice(node, token, start)
        return node

    def dice(self, count: Node | None, token: Token, start: int) -> Dice:
        self.position = token.end
        if token.text.endswith("%"):
            mark = token.end - 1
            sides: Node | None = Number(100, (mark, token.end))
        else:
            mark, sides = token.end, self.size()
        keep = self.keep()
        return Dice(count, sides, keep, mark, (start, self.position))

    def size(self) -> Node | None:
        """Digits or a bracket glued to the position; None if there is neither."""
        if (token := self.glued("number")) is not None:
            return self.digits(token)
        if (token := self.glued("open")) is not None:
            return self.group(token)
        return None

    def digits(self, token: Token) -> Number:
        if "." in token.text:
            raise DiceError("decimal", (token.start, token.end), "这里只能使用整数，不能使用小数")
        self.position = token.end
        return self.literal(token, self.limits.count_digits)

    def keep(self) -> Keep | None:
        token = self.glued("keep")
        if token is None:
            return None
        self.position = token.end
        number: Node = self.size() or Number(1, (token.start, token.end))
        word = token.text.lower()
        keep = Keep("low" if word in _LOW else "high", word.startswith("d"), number, (token.start, self.position))
        second = self.glued("keep")
        if second is not None:
            raise DiceError("keep", (token.start, second.end), "一个骰子项只能有一个取舍（k/q/dh/dl）")
        return keep

    def count_operator(self, token: Token) -> None:
        self.operators += 1
        if self.operators > self.limits.operators:
            message = f"算式太长：最多 {self.limits.operators} 个运算符"
            raise DiceError("operators", (token.start, token.end), message)
