"""Target: which tool or group a person means by a name. Pure: names in, target or the reason why there is none out."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from plugin_host.errors import CallError, UnknownNameError
from plugin_host.toolbox.groups import Group, group_of
from plugin_host.tools import Tool

NEAREST_LIMIT = 5
NEAREST_CUTOFF = 0.5
NAME_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Target:
    """What a name means.

    ``tool`` or ``group`` is set for these kinds. ``candidates``: group titles an ambiguous part fits, or the nearest
    names of an unknown one. ``by_group``: the name came as ``--group=``.
    """

    kind: Literal["tool", "group", "ambiguous", "unknown"]
    name: str
    tool: Tool | None = None
    group: Group | None = None
    candidates: tuple[str, ...] = ()
    by_group: bool = False

    def or_refuse(self) -> Target:
        """This target when it is a tool or a group; raises CallError with the candidates otherwise."""
        if self.kind == "ambiguous":
            listed = "、".join(self.candidates)
            raise CallError(f"「{self.name}」匹配多个工具组：{listed}。请写全名", code="ambiguous_name")
        if self.kind == "unknown":
            head = "" if self.by_group else "没有这个工具函数，也"
            raise UnknownNameError(f"{head}未找到工具组「{self.name}」" + nearest_words(self.candidates))
        return self


def resolve(name: str, group: str | None, tools: Sequence[Tool], groups: Sequence[Group]) -> Target:
    """The target of ``name``, or of ``group`` when that is given.

    Order: ``group`` > exact function > exact group in either language > the one group that ``name`` is a part of.
    ``tools`` are the registered ones, ``groups`` those that have tools; a fixed group is found also when it has none.
    """
    if group is not None:
        return _group_target(group.strip(), tools, groups, by_group=True)
    name = name.strip()
    if tool := tool_named(name, tools):
        return Target("tool", name, tool=tool)
    return _group_target(name, tools, groups, by_group=False)


def tool_named(name: str, tools: Sequence[Tool]) -> Tool | None:
    """The tool of exactly that name or alias; else the only one that differs in case alone."""
    for tool in tools:
        if name in (tool.name, tool.alias):
            return tool
    folded = [tool for tool in tools if tool.name.casefold() == name.casefold()]
    return folded[0] if len(folded) == 1 else None


def nearest(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """At most five of ``names`` that look like ``name``, the best first."""
    wanted = name.casefold()[:NAME_SHOWN]
    by_folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(wanted, by_folded, n=NEAREST_LIMIT, cutoff=NEAREST_CUTOFF)
    within = [folded for folded in sorted(by_folded) if len(wanted) > 1 and wanted in folded and folded not in close]
    return tuple(by_folded[folded] for folded in (*close, *within)[:NEAREST_LIMIT])


def nearest_words(names: Sequence[str]) -> str:
    """The end of a sentence that offers ``names``; empty without any."""
    return f"。相近的名字：{'、'.join(names)}" if names else ""


def _group_target(name: str, tools: Sequence[Tool], groups: Sequence[Group], *, by_group: bool) -> Target:
    shown = name[:NAME_SHOWN]
    exact = [group for group in groups if group.is_called(name)]
    fitting = exact or [group for group in groups if name and group.contains(name)]
    if not exact and (fixed := group_of(name)):
        fitting = [fixed]
    if len(fitting) == 1:
        return Target("group", shown, group=fitting[0], by_group=by_group)
    if fitting:
        return Target("ambiguous", shown, candidates=tuple(group.title for group in fitting), by_group=by_group)
    names = [] if by_group else [tool.name for tool in tools]
    names += [known for group in groups for known in dict.fromkeys((group.title, group.id))]
    return Target("unknown", shown, candidates=nearest(name, names), by_group=by_group)
