"""帮助：.help 列出指令，.help <指令> 查看用法。"""

from plugin_host import CallContext, hookimpl


async def show_help(ctx: CallContext, text: str) -> str:
    """.help 列出你能用的指令；.help <指令> 查看用法"""
    manual = ctx.service("manual")
    if text:
        word = text.split()[0].lstrip(".。/!！")
        found = manual.find(word)
        return found.help if found else f"没有这个指令：{word[:32]}。发送 .help 查看全部"
    lines = [f".{'、.'.join(entry.words)} — {entry.summary}" for entry in manual.entries(ctx)]
    return "\n".join(["可用的指令：", *lines, "查看用法：.help <指令>"])


@hookimpl
def register_commands(register):
    register(show_help, words=("help", "帮助"))
