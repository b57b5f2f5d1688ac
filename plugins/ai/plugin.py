"""``.ai plugin``: the chat face of the plugins: which run, which are broken and where, off, on, reload."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from plugin_host import CallContext, CallError
from plugins.ai.words import Words

HELP = """查看、开关和重载插件（骰主）。
.ai plugin 或 .ai plugin list — 全部插件；坏的写明文件、行号和原因
.ai plugin off <插件> — 关掉：它的指令、工具和钩子都不再起作用
.ai plugin on <插件> — 打开
.ai plugin reload <插件> — 从磁盘重新加载；新版本有错时旧版本继续运行
开关在重启后仍然有效。"""

SOURCES = {"builtin": "内置", "plugin": "外部"}


async def run(ctx: CallContext, words: Words) -> str:
    """Answer one ``.ai plugin …``; raises CallError with the sentence to show."""
    form = words.first.casefold() or "list"
    desk = ctx.service("plugins")
    if form == "list":
        words.expect(1)
        return _overview(desk.list(ctx))
    if form not in _FORMS:
        raise CallError(f"没有 .ai plugin {words.first[:32]}；可用：list、off、on、reload", code="unknown_form")
    words.expect(2)
    name = words.after().first
    if not name:
        raise CallError(f"要写插件名：.ai plugin {form} <插件>", code="missing_name")
    return await _FORMS[form](ctx, desk, name)


async def _off(ctx: CallContext, desk: Any, name: str) -> str:
    reports = await desk.off(ctx, name)
    return "\n".join([f"插件 {name} 已关闭", *_others(reports, name)])


async def _on(ctx: CallContext, desk: Any, name: str) -> str:
    return _loaded(await desk.on(ctx, name), name, "已打开")


async def _reload(ctx: CallContext, desk: Any, name: str) -> str:
    return _loaded(await desk.reload(ctx, name), name, "已重新加载")


_FORMS: dict[str, Callable[[CallContext, Any, str], Awaitable[str]]] = {"off": _off, "on": _on, "reload": _reload}


def _loaded(reports: Sequence[Any], name: str, done: str) -> str:
    lines = []
    for report in (one for one in reports if one.name == name):
        lines.append(_trouble(report) if _is_troubled(report) else f"插件 {name} {done}（{_offer(report)}）")
    return "\n".join([*lines, *_others(reports, name)])


def _others(reports: Sequence[Any], name: str) -> list[str]:
    return [_line(report) for report in reports if report.name != name]


def _overview(reports: Sequence[Any]) -> str:
    troubled = sum(_is_troubled(report) for report in reports)
    off = sum(report.off for report in reports)
    running = sum(report.ok and not report.off for report in reports)
    head = f"【插件】共 {len(reports)} 个，运行 {running}，关 {off}，有错 {troubled}"
    return "\n".join([head, *(_line(report) for report in reports)])


def _line(report: Any) -> str:
    if _is_troubled(report):
        return _trouble(report)
    state = "关" if report.off else _offer(report)
    return f"{report.name}[{SOURCES.get(report.source, report.source)}] {state}"


def _offer(report: Any) -> str:
    counts = ((len(report.commands), "个指令"), (len(report.tools), "个工具"), (len(report.hooks), "个钩子"))
    return "、".join(f"{count} {word}" for count, word in counts if count) or "没有登记任何东西"


def _is_troubled(report: Any) -> bool:
    return bool(report.reason or report.stale_reason)


def _trouble(report: Any) -> str:
    # The folder of the file is the owner's business, not the chat's.
    where = Path(report.file).name + (f" 第 {report.line} 行" if report.line else "")
    state = "新版本有错，旧版本继续运行" if report.stale_reason else "没有加载"
    fix = f"\n  修正：{report.fix}" if report.fix else ""
    return f"{report.name}[{SOURCES.get(report.source, report.source)}] {state}：{where}：" + (
        f"{report.stale_reason or report.reason}{fix}"
    )
