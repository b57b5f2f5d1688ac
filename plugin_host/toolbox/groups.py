"""Group: the fixed order of tool groups with their Chinese names and English aliases, and which group a tool is in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from plugin_host.tools import Tool

GroupKind = Literal["builtin", "plugin", "mcp"]


@dataclass(frozen=True, slots=True)
class Group:
    """One tool group. ``id`` is the English alias (of an MCP server: its name), ``title`` what people read."""

    id: str
    title: str
    kind: GroupKind = "builtin"

    def is_called(self, name: str) -> bool:
        """True when ``name`` is the id or the title, whatever its case."""
        return name.casefold() in (self.id.casefold(), self.title.casefold())

    def contains(self, part: str) -> bool:
        """True when ``part`` occurs in the id or in the title, whatever its case."""
        return part.casefold() in self.id.casefold() or part.casefold() in self.title.casefold()


BUILTIN_GROUPS = (
    Group("scheduling", "基础调度"),
    Group("dice", "骰子"),
    Group("command", "指令"),
    Group("timers", "定时"),
    Group("triggers", "触发"),
    Group("memory", "记忆"),
    Group("image", "图片"),
    Group("media", "多媒体"),
    Group("ob11", "OB11"),
    Group("resource", "资源"),
    Group("sheet", "属性"),
    Group("raw_text", "原文检索"),
    Group("context_edit", "上下文编辑"),
    Group("blocklist", "黑名单"),
    Group("web", "网页"),
    Group("public_session", "公开会话"),
    Group("subagent", "子代理"),
)
OTHER = Group("other", "其他")
EXTERNAL = Group("external", "外部插件", "plugin")
GROUPS = (*BUILTIN_GROUPS, OTHER, EXTERNAL)

UNGROUPED_SOURCES = frozenset({"skill", "knowledge"})


def group_of(name: str) -> Group | None:
    """The fixed group of that Chinese name or English alias, or None."""
    return next((group for group in GROUPS if group.is_called(name)), None)


def group_of_tool(tool: Tool) -> Group | None:
    """The group a tool is shown and switched in; None for skills and knowledge, which are sources and not groups.

    A plugin may name a fixed group or one of its own; without a name its tools are in 外部插件.
    """
    if tool.source.kind in UNGROUPED_SOURCES:
        return None
    if tool.source.kind == "mcp":
        return Group(tool.source.id, tool.source.id, "mcp")
    found = group_of(tool.group)
    if found is None:
        return Group(tool.group, tool.group, "plugin")
    return EXTERNAL if found is OTHER and tool.source.kind != "builtin" else found


def in_order(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Each group once: the fixed ones in their order, then groups that plugins named, then MCP servers, by name."""
    return tuple(sorted(set(groups), key=_rank))


def _rank(group: Group) -> tuple[int, str]:
    if group in GROUPS:
        return GROUPS.index(group), ""
    return len(GROUPS) + (group.kind == "mcp"), group.id
