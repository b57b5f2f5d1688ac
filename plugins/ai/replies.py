"""The wording of ``.ai tool``: values of the toolbox in, Chinese text out."""

from __future__ import annotations

import json
from typing import Any

NAMES_SHOWN = 30
SOURCES = {
    "builtin": "内置",
    "plugin": "插件",
    "script": "脚本",
    "mcp": "MCP 服务器",
    "http": "HTTP 工具",
    "skill": "技能",
    "knowledge": "知识库",
}
HEADINGS = (("builtin", "内置"), ("plugin", "插件"), ("mcp", "MCP 服务器"))
FLAGS = {
    "read_only": "只读",
    "destructive": "破坏性",
    "idempotent": "可重复",
    "random": "随机",
    "open_world": "外部内容",
    "sensitive": "敏感",
    "core": "核心",
}
APPROVALS = {"never": "不需要", "ask": "调用前询问", "deny": "一律拒绝"}
LAYERS = {
    "place": "平台与会话类型",
    "owner": "骰主禁用",
    "person": "提问者权限",
    "source": "来源状态",
    "requirement": "运行条件",
    "switch": "本会话开关",
    "budget": "次数限制",
    "approval": "批准",
}
STATUSES = {
    "error": "失败",
    "denied": "被拒绝",
    "timeout": "超时",
    "cancelled": "已停止",
    "unknown_outcome": "结果不明",
}


def overview_text(overview: Any) -> str:
    """The overview of all groups."""
    lines = [f"工具组（平台：{overview.platform}）共 {overview.total} 个工具，开 {overview.on} 关 {overview.off}"]
    numbered = [
        (line.group.kind, f"{number}. {line.group.title}（{line.total}，开 {line.on} 关 {line.off}）")
        for number, line in enumerate(overview.groups, 1)
    ]
    for kind, heading in HEADINGS:
        if listed := [text for of_kind, text in numbered if of_kind == kind]:
            lines += [f"[{heading}]", *listed]
    if overview.blocked:
        lines.append(f"另有 {overview.blocked} 个工具被骰主禁用（tools.blocked），未计入")
    lines += [f"名称冲突：{collision}" for collision in overview.collisions]
    return "\n".join([*lines, "查看：.ai tool <组名>；开关：.ai tool on|off <组名|函数名>"])


def group_lines(view: Any) -> list[str]:
    """A line per tool, then how to switch the group."""
    if not view.tools:
        return ["（这个组目前没有可用的工具）"]
    hint = f"整组开关：.ai tool on {view.group.title} / .ai tool off {view.group.title}"
    return [*(_tool_line(tool) for tool in view.tools), hint]


def flat_lines(sources: Any) -> list[str]:
    """A heading per source, a line per tool."""
    lines: list[str] = []
    for source in sources:
        lines.append(f"[{SOURCES.get(source.kind, source.kind)}：{source.id}]")
        lines += [_tool_line(tool) for tool in source.tools]
    return lines


def tool_text(info: Any) -> str:
    """Everything about one tool."""
    where = f"{SOURCES.get(info.source_kind, info.source_kind)} {info.source_id}"
    required = [parameter.name for parameter in info.parameters if parameter.required]
    flags = [FLAGS.get(flag, flag) for flag in info.flags]
    usable = "可以使用" + ("（调用前需要批准）" if info.verdict.needs_approval else "")
    refused = f"不能使用：{info.verdict.sentence}（{info.verdict.reason}）"
    return "\n".join(
        [
            f"工具函数：{info.name}[{'开' if info.on else '关'}]" + (f" {info.title}" if info.title else ""),
            f"来源：{where}" + (f"，工具组「{info.group}」" if info.group else ""),
            f"描述：{info.description}",
            "参数：" + ("" if info.parameters else "无"),
            *(_parameter_line(parameter) for parameter in info.parameters),
            f"必需参数：{'、'.join(required) or '无'}",
            f"权限：{info.privilege}　标记：{'、'.join(flags) or '无'}　批准：{APPROVALS[info.approval]}",
            f"你在本会话：{usable if info.verdict.callable else refused}",
        ]
    )


def switched_text(switched: Any) -> str:
    """Exactly what changed, what was skipped and why."""
    word = "开启" if switched.on else "关闭"
    if switched.kind == "tool":
        return _one_switched(switched, word)
    what = f"工具组「{switched.title}」" if switched.kind == "group" else "全部工具"
    if not switched.total:
        return f"{what}目前没有可开关的工具"
    lines = [f"已{word}{what}：实际变更 {len(switched.changed)} 个" + _listed(switched.changed)]
    if switched.unchanged:
        lines.append(f"原本已{word} {len(switched.unchanged)} 个")
    if switched.skipped_blocked:
        lines.append(f"跳过 {len(switched.skipped_blocked)} 个：被骰主禁用" + _listed(switched.skipped_blocked))
    if switched.skipped_core:
        core = _listed(switched.skipped_core)
        lines.append(f"跳过 {len(switched.skipped_core)} 个：核心工具{core}，加 --force 可一并关闭")
    return "\n".join(lines)


def answer_text(result: Any) -> str:
    """The result of ``call``: its content, or its status with the reason."""
    if result.ok:
        return f"返回内容:\n{result.text}"
    code = f"（{result.error_code}）" if result.error_code else ""
    return f"调用{STATUSES.get(result.status, result.status)}{code}：{result.text}"


def why_text(name: str, layers: Any) -> str:
    """A line per layer of policy."""
    refused = [layer for layer in layers if not layer.allowed]
    head = f"工具函数 {name}：" + (f"不能使用，{len(refused)} 层不允许" if refused else "可以使用")
    lines = [
        f"{'✓' if layer.allowed else '✗'} {LAYERS.get(layer.layer, layer.layer)}：{layer.sentence}"
        + ("" if layer.allowed else f"（{layer.reason}）")
        for layer in layers
    ]
    return "\n".join([head, *lines])


def stats_lines(stats: Any) -> list[str]:
    """A line per tool with its numbers in this session and overall."""
    here = {stat.name: stat for stat in stats.session}
    overall = {stat.name: stat for stat in stats.overall}
    names = list(dict.fromkeys([*here, *overall]))
    return [f"{name}：本会话 {_numbers(here.get(name))}；全部 {_numbers(overall.get(name))}" for name in names]


def _numbers(stat: Any) -> str:
    if stat is None:
        return "0 次"
    return f"{stat.calls} 次（失败 {stat.failures}，平均 {stat.mean_ms:.0f} ms）"


def _one_switched(switched: Any, word: str) -> str:
    if switched.skipped_blocked:
        refused = "开启" if switched.on else "开关（已被骰主禁用）"
        return f"工具函数 {switched.title} 不被允许{refused}"
    if switched.unchanged:
        return f"工具函数 {switched.title} 原本已{word}，没有变更"
    return f"已{word}工具函数 {switched.title}"


def _tool_line(tool: Any) -> str:
    state = "禁用" if tool.blocked else "开" if tool.on else "关"
    return f"{tool.name}[{state}] {tool.summary}".rstrip()


def _parameter_line(parameter: Any) -> str:
    default = "" if parameter.default is None else f"，默认 {json.dumps(parameter.default, ensure_ascii=False)}"
    need = "必需" if parameter.required else "可选"
    described = f" — {parameter.description}" if parameter.description else ""
    return f"· {parameter.name}: {parameter.type}（{need}{default}）{described}"


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    more = "" if len(names) <= NAMES_SHOWN else f" 等 {len(names)} 个"
    return f"（{'、'.join(names[:NAMES_SHOWN])}{more}）"
