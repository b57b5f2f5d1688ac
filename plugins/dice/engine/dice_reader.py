"""Owns reading dice terms: `4d6k3`, what may follow a die, pools, crosses, bonus and fate dice."""

from __future__ import annotations

import re

from plugins.dice.engine import lexer
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.lexer import Token
from plugins.dice.engine.nodes import (
    Bonus,
    Bound,
    Comparison,
    Cross,
    Dice,
    Explode,
    Fate,
    Keep,
    Node,
    Number,
    Pool,
    Reroll,
    Tally,
)
from plugins.dice.engine.reader import Reader

_LOW = ("kl", "q", "dl")
_FOLLOWING = frozenset("!rRmMaAcCdD优劣<>=")
_WAYS = {"!": "add", "!!": "compound", "!p": "penetrate"}


class DiceReader(Reader):
    """The part of the parser that knows dice."""

    __slots__ = ()

    def chain(self, node: Node, start: int) -> Node:
        """`node` and the dice terms glued behind it, each taking the one before as its count."""
        while (token := self.glued("die")) is not None:
            if isinstance(node, Dice):
                self.count_operator(token)
            node = self.dice(node, token, start)
        return node

    def dice(self, count: Node | None, token: Token, start: int) -> Dice | Fate:
        self.position = token.end
        last = token.text[-1]
        if last in "fF":
            return Fate(count, (start, self.position))
        if last == "%":
            mark = token.end - 1
            sides: Node | None = Number(100, (mark, token.end))
        else:
            mark, sides = token.end, self.size()
        if self.position < len(self.text) and self.text[self.position] in _FOLLOWING:
            return self.altered(count, sides, mark, start)
        keep = self.keep()
        if keep is not None and self.text[self.position : self.position + 1] in _FOLLOWING:
            return self.altered(count, sides, mark, start, keep)
        return Dice(count, sides, keep, mark, (start, self.position))

    def altered(
        self, count: Node | None, sides: Node | None, mark: int, start: int, keep: Keep | None = None
    ) -> Dice:  # fmt: skip
        """The rest of a die that may be followed by more than a keep."""
        alone = count is None or (isinstance(count, Number) and count.value == 1)
        if self.dialect.bounds and alone and keep is None and (word := self.taken(lexer.ADVANTAGE)) is not None:
            return self.advantage(word, sides, mark, start)
        changes = self.changes()
        keep = keep or self.keep()
        bound = self.bound() if self.dialect.bounds else None
        tally = self.tally()
        return Dice(count, sides, keep, mark, (start, self.position), changes, bound, tally)

    def advantage(self, word: re.Match[str], sides: Node | None, mark: int, start: int) -> Dice:
        span = word.span()
        keep = Keep("high" if word[0].lower() in ("优势", "adv") else "low", False, Number(1, span), span)
        bound = self.bound()
        return Dice(Number(2, span), sides, keep, mark, (start, self.position), (), bound, self.tally())

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
        if self.dialect.unit_dice and (other := lexer.BONUS.match(self.text, self.position)) is not None:
            raise DiceError("keep", (token.start, other.end()), "取舍与奖惩骰（b/p）不能用在同一个骰子项上")
        return keep

    def changes(self) -> tuple[Reroll | Explode, ...]:
        explode = lexer.EXPLODE_ON if self.dialect.successes else lexer.EXPLODE
        found: list[Reroll | Explode] = []
        while True:
            start = self.position
            if (match := self.taken(explode)) is not None:
                way = _WAYS[match[0].lower()]
                found.append(Explode(way, self.condition(), (start, self.position)))  # type: ignore[arg-type]
            elif (match := self.taken(lexer.REROLL)) is not None:
                found.append(Reroll(len(match[0]) == 2, self.condition(), (start, self.position)))
            else:
                return tuple(found)

    def condition(self) -> Comparison | None:
        """`>5`, `=5` or `5` at the position."""
        start = self.position
        match = self.taken(lexer.CONDITION)
        if match is None:
            return None
        if len(match[2]) > self.limits.count_digits:
            raise DiceError("literal", (start, self.position), f"数字太长：这里最多 {self.limits.count_digits} 位")
        sign = match[1] or "=="
        if self.dialect.inclusive and sign in ("<", ">"):
            sign += "="
        return Comparison("==" if sign == "=" else sign, int(match[2]))  # type: ignore[arg-type]

    def bound(self) -> Bound | None:
        start = self.position
        match = self.taken(lexer.BOUND)
        if match is None:
            return None
        number = self.size()
        assert number is not None  # the pattern looked ahead
        end = "min" if match[0].lower() == "min" else "max"
        return Bound(end, number, (start, self.position))  # type: ignore[arg-type]

    def tally(self) -> Tally | None:
        start = self.position
        match = self.taken(lexer.COUNT_BARE if self.dialect.successes else lexer.COUNT)
        if match is None:
            return None
        success = self.condition()
        if success is None:
            self.position = start
            return None
        if match[0] in ("a", "A"):
            success = Comparison(">=", success.number)
        failure = self.condition() if self.taken(lexer.FAILURE) else None
        return Tally(success, failure, (start, self.position))

    def special(self, token: Token) -> Node | None:
        """The bonus die, pool or fate dice that start at an operand's place without a count."""
        if not self.dialect.pools:
            return None
        self.position, start = token.start, token.start
        if (match := self.taken(lexer.BONUS)) is not None:
            return Bonus(match[0] in "pP", self.size(), (start, self.position))
        if self.taken(lexer.POOL_ALONE) is not None:
            return self.pool(None, start)
        if self.taken(lexer.FATE) is not None:
            return Fate(None, (start, self.position))
        return None

    def counted(self, count: Node, start: int) -> Node | None:
        """The pool, cross or fate dice glued behind their count."""
        if not self.dialect.pools:
            return None
        if self.taken(lexer.POOL) is not None:
            return self.pool(count, start)
        if self.taken(lexer.CROSS) is not None:
            line = self.needed()
            sides = self.needed() if self.taken(lexer.CROSS_PART) is not None else None
            return Cross(count, line, sides, (start, self.position))
        if self.taken(lexer.FATE) is not None:
            return Fate(count, (start, self.position))
        return None

    def pool(self, count: Node | None, start: int) -> Pool:
        line = self.needed()
        sides: Node | None = None
        number: Node | None = None
        low = False
        while (match := self.taken(lexer.POOL_PART)) is not None:
            part = match[0].lower()
            if part == "m":
                sides = self.needed()
            else:
                number, low = self.needed(), part == "q"
        return Pool(count, line, sides, number, low, (start, self.position))

    def needed(self) -> Node:
        """The digits or the bracket that a pattern has seen ahead."""
        node = self.size()
        assert node is not None
        return node
