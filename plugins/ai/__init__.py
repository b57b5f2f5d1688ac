"""The command ``.ai``: finds the sub-command and its help; the sub-commands are in the files beside this one."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from plugin_host import CallContext, CommandArgs, hookimpl
from plugins.ai import plugin, speak, tool
from plugins.ai.words import Words, words_of

HELP_WORDS = ("help", "帮助")
NAME_SHOWN = 32

ON_HELP = "@我或叫我的名字就会回答。群聊需要群管理员，且骰主先 .ai allow；私聊中自己即可。"
OFF_HELP = "正在进行的回答也会停止；骰子等指令不受影响。群聊需要群管理员，私聊中自己即可。"
STOP_HELP = "谁都可以用；AI 之后仍会回答新的消息。"
STATUS_HELP = "是否准许、是否开启、在用的模型、排队和待发送的消息数。"
ALLOW_HELP = "骰主专用。之后群管理员可以用 .ai on 开启。"
DISALLOW_HELP = "骰主专用。正在进行的回答也会停止，群管理员不能再开启。"


@dataclass(frozen=True, slots=True)
class SubCommand:
    """One sub-command. ``level``: the least that has a use for it; ``private``: everybody has in a private chat."""

    run: Callable[[CallContext, Words], Awaitable[str]]
    summary: str
    help: str
    level: int = 0
    private: bool = False

    def serves(self, ctx: CallContext) -> bool:
        """True when the asking person may do something with it here."""
        return ctx.level >= self.level or (self.private and not ctx.is_group)


def _alone(run: Callable[[CallContext, Any], Awaitable[str]]) -> Callable[[CallContext, Words], Awaitable[str]]:
    """A sub-command without words or options: a trigger mode that does not exist is refused, not ignored."""

    async def checked(ctx: CallContext, words: Words) -> str:
        words.expect(0)
        return await run(ctx, [])

    return checked


SUBCOMMANDS: dict[str, SubCommand] = {
    "on": SubCommand(_alone(speak.turn_on), "让 AI 在这里回答", ON_HELP, level=50, private=True),
    "off": SubCommand(_alone(speak.turn_off), "让 AI 在这里安静", OFF_HELP, level=50, private=True),
    "stop": SubCommand(_alone(speak.stop), "停止正在进行的回答", STOP_HELP),
    "status": SubCommand(_alone(speak.status), "本会话的状态", STATUS_HELP),
    "tool": SubCommand(tool.run, "查看和开关工具函数", tool.HELP),
    "plugin": SubCommand(plugin.run, "查看、开关和重载插件", plugin.HELP, level=100),
    "allow": SubCommand(_alone(speak.allow), "准许本会话使用 AI", ALLOW_HELP, level=100),
    "disallow": SubCommand(_alone(speak.disallow), "收回本会话使用 AI 的准许", DISALLOW_HELP, level=100),
}


@hookimpl
def register_commands(register: Any) -> None:
    """Offer the command word ``ai``."""
    # A tool that `.ai tool call` runs has its own, shorter limit.
    register(
        ai,
        words=("ai",),
        timeout=600,
        always=True,
        summary="AI 与工具：.ai help 查看用法",
        help="发送 .ai help 查看你能用的子指令。",
    )


async def ai(ctx: CallContext, args: CommandArgs) -> str:
    """Answer one ``.ai …``; raises CallError with the sentence to show."""
    name, rest = _split(args.rest)
    if not name:
        return _usable(ctx)
    if name in HELP_WORDS:
        return await _help(ctx, rest)
    found = SUBCOMMANDS.get(name)
    if found is None:
        return _unknown(name)
    if rest.casefold() in HELP_WORDS:
        return _about(name, found)
    return await found.run(ctx, words_of(rest))


async def _help(ctx: CallContext, rest: str) -> str:
    """``.ai help``, ``.ai help SUB``; with more words the sub-command answers ``SUB help …`` itself."""
    if not rest:
        return _usable(ctx)
    name, more = _split(rest)
    found = SUBCOMMANDS.get(name)
    if found is None:
        return _unknown(name)
    return await found.run(ctx, words_of(f"help {more}")) if more else _about(name, found)


def _split(text: str) -> tuple[str, str]:
    """The first word in lower case, and what follows it."""
    parts = text.split(maxsplit=1)
    return (parts[0].casefold() if parts else ""), (parts[1].strip() if len(parts) > 1 else "")


def _usable(ctx: CallContext) -> str:
    lines = [f".ai {name} — {found.summary}" for name, found in SUBCOMMANDS.items() if found.serves(ctx)]
    return "\n".join(["【.ai】你在这里可以用：", *lines, "详细用法：.ai help <子指令>"])


def _about(name: str, found: SubCommand) -> str:
    return f"【.ai {name}】{found.summary}\n{found.help}"


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name[:NAME_SHOWN], SUBCOMMANDS, n=3, cutoff=0.6)
    hint = f"。相近的：{'、'.join(f'.ai {one}' for one in near)}" if near else "。发送 .ai help 查看可用的子指令"
    return f"指令不存在：.ai {name[:NAME_SHOWN]}{hint}"
