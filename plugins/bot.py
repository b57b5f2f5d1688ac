"""机器人开关：.bot on / .bot off。"""

from plugin_host import CallContext, CommandArgs, hookimpl


async def switch_bot(ctx: CallContext, args: CommandArgs) -> str:
    """.bot on|off：让指令在本会话里回答或安静（群管理员）；.bot 看状态"""
    wanted = args.rest.casefold()
    if wanted in ("on", "off"):
        turned = ctx.service("speaking").switch_bot(ctx, wanted == "on")
        state = "开启" if turned.on else "关闭"
        return f"指令已{state}" if turned.changed else f"指令本来就是{state}的"
    standing = ctx.service("speaking").status(ctx).standing
    return f"plugin_host：指令{'开' if standing.bot else '关'}，AI {'开' if standing.ai else '关'}。.bot on|off 切换"


@hookimpl
def register_commands(register):
    register(switch_bot, words=("bot",), always=True)
