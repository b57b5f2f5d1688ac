"""Ranking of tools for a query in any mixture of Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Iterable

from plugin_host.toolbox.groups import Group, group_of_tool, in_order
from plugin_host.tools import Tool

QUERY_LIMIT = 200
TEXT_LIMIT = 4000
EXACT_NAME = 20
WHOLE_IN_NAME = 8
IN_NAME = 4
IN_TITLE = 3
IN_TEXT = 1

_RUNS = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]+")


def search(query: str, tools: Iterable[Tool]) -> list[Tool]:
    """The tools that share a term with ``query``, best first, equal ones by name; all by group for an empty query."""
    folded = query.casefold().strip()[:QUERY_LIMIT]
    wanted = terms(folded)
    if not folded:
        return by_group(tools)
    scored = [(_score(tool, folded, wanted), tool) for tool in tools]
    return [tool for score, tool in sorted(scored, key=lambda pair: (-pair[0], pair[1].name)) if score > 0]


def by_group(tools: Iterable[Tool]) -> list[Tool]:
    """The tools in the order of their groups, then by name; those in no group last."""
    listed = list(tools)
    order = in_order(group for tool in listed if (group := group_of_tool(tool)))
    ranks = {group: rank for rank, group in enumerate(order)}
    return sorted(listed, key=lambda tool: (_rank(tool, ranks), tool.name))


def terms(text: str) -> tuple[str, ...]:
    """English words and numbers, and the bigrams of each run of Chinese characters (a lone character as it is)."""
    found: dict[str, None] = {}
    for run in _RUNS.findall(text.casefold()):
        pairs = [run[i : i + 2] for i in range(len(run) - 1)] if ord(run[0]) > 0x2FFF else [run]
        found.update(dict.fromkeys(pairs or [run]))
    return tuple(found)


def _rank(tool: Tool, ranks: dict[Group, int]) -> int:
    group = group_of_tool(tool)
    return len(ranks) if group is None else ranks[group]


def _score(tool: Tool, query: str, wanted: tuple[str, ...]) -> int:
    group = group_of_tool(tool)
    name = tool.name.casefold()
    title = f"{tool.title} {group.id} {group.title}".casefold() if group else tool.title.casefold()
    text = f"{tool.description} {' '.join(_words_of_parameters(tool))}".casefold()[:TEXT_LIMIT]
    points = EXACT_NAME * (query == name) + WHOLE_IN_NAME * (query in name)
    for term in wanted:
        points += IN_NAME * (term in name) + IN_TITLE * (term in title) + IN_TEXT * (term in text)
    return points


def _words_of_parameters(tool: Tool) -> list[str]:
    properties = tool.input_schema.get("properties", {})
    return [f"{name} {part.get('description', '')}" for name, part in properties.items() if isinstance(part, dict)]
