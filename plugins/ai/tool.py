"""``.ai tool``: the chat face of the toolbox. Everyone may look; switching and calling are checked by the toolbox."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from plugin_host import CallContext, CallError
from plugins.ai.replies import (
    answer_text,
    flat_lines,
    group_lines,
    overview_text,
    stats_lines,
    switched_text,
    tool_text,
    why_text,
)
from plugins.ai.words import Words, page_of, paged

HELP = """查看、开关和调用本会话的工具函数。
.ai tool 或 .ai tool list — 工具组一览
.ai tool <组名> 或 --group=<组名> — 组内的工具和开关
.ai tool <函数名> 或 .ai tool help <函数名> — 说明、参数，以及你现在能不能用
.ai tool all — 全部工具（--page=N 翻页）
.ai tool on|off — 开关全部（off 不动核心工具，除非加 --force）
.ai tool on|off <组名|函数名> [--group=组名] [--force] — 开关一组或一个
.ai tool call <函数名> --参数=值 … 或 --json '{…}' — 直接调用（骰主）
.ai tool why <函数名> — 每一层规则对你的判断
.ai tool stats — 调用次数、失败数和平均耗时
组名中英文皆可（记忆 = memory）。开关需要邀请人或群管理员，私聊中自己即可。
开关只管 AI 和 .ai tool call，不影响骰子指令。"""

SHORT = {"lst": "list"}


async def run(ctx: CallContext, words: Words) -> str:
    """Answer one ``.ai tool …``; raises CallError with the sentence to show."""
    form = SHORT.get(words.first.casefold(), words.first.casefold())
    if form in _FORMS:
        return await _FORMS[form](ctx, words.after())
    return _view(ctx, words)


def _view(ctx: CallContext, words: Words) -> str:
    """A bare name, ``--group=`` or nothing."""
    words.expect(1, "group", "page", "p")
    toolbox, group = ctx.service("toolbox"), words.option("group")
    if not words.first and group is None:
        return overview_text(toolbox.overview(ctx))
    target = toolbox.resolve(words.first, group=group).or_refuse()
    if target.tool is not None:
        return tool_text(toolbox.describe(ctx, target.tool.name))
    view = toolbox.group(ctx, target.group.id)
    return _page(f"工具组「{view.group.title}」（{view.group.id}）共 {len(view.tools)} 个", group_lines(view), words)


async def _list(ctx: CallContext, words: Words) -> str:
    words.expect(0, "group", "page", "p")
    return _view(ctx, words)


async def _help(ctx: CallContext, words: Words) -> str:
    words.expect(1)
    return tool_text(ctx.service("toolbox").describe(ctx, words.first)) if words.first else HELP


async def _all(ctx: CallContext, words: Words) -> str:
    words.expect(0, "page", "p")
    sources = ctx.service("toolbox").flat(ctx)
    count = sum(len(source.tools) for source in sources)
    return _page(f"全部工具（按来源）共 {count} 个", flat_lines(sources), words)


async def _on(ctx: CallContext, words: Words) -> str:
    return _switch(ctx, words, on=True)


async def _off(ctx: CallContext, words: Words) -> str:
    return _switch(ctx, words, on=False)


def _switch(ctx: CallContext, words: Words, *, on: bool) -> str:
    words.expect(1, "group", "force")
    force = "force" in words.options
    switched = ctx.service("toolbox").set_state(ctx, on, words.first or None, group=words.option("group"), force=force)
    return switched_text(switched)


async def _call(ctx: CallContext, words: Words) -> str:
    """``call NAME``: every value is JSON where it parses, else text; ``--json`` goes to the runner as it is."""
    words.expect(1, *words.options)
    toolbox, given = ctx.service("toolbox"), dict(words.options)
    if not words.first:
        raise CallError("调用函数缺少工具函数名。用法：.ai tool call <函数名> --参数=值", code="missing_name")
    text = given.pop("json", None)
    if text is None:
        arguments: Any = {name: _value(value) for name, value in given.items()}
    elif given:
        raise CallError("--json 不能和其他参数一起用", code="mixed_arguments")
    else:
        arguments = text
    return answer_text(await toolbox.call(ctx, words.first, arguments))


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


async def _why(ctx: CallContext, words: Words) -> str:
    words.expect(1)
    if not words.first:
        raise CallError("缺少工具函数名。用法：.ai tool why <函数名>", code="missing_name")
    return why_text(words.first, ctx.service("toolbox").why(ctx, words.first))


async def _stats(ctx: CallContext, words: Words) -> str:
    words.expect(0, "page", "p")
    lines = stats_lines(await ctx.service("toolbox").stats(ctx))
    return _page("工具统计", lines, words) if lines else "还没有工具调用记录"


def _page(head: str, lines: Sequence[str], words: Words) -> str:
    return "\n".join([head, *paged(list(lines), page_of(words))])


_FORMS: dict[str, Callable[[CallContext, Words], Awaitable[str]]] = {
    "on": _on,
    "off": _off,
    "help": _help,
    "call": _call,
    "list": _list,
    "all": _all,
    "stats": _stats,
    "why": _why,
}
