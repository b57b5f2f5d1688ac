"""The tools of the group 基础调度: with them a model finds and calls the other tools."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field

from plugin_host import CallContext, CallError, hookimpl

GROUP = "scheduling"


@hookimpl
def register_tools(register: Any) -> None:
    """Offer the four scheduling tools."""
    looking = {"group": GROUP, "read_only": True, "idempotent": True, "core": True}
    register(list_tools, title="列出工具", **looking)
    register(search_tools, title="搜索工具", **looking)
    register(list_mcps, title="列出 MCP 服务器", **looking)
    register(call_tool, title="调用工具", group=GROUP, core=True)


async def list_tools(
    ctx: CallContext,
    group: Annotated[
        str | None, Field(description="只看这个工具组，中文名或英文别名；不填为全部", max_length=64)
    ] = None,
) -> str:
    """按工具组列出当前会话可用的工具名。"""
    lines = ctx.service("toolbox").search(ctx, "", group=group, limit=None)
    by_group: dict[str, list[str]] = {}
    for line in lines:
        by_group.setdefault(line.group or line.source, []).append(line.name)
    if not by_group:
        return "当前会话没有可用的工具" if group is None else f"工具组「{group}」里没有可用的工具"
    return "\n".join(f"{title}：{'、'.join(names)}" for title, names in by_group.items())


async def search_tools(
    ctx: CallContext,
    query: Annotated[str, Field(description="要找的功能，中英文皆可", max_length=200)] = "",
    name: Annotated[str, Field(description="已知的工具名：给出它的完整参数说明", max_length=128)] = "",
    group: Annotated[str | None, Field(description="只在这个工具组里找", max_length=64)] = None,
    limit: Annotated[int, Field(description="最多给出几个", ge=1, le=20)] = 8,
) -> str:
    """按功能搜索当前可用的工具，或用 name 查看一个工具的完整参数。"""
    toolbox = ctx.service("toolbox")
    if name:
        return _full(toolbox.describe(ctx, name))
    found = toolbox.search(ctx, query, group=group, limit=limit)
    if not found:
        return f"没有找到与「{query}」匹配的工具"
    return "\n".join(f"{line.name}（{line.group or line.source}）：{line.summary}" for line in found)


async def list_mcps(ctx: CallContext) -> str:
    """列出已连接的 MCP 服务器和各自的工具数。"""
    servers = [source for source in ctx.service("toolbox").flat(ctx) if source.kind == "mcp"]
    if not servers:
        return "没有配置 MCP 服务器"
    return "\n".join(
        f"{server.id}：{len(server.tools)} 个工具，开 {sum(tool.on for tool in server.tools)}" for server in servers
    )


async def call_tool(
    ctx: CallContext,
    name: Annotated[str, Field(description="要调用的工具名", min_length=1, max_length=128)],
    arguments: Annotated[dict[str, Any] | str | None, Field(description="参数对象，或它的 JSON 文本")] = None,
) -> Any:
    """调用另一个工具。参数、权限、开关和次数的检查与直接调用相同；不能调用自己。"""
    return await ctx.service("toolbox").call_inner(ctx, name, arguments)


def _full(info: Any) -> str:
    if not info.verdict.visible:
        raise CallError(info.verdict.sentence, code=info.verdict.reason)
    document = {"name": info.name, "group": info.group, "description": info.description, "parameters": info.schema}
    return json.dumps(document, ensure_ascii=False)
