"""概率：.odds 与给模型用的 dice_odds、dice_explain；只计算，不掷骰。"""

from __future__ import annotations

import asyncio
import base64
import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from plugin_host import CallContext, CallError, Reply, Segment
from plugins.dice.charts import bars, percent, png
from plugins.dice.engine import DiceError, Distribution, explain, odds

HELP = """.odds 表达式：精确的概率分布，例如 .odds 4d6k3
.odds 表达式 >= 点数：达到点数的概率，例如 .odds 3d6 >= 15（也可以用 <= > < =）
.odds 图 表达式：画成图片"""
PICTURE = re.compile(r"^(?:图|--png)\s*(?P<rest>\S.*)$", re.DOTALL)
QUESTION = re.compile(r"^(?P<expression>.+?)\s*(?P<sign>>=|<=|==|=|>|<|≥|≤|＞|＜|＝)\s*(?P<target>-?\d{1,9})\s*$")
SHORT_DENOMINATOR = 10_000
SIGNS = {"≥": ">=", "≤": "<=", "＞": ">", "＜": "<", "＝": "=", "==": "="}

Expression = Annotated[str, Field(description="骰子表达式，如 4d6k3、2d20kh1+5、1d100", min_length=1, max_length=512)]


async def show_odds(ctx: CallContext, text: str) -> str | Reply:
    """概率：.odds 4d6k3 或 .odds 3d6 >= 15"""
    if not text.strip():
        return HELP
    if picture := PICTURE.match(text):
        return await draw(ctx, await asyncio.to_thread(exact, picture["rest"]))
    found = QUESTION.match(text)
    expression = found["expression"] if found else text
    distribution = await asyncio.to_thread(exact, expression)
    lines = [summary(distribution)]
    if found:
        sign = SIGNS.get(found["sign"], found["sign"])
        lines.append(f"P(结果 {sign} {found['target']}) = {share(chance(distribution, sign, int(found['target'])))}")
    return "\n".join([*lines, bars(distribution)])


async def draw(ctx: CallContext, distribution: Distribution) -> Reply:
    """The distribution as a picture; raises CallError when the library for it is not installed."""
    image = await asyncio.to_thread(png, distribution, summary(distribution))
    file = f"base64://{base64.b64encode(image).decode()}"
    side, to_user = ("group", None) if ctx.is_group else ("private", ctx.user_id)
    return Reply(ctx.session, (Segment("image", {"file": file}),), to=side, user_id=to_user)


async def dice_odds(
    expression: Expression,
    target: Annotated[int | None, Field(description="要达到的点数；给出时返回各种比较的概率")] = None,
) -> dict[str, Any]:
    """计算骰子表达式的精确概率分布（不掷骰）：范围、平均、标准差，以及达到 target 的概率。"""
    distribution = await asyncio.to_thread(exact, expression)
    found: dict[str, Any] = {
        "expression": distribution.expression,
        "minimum": distribution.minimum,
        "maximum": distribution.maximum,
        "mean": round(float(distribution.mean), 4),
        "sd": round(distribution.sd, 4),
        "exact": True,
    }
    if target is not None:
        found["target"] = target
        found["at_least"] = share(distribution.at_least(target))
        found["at_most"] = share(distribution.at_most(target))
        found["equals"] = share(distribution.equals(target))
    return found


async def dice_explain(expression: Expression) -> str:
    """用中文说明一个骰子表达式会怎样掷（不掷骰）。"""
    try:
        return explain(expression)
    except DiceError as error:
        raise CallError(error.message, code=f"dice_{error.code}") from error


def exact(expression: str) -> Distribution:
    """The distribution of an expression that is understood to its end; raises CallError with a Chinese sentence."""
    try:
        distribution = odds(expression)
        distribution.mean  # noqa: B018 - a result that is text says so here
    except DiceError as error:
        raise CallError(error.message, code=f"dice_{error.code}") from error
    if distribution.rest.strip():
        raise CallError(f"看不懂表达式的这一部分：{distribution.rest.strip()[:40]}", code="dice_rest")
    return distribution


def chance(distribution: Distribution, sign: str, target: int) -> Fraction:
    """The probability of ``result sign target``."""
    if sign == ">=":
        return distribution.at_least(target)
    if sign == ">":
        return distribution.at_least(target) - distribution.equals(target)
    if sign == "<=":
        return distribution.at_most(target)
    if sign == "<":
        return distribution.at_most(target) - distribution.equals(target)
    return distribution.equals(target)


def share(value: Fraction) -> str:
    """A probability in per cent, with its fraction where that is short."""
    short = 0 < value < 1 and value.denominator <= SHORT_DENOMINATOR
    return percent(value) + (f"（{value.numerator}/{value.denominator}）" if short else "")


def summary(distribution: Distribution) -> str:
    """Range, mean and standard deviation in one line."""
    most = f"{distribution.maximum}" + (" 以上" if distribution.tail else "")
    mean, sd = float(distribution.mean), distribution.sd
    return f"{distribution.expression}：{distribution.minimum}–{most}，平均 {mean:.2f}，标准差 {sd:.2f}"
