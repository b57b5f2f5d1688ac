"""Owns reading lists and what follows them: items, ranges, index, slice, keep, functions, annotations."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

from plugins.dice.engine import lexer
from plugins.dice.engine.dice_reader import DiceReader
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.lexer import Token
from plugins.dice.engine.nodes import Call, Index, ListOf, Node, Pick, Range, Slice

FUNCTIONS: dict[str, Literal["sum", "max", "min", "len"]] = {"sum": "sum", "max": "max", "min": "min", "len": "len"}


class ListReader(DiceReader):
    """The part of the parser that knows lists."""

    __slots__ = ()

    @abstractmethod
    def whole(self) -> Node:
        """The expression at the position."""

    def tagged(self, node: Node) -> Node:
        """`node`, with the `[annotation]` behind it passed over."""
        while self.glued_mark("[") and self.taken(lexer.TAG) is not None:
            pass
        return node

    def bracketed(self, token: Token) -> Node:
        """`[1,2]`, `[1..6]`, and `{…}`, which is a list or a bracket."""
        before = self.branching
        self.enter(token)
        self.branching = False
        lists = token.text == "[" or self.dialect.brace_lists
        node = self.list_of(token) if lists else self.whole()
        self.close(token, "]" if token.text == "[" else "}")
        self.branching = before
        return node

    def list_of(self, token: Token) -> Node:
        if self.peek().text in ("]", "}"):
            return ListOf((), (token.start, token.end))
        found = [self.whole()]
        if (following := self.peek()).text == ".." and token.text == "[":
            self.position = following.end
            return Range(found[0], self.whole(), (token.start, self.position))
        while (following := self.peek()).text == ",":
            self.count_operator(following)
            self.position = following.end
            found.append(self.whole())
        return ListOf(tuple(found), (token.start, self.position))

    def listed(self, node: Node, start: int) -> Node:
        """`node` with the indexes, functions and keeps glued behind it."""
        while self.position < len(self.text) and self.text[self.position] in "[.kKqQdDmM":
            following = self.followed(node, start)
            if following is None:
                break
            node = following
        return node

    def followed(self, node: Node, start: int) -> Node | None:
        if self.glued_mark("["):
            return self.index(node, start) if lexer.INDEX.match(self.text, self.position) else self.after_tag(node)
        if (match := self.taken(lexer.METHOD)) is not None:
            self.count_operator(Token("operator", match[0], match.start(), match.end()))
            return Call(FUNCTIONS[match[1]], (node,), (start, self.position))
        if not isinstance(node, ListOf | Range | Slice):
            return None
        keep = self.keep()
        bound = self.bound()
        return Pick(node, keep, bound, (start, self.position)) if keep or bound else None

    def after_tag(self, node: Node) -> Node | None:
        return node if self.taken(lexer.TAG) is not None else None

    def index(self, node: Node, start: int) -> Node | None:
        """`[1]` or `[1:3]` behind `node`; None (and nothing consumed) if it is neither."""
        before = (self.position, self.operators, self.depth, self.branching)
        opening = self.peek()
        try:
            self.count_operator(opening)
            self.enter(opening)
            self.branching = True
            found = self.index_or_slice(node, start)
            self.close(opening, "]")
        except DiceError as error:
            if error.code != "syntax":
                raise
            self.position, self.operators, self.depth, self.branching = before
            return self.after_tag(node)
        self.branching = before[3]
        return found

    def index_or_slice(self, node: Node, start: int) -> Node:
        first = None if self.peek().text == ":" else self.whole()
        if (colon := self.peek()).text != ":":
            assert first is not None
            return Index(node, first, (start, colon.end))
        self.position = colon.end
        last = None if self.peek().text == "]" else self.whole()
        return Slice(node, first, last, (start, self.peek().end))

    def call(self, word: str, start: int) -> Node | None:
        """The function `word` with its arguments; None if it is none, or no bracket is glued to it."""
        function = FUNCTIONS.get(word)
        opening = self.glued("open") if function is not None else None
        if function is None or opening is None:
            return None
        before = self.branching
        self.enter(opening)
        self.branching = False
        found = [self.whole()]
        while (token := self.peek()).text == ",":
            self.count_operator(token)
            self.position = token.end
            found.append(self.whole())
        self.close(opening, ")")
        self.branching = before
        return Call(function, tuple(found), (start, self.position))
