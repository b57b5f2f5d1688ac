"""骰子：.r 掷骰、.rh 暗骰、.odds 概率，以及给模型用的 roll_dice、dice_odds、dice_explain。"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from plugin_host import CallContext, CallError, Private, hookimpl
from plugins.dice import chance
from plugins.dice.engine import DiceError, RollResult, roll, split_command

HELP = """.r 表达式 原因：掷骰，例如 .r 3d6+2 力量、.r 4d6k3、.r 3#d20+5
.rd 原因：掷一个默认骰，例如 .rd 攻击；.rd20 就是 .r d20
.rh 表达式 原因：暗骰，结果只私下告诉你"""


class DiceService:
    """What other plugins reach by ``ctx.roll``."""

    def roll(self, ctx: CallContext, expression: str) -> RollResult:
        """Roll an expression that must be understood to its end; raises CallError with a Chinese sentence."""
        result = _rolled(expression)
        if result.rest.strip():
            raise CallError(f"看不懂表达式的这一部分：{result.rest.strip()}", code="dice_rest")
        _record(ctx, result, hidden=False)
        return result


async def roll_in_public(ctx: CallContext, text: str) -> str:
    """掷骰：.r 3d6+2 力量"""
    result, reason = _of_line(text)
    _record(ctx, result, hidden=False)
    return _words(ctx, result, reason)


async def roll_default(ctx: CallContext, text: str) -> str:
    """掷一个默认骰：.rd 攻击；.rd20 就是 .r d20"""
    return await roll_in_public(ctx, f"d{text}" if text[:1].isdigit() else f"d {text}")


async def roll_hidden(ctx: CallContext, text: str) -> Private:
    """暗骰：.rh d100 潜行，结果私下告诉你"""
    result, reason = _of_line(text)
    _record(ctx, result, hidden=True)
    about = f"（{reason}）" if reason else ""
    return Private(
        text=f"暗骰结果：{_words(ctx, result, reason)}",
        notice=f"{ctx.name} 掷了一次暗骰{about}",
        refused=f"{ctx.name} 的暗骰结果没能私聊送达：请先加机器人为好友或允许临时会话，再掷一次",
    )


async def roll_dice(
    ctx: CallContext,
    expression: Annotated[str, Field(description="骰子表达式，如 3d6+2、4d6k3、d100", min_length=1, max_length=512)],
    rounds: Annotated[int, Field(description="掷几轮", ge=1, le=12)] = 1,
    reason: Annotated[str, Field(description="为什么掷", max_length=200)] = "",
    hidden: Annotated[bool, Field(description="暗骰：结果只私下告诉提问者，你看不到")] = False,
) -> dict[str, object] | Private:
    """掷骰子，点数由程序产生：把结果如实告诉大家，不要自己编造。"""
    result = _rolled(f"{rounds}#{expression}" if rounds > 1 else expression)
    if result.rest.strip():
        raise CallError(f"看不懂表达式的这一部分：{result.rest.strip()}", code="dice_rest")
    _record(ctx, result, hidden=hidden)
    if hidden:
        return Private(text=f"暗骰结果：{_words(ctx, result, reason)}", notice=f"{ctx.name} 掷了一次暗骰")
    return {"expression": expression, "value": result.value, "detail": result.text, "roll_id": result.roll_id}


def _of_line(text: str) -> tuple[RollResult, str]:
    try:
        command = split_command(text)
    except DiceError as error:
        raise _as_call_error(text, error) from error
    return _rolled(command.expression), command.reason


def _rolled(expression: str) -> RollResult:
    try:
        return roll(expression)
    except DiceError as error:
        raise _as_call_error(expression, error) from error


def _as_call_error(text: str, error: DiceError) -> CallError:
    start, end = error.span
    culprit = text[start:end].strip()
    return CallError(error.message + (f"：{culprit[:40]}" if culprit else ""), code=f"dice_{error.code}")


def _words(ctx: CallContext, result: RollResult, reason: str) -> str:
    because = f"由于{reason}，" if reason else ""
    return f"{because}{ctx.name or '你'} 掷出了 {result.text}"


def _record(ctx: CallContext, result: RollResult, *, hidden: bool) -> None:
    """Every roll has its id in the journal; of a hidden one nothing else is written."""
    seen = {} if hidden else {"value": result.value, "dice": list(result.dice)[:100]}
    ctx.note(
        "roll_recorded",
        roll_id=result.roll_id,
        expression=result.expression,
        visibility="hidden" if hidden else "public",
        **seen,
    )


@hookimpl
def register_commands(register):
    register(roll_in_public, words=("r",), glued=True, help=HELP)
    register(roll_default, words=("rd",), glued=True, help=HELP)
    register(roll_hidden, words=("rh",), glued=True, help=HELP)
    register(chance.show_odds, words=("odds",), help=chance.HELP)


@hookimpl
def register_tools(register):
    register(roll_dice, group="dice", title="掷骰", random=True)
    register(chance.dice_odds, group="dice", title="概率", read_only=True, idempotent=True)
    register(chance.dice_explain, group="dice", title="解释表达式", read_only=True, idempotent=True)


@hookimpl
def services(register):
    register("dice", DiceService())
