"""Owns `explain`: an expression in Chinese words, without rolling it."""

from __future__ import annotations

import plugins.dice.engine.nodes as nodes
from plugins.dice.engine.dialect import Dialect, dialect_named
from plugins.dice.engine.dice_words import DiceWords
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.fold import Folded, fold
from plugins.dice.engine.limits import DEFAULT_LIMITS, Limits
from plugins.dice.engine.nodes import Node
from plugins.dice.engine.parser import parse
from plugins.dice.engine.roller import placed, split_rounds, too_long
from plugins.dice.engine.values import shown

_SIGNS = {
    "+": "加", "-": "减", "*": "乘", "/": "除以", "//": "整除", ":": "除以", "%": "除余", "^": "的乘方，指数为",
    "<": "小于", "<=": "不大于", "==": "等于", "!=": "不等于", ">=": "不小于", ">": "大于",
    "&": "按位与", "|": "按位或", "&&": "并且", "||": "或者",
}  # fmt: skip
_FUNCTIONS = {"sum": "总和", "max": "最大值", "min": "最小值", "len": "项数"}


def explain(
    text: str, *, default_sides: int = 100, dialect: str = "seal", limits: Limits | None = None
) -> str:  # fmt: skip
    """What the expression that `text` starts with does, in one Chinese line. Raises DiceError."""
    source = fold(text)
    base = 0
    bounds = limits or DEFAULT_LIMITS
    try:
        if len(source.text) > bounds.characters:
            raise too_long(source.text, bounds)
        rounds, base = split_rounds(source.text, bounds)
        words = _explained(source, base, dialect_named(dialect), default_sides, bounds)
    except (DiceError, RecursionError) as error:
        raise placed(error, source, base) from None
    return words if rounds is None else f"{rounds} 轮，每轮：{words}"


def _explained(source: Folded, base: int, dialect: Dialect, default_sides: int, limits: Limits) -> str:
    parsed = parse(source.text[base:], dialect, limits)
    return _Words(dialect, default_sides).of(parsed.root)


class _Words(DiceWords):
    """The words of every node that is no dice term."""

    __slots__ = ()

    def of(self, node: Node) -> str:
        match node:
            case nodes.Number() | nodes.Text():
                return shown(node.value) if isinstance(node, nodes.Number) else f"文字“{node.value}”"
            case nodes.Name():
                return f"属性“{node.name}”"
            case nodes.Negative():
                return f"负的{self.inner(node.operand)}"
            case nodes.Binary():
                return self.binary(node)
            case nodes.Dice() | nodes.Bonus() | nodes.Pool() | nodes.Cross() | nodes.Fate():
                return self.dice(node)
            case nodes.Choice() | nodes.Assign() | nodes.Steps() | nodes.Triangle():
                return self.statement(node)
            case _:
                return self.listed(node)

    def inner(self, node: Node) -> str:
        """The words of an operand, in brackets when it is more than one."""
        simple = isinstance(node, nodes.Number | nodes.Name | nodes.Text | nodes.Dice)
        return self.of(node) if simple else f"（{self.of(node)}）"

    def binary(self, node: nodes.Binary) -> str:
        """A chain of operators, from left to right; operands of other standing in brackets."""
        words: list[str] = []
        left: Node = node
        while isinstance(left, nodes.Binary) and left.operator.binding == node.operator.binding:
            words.append(f"{_SIGNS[left.operator.sign]}{self.inner(left.right)}")
            left = left.left
        return self.inner(left) + "，".join(reversed(words))

    def statement(self, node: nodes.Choice | nodes.Assign | nodes.Steps | nodes.Triangle) -> str:
        match node:
            case nodes.Choice():
                parts = [f"如果{self.of(condition)}，得{self.of(value)}" for condition, value in node.branches]
                last = self.of(node.otherwise) if node.otherwise else "空"
                return "；".join([*parts, f"否则得{last}"])
            case nodes.Assign():
                how = "每次用到时都重新计算" if node.computed else "记为"
                return f"“{node.name}”{how}{self.of(node.value)}"
            case nodes.Steps():
                return "；然后".join(self.of(step) for step in node.steps)
            case nodes.Triangle():
                return f"从 1 加到{self.inner(node.operand)}"

    def listed(self, node: Node) -> str:
        match node:
            case nodes.ListOf():
                return f"列表[{'、'.join(self.of(item) for item in node.items)}]"
            case nodes.Range():
                return f"从{self.inner(node.first)}到{self.inner(node.last)}的列表"
            case nodes.Index():
                return f"{self.of(node.of)}的第{self.inner(node.at)}项（从 0 数起）"
            case nodes.Slice():
                first = self.inner(node.first) if node.first else "开头"
                return f"{self.of(node.of)}从{first}到{self.inner(node.last) if node.last else '末尾'}之前的项"
            case nodes.Call():
                return f"{'、'.join(self.of(argument) for argument in node.arguments)}的{_FUNCTIONS[node.function]}"
            case nodes.Pick():
                return self.of(node.of) + self.kept(node.keep, "项") + self.bounded(node.bound, "项") + "，求和"
            case _:
                raise DiceError("syntax", node.span, "这里缺少一个数字或骰子")
