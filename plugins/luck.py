"""今日人品：同一个人在同一天里总是同一个数。"""

import random

from plugin_host import CallContext, hookimpl


def todays_luck(ctx: CallContext) -> str:
    """查询提问者今天的人品：1 到 100，当天不变。"""
    luck = random.Random(f"{ctx.user_id} {ctx.now.date()}").randint(1, 100)
    return f"{ctx.name or '你'}今天的人品是 {luck}"


@hookimpl
def register_commands(register):
    register(todays_luck, words=("jrrp", "今日人品", "luck"))


@hookimpl
def register_tools(register):
    register(todays_luck, read_only=True, idempotent=True)
