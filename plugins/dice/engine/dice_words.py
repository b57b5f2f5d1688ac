"""Owns the Chinese words for dice terms."""

from __future__ import annotations

from abc import ABC, abstractmethod

from plugins.dice.engine.dialect import Dialect
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
    Term,
)

_CONDITIONS = {"<": "小于 {}", "<=": "不大于 {}", "==": "等于 {}", ">=": "不小于 {}", ">": "大于 {}"}
_EXPLODED = {
    "add": "每个{}的骰子再多掷一个",
    "compound": "每个{}的骰子继续掷并累加到同一个骰子上",
    "penetrate": "每个{}的骰子再多掷一个，多掷的点数减 1",
}


class DiceWords(ABC):
    """The words of dice terms; what a count or number is made of, `of` says."""

    __slots__ = ("default_sides", "dialect")

    def __init__(self, dialect: Dialect, default_sides: int) -> None:
        self.dialect = dialect
        self.default_sides = default_sides

    @abstractmethod
    def of(self, node: Node) -> str:
        """The words of `node`."""

    def amount(self, node: Node | None, absent: int) -> str:
        """A count or a number as words."""
        if node is None:
            return str(absent)
        return self.of(node) if isinstance(node, Number) else f"（{self.of(node)}）"

    def dice(self, node: Term) -> str:
        match node:
            case Dice():
                return self.plain(node)
            case Bonus():
                which, pick = ("惩罚骰", "大") if node.penalty else ("奖励骰", "小")
                return f"掷 D100 并带 {self.amount(node.count, 1)} 个{which}，取最{pick}的结果"
            case Fate():
                return f"掷 {self.amount(node.count, 4)} 个命运骰（-1、0、1），求和"
            case Pool():
                return self.pool(node)
            case Cross():
                return self.cross(node)

    def plain(self, node: Dice) -> str:
        words = f"掷 {self.amount(node.count, 1)} 个 {self.amount(node.sides, self.default_sides)} 面骰"
        for change in node.changes:
            words += "，" + (self.rerolled(change) if isinstance(change, Reroll) else self.exploded(change))
        words += self.kept(node.keep, "个") + self.bounded(node.bound, "个骰子")
        if node.tally is not None:
            words += f"，数{condition(node.tally.success)}的骰子"
            if node.tally.failure is not None:
                words += f"，再减去{condition(node.tally.failure)}的个数"
            return words
        single = (isinstance(node.count, Number) and node.count.value == 1) or node.count is None
        return words if single and not node.changes else words + "，求和"

    def rerolled(self, change: Reroll) -> str:
        which = condition(change.when or Comparison("==", 1))
        return f"{which}的骰子重掷一次" if change.once else f"{which}的骰子重掷到不是为止"

    def exploded(self, change: Explode) -> str:
        return _EXPLODED[change.way].format("掷出最大点数" if change.when is None else condition(change.when))

    def kept(self, keep: Keep | None, unit: str) -> str:
        """What is kept, with a comma before it; nothing without a keep."""
        if keep is None:
            return ""
        which = "最高" if keep.end == "high" else "最低"
        return f"，{'去掉' if keep.drop else '取'}{which}的 {self.amount(keep.number, 1)} {unit}"

    def bounded(self, bound: Bound | None, unit: str) -> str:
        if bound is None:
            return ""
        number = self.amount(bound.number, 0)
        return f"，每{unit}{'至少' if bound.end == 'min' else '至多'}算 {number}"

    def pool(self, node: Pool) -> str:
        line, side = self.amount(node.line, 0), "不大于" if node.low else "不小于"
        words = f"骰池：掷 {self.amount(node.count, 1)} 个 {self.amount(node.sides, 10)} 面骰"
        if line != "0":
            words += f"，每个不小于 {line} 的骰子再加掷一个"
        return f"{words}，数{side} {self.amount(node.number, 8)} 的骰子"

    def cross(self, node: Cross) -> str:
        sides = self.amount(node.sides, 10)
        score = sides if self.dialect.cross_adds_sides else "10"
        line = self.amount(node.line, 0)
        return (
            f"双十字：掷 {self.amount(node.count, 1)} 个 {sides} 面骰，有不小于 {line} 的就计 {score} 分并重掷它们，"
            "直到没有，再加最后一轮的最大点数"
        )


def condition(when: Comparison) -> str:
    """A condition on a face as words."""
    return _CONDITIONS[when.sign].format(when.number)
