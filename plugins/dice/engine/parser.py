"""Owns the Pratt parser: the longest valid prefix of a folded text becomes a tree, the rest is left."""

from __future__ import annotations

from dataclasses import dataclass

from plugins.dice.engine import lexer
from plugins.dice.engine.dialect import POWER, SIGN, Dialect
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.lexer import Token, name_at, token_at
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.list_reader import ListReader
from plugins.dice.engine.nodes import Assign, Binary, Choice, Name, Negative, Node, Steps, Text, Triangle

STEPS_PER_OPERATOR = 8


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
        root = parser.statements() if "=" in text else parser.whole()
    except DiceError as error:
        furthest = parser.furthest
        if furthest is None or error.code != "syntax" or error.span >= furthest.span:
            raise
        raise furthest from None
    return Parsed(root, parser.position, parser.operators)


class _Parser(ListReader):
    """One pass over one text. A failed infix operator gives its place back: the prefix stands."""

    __slots__ = ()

    def statements(self) -> Node:
        """Assignments with `;` between them, then an expression; one of them is enough."""
        start = self.peek().start
        steps = [self.statement()]
        while isinstance(steps[-1], Assign) and (token := self.peek()).text == ";":
            before = (self.position, self.operators, self.depth, self.branching)
            self.count_operator(token)
            self.position = token.end
            try:
                steps.append(self.statement())
            except DiceError as error:
                if error.code != "syntax":
                    raise
                self.position, self.operators, self.depth, self.branching = before
                break
        return steps[0] if len(steps) == 1 and not isinstance(steps[0], Assign) else Steps(
            tuple(steps), (start, self.position)
        )  # fmt: skip

    def statement(self) -> Node:
        """An assignment, or the expression that a text is when nothing follows its `=`."""
        match = lexer.ASSIGN.match(self.text, self.position)
        # `d20=` is a die, not a name; and `&` before it makes no difference to that.
        if match is None or token_at(self.text, match.start(2)).kind == "die":
            return self.whole()
        before = (self.position, self.operators, self.depth, self.branching)
        self.count_operator(Token("operator", "=", match.start(2), match.end()))
        self.position = match.end()
        try:
            value = self.whole()
        except DiceError as error:
            if error.code != "syntax":
                raise
            self.position, self.operators, self.depth, self.branching = before
            return self.whole()
        return Assign(match[2], value, match[1] == "&", (match.start(2), self.position))

    def whole(self) -> Node:
        """An expression with the choice that may follow it."""
        condition = self.expression(0)
        token = self.peek()
        if token.text != "?" or token.start == self.dead:
            return condition
        return self.choice(condition, token)

    def choice(self, condition: Node, token: Token) -> Node:
        """What `?` makes of `condition`; `condition` itself if nothing that could be a branch follows."""
        before = (self.position, self.operators, self.depth, self.branching)
        start = condition.span[0]
        self.count_operator(token)
        self.enter(token)
        try:
            node = self.branches(condition, start)
        except DiceError as error:
            if error.code != "syntax":
                raise
            self.position, self.operators, self.depth, self.branching = before
            self.dead = token.start
            if not self.dialect.triangles:
                return condition
            self.position = token.end
            self.count_operator(token)
            return Triangle(condition, (start, self.position))
        self.depth, self.branching = before[2:]
        return node

    def branches(self, condition: Node, start: int) -> Choice:
        self.branching = True
        found = [(condition, self.whole())]
        if (token := self.peek()).text == ":":
            otherwise = self.otherwise(token)
            return Choice(tuple(found), otherwise, (start, self.position))
        while (token := self.peek()).text == ",":
            before = (self.position, self.operators, self.depth, self.branching)
            self.position = token.end
            following = self.another_branch()
            if following is None:
                self.position, self.operators, self.depth, self.branching = before
                break
            found.append(following)
        return Choice(tuple(found), None, (start, self.position))

    def otherwise(self, token: Token) -> Node | None:
        """The last branch, behind the colon; None (and nothing consumed) if there is none."""
        before = (self.position, self.operators, self.depth, self.branching)
        self.position = token.end
        try:
            return self.whole()
        except DiceError as error:
            if error.code != "syntax":
                raise
        self.position, self.operators, self.depth, self.branching = before
        return None

    def another_branch(self) -> tuple[Node, Node] | None:
        """`condition ? value` after a comma; None if something else follows."""
        try:
            condition = self.expression(0)
            token = self.peek()
            if token.text != "?":
                return None
            self.count_operator(token)
            self.position = token.end
            return condition, self.whole()
        except DiceError as error:
            if error.code != "syntax":
                raise
            return None

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
        before = (self.position, self.operators, self.depth, self.branching)
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
        self.position, self.operators, self.depth, self.branching = before
        self.dead = token.start
        return None

    def operand(self) -> Node:
        self.steps += 1
        token = self.peek()
        if self.steps > STEPS_PER_OPERATOR * self.limits.operators:
            raise DiceError("operators", (token.start, token.end), "算式太复杂，无法读懂")
        kind = token.kind
        if kind == "number":
            return self.number(token)
        if kind == "die":
            return self.tagged(self.chain(self.dice(None, token, token.start), token.start))
        if kind == "open":
            return self.listed(self.counted_group(token), token.start)
        return self.signed(token) if kind == "operator" and token.text in "+-" else self.other(token)

    def counted_group(self, token: Token) -> Node:
        """A bracket, and the dice whose count it is."""
        node = self.group(token)
        if self.text[self.position : self.position + 1] in tuple("aAcCfF"):
            return self.counted(node, token.start) or node
        return self.chain(node, token.start)

    def other(self, token: Token) -> Node:
        """An operand that is no number, die or round bracket."""
        if token.kind == "mark" and token.text in "[{":
            return self.listed(self.bracketed(token), token.start)
        if token.kind == "text":
            self.position = token.end
            return Text(token.text[1:-1], (token.start, token.end))
        return self.named(token)

    def number(self, token: Token) -> Node:
        self.position = token.end
        following = self.text[token.end : token.end + 1]
        counts = following in ("d", "D") and self.glued("die") is not None
        node: Node = self.literal(token, self.limits.count_digits if counts else self.limits.number_digits)
        if counts:
            return self.tagged(self.chain(node, token.start))
        if following and following in "aAcCfF":
            node = self.counted(node, token.start) or node
        return self.tagged(node) if following == "[" else node

    def named(self, token: Token) -> Node:
        if token.text[:1] in tuple("bBpPaAfF") and (node := self.special(token)) is not None:
            return self.tagged(node)
        name = name_at(self.text, token.start)
        if name is None:
            raise DiceError("syntax", (token.start, token.end), "这里缺少一个数字或骰子")
        word = name.text.partition(":")[0] if self.branching else name.text
        self.position = name.start + len(word)
        call = self.call(word, name.start)
        return call or self.listed(Name(word, (name.start, self.position)), name.start)

    def signed(self, token: Token) -> Node:
        negative = False
        start = token.start
        if token.text == "+" and not self.dialect.leading_plus:
            raise DiceError("syntax", (token.start, token.end), "这里不能写正号")
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
        before = self.branching
        self.enter(token)
        self.branching = False
        node = self.whole()
        self.close(token, ")")
        self.branching = before
        return node
