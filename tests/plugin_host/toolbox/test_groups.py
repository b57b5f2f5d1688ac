"""Groups: the fixed order, both languages, and which group a tool is in."""

from __future__ import annotations

import pytest

from plugin_host.toolbox.groups import GROUPS, Group, group_of, group_of_tool, in_order
from tests.kit.toolroom import tool


def test_the_fixed_order_is_that_of_the_specification() -> None:
    first = "基础调度 骰子 指令 定时 触发 记忆 图片 多媒体 OB11 资源 属性"
    then = "原文检索 上下文编辑 黑名单 网页 公开会话 子代理 其他 外部插件"
    assert [group.title for group in GROUPS] == first.split() + then.split()


def test_ids_and_titles_are_unique() -> None:
    names = [name.casefold() for group in GROUPS for name in {group.id.casefold(), group.title.casefold()}]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["memory", "记忆", "MEMORY", "Memory"])
def test_a_group_is_found_in_either_language_and_any_case(name: str) -> None:
    assert group_of(name) == Group("memory", "记忆")


def test_an_unknown_name_is_no_group() -> None:
    assert group_of("记") is None
    assert group_of("") is None


def test_tools_without_a_group_are_other_when_built_in_and_external_otherwise() -> None:
    assert group_of_tool(tool("a")) == group_of("其他")
    assert group_of_tool(tool("a", kind="plugin")) == group_of("外部插件")


def test_a_plugin_may_use_a_fixed_group_or_name_its_own() -> None:
    assert group_of_tool(tool("a", "骰子", kind="plugin")) == group_of("dice")
    assert group_of_tool(tool("a", "塔罗", kind="plugin")) == Group("塔罗", "塔罗", "plugin")


def test_an_mcp_server_is_a_group_whatever_its_tools_say() -> None:
    assert group_of_tool(tool("a", "dice", kind="mcp", source="maps")) == Group("maps", "maps", "mcp")


@pytest.mark.parametrize("kind", ["skill", "knowledge"])
def test_skills_and_knowledge_are_in_no_group(kind: str) -> None:
    assert group_of_tool(tool("a", kind=kind)) is None


def test_own_groups_come_after_the_fixed_ones_and_servers_last() -> None:
    server, own = Group("a_server", "a_server", "mcp"), Group("塔罗", "塔罗", "plugin")
    memory, other = group_of("memory"), group_of("other")
    assert memory is not None
    assert other is not None
    assert in_order([server, own, other, memory, memory]) == (memory, other, own, server)
