"""Owns the place in a text while it is parsed: tokens on demand, literals, and the limits of reading."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from plugins.dice.engine.dialect import Dialect
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.lexer import Token, token_at
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.nodes import Node, Number

NEVER = -1


class Reader(ABC):
    """A text and a position in it."""

    __slots__ = ("branching", "dead", "depth", "dialect", "furthest", "limits", "operators", "peeked", "position",
                 "steps", "text")  # fmt: skip

    def __init__(self, text: str, dialect: Dialect, limits: Limits) -> None:
        self.text = text
        self.dialect = dialect
        self.limits = limits
        self.position = 0
        self.depth = 0
        self.operators = 0
        self.steps = 0  # operands read, those of failed attempts too: keeps the way back from costing too much
        self.branching = False  # whether a `:` ends the branch of a choice here, so no name may swallow it
        self.dead = NEVER  # the infix operator that failed: nobody tries it again, so parsing stays linear
        self.furthest: DiceError | None = None
        self.peeked: tuple[int, Token] = (NEVER, Token("other", "", 0, 0))

    @abstractmethod
    def group(self, token: Token) -> Node:
        """The bracket that `token` opens and what it holds."""

    def peek(self) -> Token:
        """The token at the position, lexed once however often it is asked for."""
        position, token = self.peeked
        if position != self.position:
            token = token_at(self.text, self.position)
            self.peeked = (self.position, token)
        return token

    def glued(self, kind: str) -> Token | None:
        """The next token if it is of `kind` and no space stands before it."""
        token = self.peek()
        return token if token.kind == kind and token.start == self.position else None

    def glued_mark(self, mark: str) -> bool:
        """Whether exactly `mark` stands at the position."""
        return self.text.startswith(mark, self.position)

    def taken(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The match of `pattern` at the position, which moves behind it."""
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def literal(self, token: Token, digits: int) -> Number:
        span = (token.start, token.end)
        if token.end - token.start > digits:
            raise DiceError("literal", span, f"数字太长：这里最多 {digits} 位")
        if "." in token.text:
            if not self.dialect.decimals:
                raise DiceError("decimal", span, "这里只能使用整数，不能使用小数")
            return Number(float(token.text), span)
        return Number(int(token.text), span)

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

    def count_operator(self, token: Token) -> None:
        self.operators += 1
        if self.operators > self.limits.operators:
            message = f"算式太长：最多 {self.limits.operators} 个运算符"
            raise DiceError("operators", (token.start, token.end), message)

    def enter(self, token: Token) -> None:
        """Go one bracket deeper."""
        if self.depth >= self.limits.depth:
            raise DiceError("depth", (token.start, token.end), f"括号嵌套太深：最多 {self.limits.depth} 层")
        self.depth += 1
        self.position = token.end

    def close(self, opening: Token, bracket: str) -> None:
        """Leave the bracket that `opening` opened."""
        closing = self.peek()
        if closing.text != bracket:
            raise DiceError("syntax", (opening.start, max(closing.start, opening.end)), "括号没有闭合，缺少右括号")
        self.position = closing.end
        self.depth -= 1
