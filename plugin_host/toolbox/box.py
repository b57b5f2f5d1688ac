"""Toolbox (service ``toolbox``): look at, search, switch and call tools on behalf of somebody.

Every method takes who asks, checks rights inside, and returns a frozen value; only its faces make words of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from plugin_host.calls import Origin, ToolCall, ToolResult
from plugin_host.context import CallContext
from plugin_host.errors import CallError, PermissionDeniedError, UnknownNameError
from plugin_host.policy import (
    MASTER_LEVEL,
    LayerVerdict,
    Rules,
    TurnUse,
    Verdict,
    decide,
    is_private,
    layers,
    level_words,
)
from plugin_host.registry import Registry
from plugin_host.toolbox import names as toolnames
from plugin_host.toolbox import search as toolsearch
from plugin_host.toolbox.groups import Group, group_of_tool, in_order
from plugin_host.toolbox.views import (
    GroupLine,
    GroupView,
    Overview,
    SourceView,
    Stats,
    Switched,
    ToolInfo,
    ToolLine,
    ToolStat,
    parameters_of,
)
from plugin_host.tools import Tool

SWITCH_LEVEL = 40
SEARCH_LIMIT = 8
SEARCH_MOST = 20
CALL_TOOL = "call_tool"
SOURCE_ORDER = ("builtin", "plugin", "script", "skill", "knowledge", "mcp", "http")

Runs = Callable[[ToolCall, CallContext], Awaitable[ToolResult]]
Counts = Callable[[str | None], Awaitable[list[ToolStat]]]


class Toolbox:
    """All that can be asked about tools. Holds no state: registry, rules and switches are read at each question."""

    def __init__(
        self,
        registry: Registry,
        rules: Callable[[], Rules],
        switches: Callable[[str], Mapping[str, bool]],
        run: Runs,
        stats: Counts,
    ) -> None:
        self._registry = registry
        self._rules = rules
        self._switches = switches
        self._run = run
        self._stats = stats

    # --- looking: everyone

    def overview(self, ctx: CallContext) -> Overview:
        """Counts per group of the tools that exist here; blocked ones are only counted as such."""
        rules, here = self._rules(), self._here(ctx)
        free = [tool for tool in here if tool.name not in rules.blocked]
        lines = tuple(self._group_line(ctx, group, free) for group in _groups(free))
        on = sum(line.on for line in lines)
        total = sum(line.total for line in lines)
        collisions = tuple(str(found) for found in self._registry.collisions)
        return Overview(ctx.platform, total, on, total - on, lines, len(here) - len(free), collisions)

    def group(self, ctx: CallContext, name: str) -> GroupView:
        """The tools of a group that exist here; raises CallError when the name is unknown or ambiguous."""
        group = self._group(name)
        return GroupView(group, self._lines(ctx, _of_group(self._here(ctx), group)))

    def describe(self, ctx: CallContext, name: str) -> ToolInfo:
        """Everything about one tool; raises UnknownNameError with the nearest names."""
        tool = self._tool(name)
        rules = self._rules()
        group = group_of_tool(tool)
        return ToolInfo(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            group=group.title if group else "",
            source_kind=tool.source.kind,
            source_id=tool.source.id,
            parameters=parameters_of(tool.input_schema),
            schema=tool.input_schema,
            privilege=rules.level_for(tool),
            flags=tool.annotations.flags,
            approval=tool.approval,
            default_on=rules.is_on(tool, {}),
            on=rules.is_on(tool, self.switches(ctx)),
            verdict=self.verdict(ctx, tool),
        )

    def flat(self, ctx: CallContext) -> tuple[SourceView, ...]:
        """Every tool that exists here, by source, those of skills and knowledge included."""
        here = self._here(ctx)
        sources = sorted({tool.source for tool in here}, key=lambda s: (SOURCE_ORDER.index(s.kind), s.id))
        return tuple(
            SourceView(source.kind, source.id, self._lines(ctx, [tool for tool in here if tool.source == source]))
            for source in sources
        )

    def resolve(self, name: str, group: str | None = None) -> toolnames.Target:
        """What a name means: ``group`` > exact function > exact group > unique part of a group's name."""
        tools = self._registry.tools
        return toolnames.resolve(name, group, tools, _groups(tools))

    def verdict(self, ctx: CallContext, tool: Tool, turn: TurnUse | None = None) -> Verdict:
        """What policy says about a tool for this session and this person now."""
        return decide(tool, ctx, switches=self.switches(ctx), rules=self._rules(), turn=turn)

    def why(self, ctx: CallContext, name: str) -> tuple[LayerVerdict, ...]:
        """What each layer of policy says about a tool; raises UnknownNameError."""
        return layers(self._tool(name), ctx, switches=self.switches(ctx), rules=self._rules())

    async def stats(self, ctx: CallContext) -> Stats:
        """Calls, failures and mean times of this session and overall, busiest tools first."""
        session, overall = await self._stats(ctx.session), await self._stats(None)
        return Stats(tuple(sorted(session, key=_busiest)), tuple(sorted(overall, key=_busiest)))

    def switches(self, ctx: CallContext) -> Mapping[str, bool]:
        """The session's switches as this event sees them, its own changes included."""
        return {**self._switches(ctx.session), **ctx.effects.switches}

    # --- what the model may use

    def available(self, ctx: CallContext) -> tuple[Tool, ...]:
        """The tools that are visible and callable here for this person (some of them after an approval)."""
        verdicts = ((tool, self.verdict(ctx, tool)) for tool in self._registry.tools)
        return tuple(tool for tool, verdict in verdicts if verdict.visible and verdict.callable)

    def search(
        self, ctx: CallContext, query: str = "", *, group: str | None = None, limit: int | None = SEARCH_LIMIT
    ) -> tuple[ToolLine, ...]:
        """The available tools that fit ``query`` best, at most ``limit`` (1–20), all of them for None.

        An empty query gives all by group. Raises CallError for a group that is unknown or ambiguous.
        """
        tools = self.available(ctx)
        if group:
            tools = tuple(_of_group(tools, self._group(group)))
        found = toolsearch.search(query, tools)
        return self._lines(ctx, found if limit is None else found[: max(1, min(limit, SEARCH_MOST))])

    # --- switching: level 40 or a private chat

    def set_state(
        self, ctx: CallContext, on: bool, target: str | None = None, group: str | None = None, force: bool = False
    ) -> Switched:
        """Switch all tools, a group or one tool of this session; takes effect at once, commits with the reply.

        Core tools are left out when many are switched off, unless ``force``; blocked ones always. Raises
        PermissionDeniedError, or CallError for a name that is unknown or ambiguous.
        """
        self._refuse_switching(ctx)
        if target is None and group is None:
            return self._switch(ctx, on, "all", "", [t for t in self._here(ctx) if group_of_tool(t)], force)
        found = self.resolve(target or "", group=group).or_refuse()
        if found.tool is not None:
            return self._switch(ctx, on, "tool", found.tool.name, [found.tool], True)
        assert found.group is not None  # or_refuse leaves a tool or a group
        return self._switch(ctx, on, "group", found.group.title, _of_group(self._here(ctx), found.group), force)

    # --- calling

    async def call(self, ctx: CallContext, name: str, arguments: Mapping[str, Any] | str | None = None) -> ToolResult:
        """Run a tool for the master, with every check of the runner; raises PermissionDenied-, UnknownNameError."""
        if ctx.level < MASTER_LEVEL:
            raise PermissionDeniedError(f"权限不足：调用工具需要{level_words(MASTER_LEVEL)}，当前权限是 {ctx.level}")
        tool = toolnames.tool_named(name, self._registry.tools)
        if tool is None:
            raise UnknownNameError(f"未注册的函数：{name[:64]}" + self._nearest(name))
        return await self._run(_call(tool.name, arguments, "command"), ctx)

    async def call_inner(self, ctx: CallContext, name: str, arguments: Mapping[str, Any] | str | None) -> ToolResult:
        """Run a tool on behalf of the tool ``call_tool``: with the asker's own rights, counted in every budget."""
        tool = toolnames.tool_named(name, self._registry.tools)
        if (tool.name if tool else name) == CALL_TOOL:
            raise CallError(f"{CALL_TOOL} 不能调用自己", code="recursive_call")
        return await self._run(_call(tool.name if tool else name, arguments, "internal"), ctx)

    # --- parts

    def _here(self, ctx: CallContext) -> list[Tool]:
        """The tools that exist on this platform and in this kind of session."""
        rules = self._rules()
        return [tool for tool in self._registry.tools if layers(tool, ctx, switches={}, rules=rules)[0].allowed]

    def _tool(self, name: str) -> Tool:
        tool = toolnames.tool_named(name.strip(), self._registry.tools)
        if tool is not None:
            return tool
        for collision in self._registry.collisions:
            if collision.name == name and collision.kind in ("tool", "alias"):
                raise UnknownNameError(f"{collision}，因此已全部停用", code="name_collision")
        raise UnknownNameError(f"没有这个工具函数：{name[:64]}" + self._nearest(name))

    def _group(self, name: str) -> Group:
        group = self.resolve("", group=name).or_refuse().group
        assert group is not None  # a target by group is a group
        return group

    def _nearest(self, name: str) -> str:
        return toolnames.nearest_words(toolnames.nearest(name, [tool.name for tool in self._registry.tools]))

    def _group_line(self, ctx: CallContext, group: Group, tools: Sequence[Tool]) -> GroupLine:
        members, rules, switches = _of_group(tools, group), self._rules(), self.switches(ctx)
        on = sum(rules.is_on(tool, switches) for tool in members)
        return GroupLine(group, len(members), on, len(members) - on)

    def _lines(self, ctx: CallContext, tools: Sequence[Tool]) -> tuple[ToolLine, ...]:
        rules, switches = self._rules(), self.switches(ctx)
        return tuple(_line(tool, rules, switches) for tool in tools)

    def _refuse_switching(self, ctx: CallContext) -> None:
        if ctx.level < 0 or (ctx.level < SWITCH_LEVEL and not is_private(ctx.session)):
            needed = level_words(SWITCH_LEVEL)
            raise PermissionDeniedError(f"权限不足：开关工具需要{needed}以上，当前权限是 {ctx.level}")

    def _switch(
        self, ctx: CallContext, on: bool, kind: Any, title: str, tools: Sequence[Tool], force: bool
    ) -> Switched:
        rules, before = self._rules(), self.switches(ctx)
        sorted_out: dict[str, list[str]] = {"changed": [], "unchanged": [], "blocked": [], "core": []}
        for tool in tools:
            fate = _fate(tool, on, force, rules, before)
            sorted_out[fate].append(tool.name)
        ctx.effects.switches.update(dict.fromkeys(sorted_out["changed"], on))
        return Switched(on, kind, title, *(tuple(names) for names in sorted_out.values()))


def _fate(tool: Tool, on: bool, force: bool, rules: Rules, switches: Mapping[str, bool]) -> str:
    if tool.name in rules.blocked:
        return "blocked"
    if rules.is_on(tool, switches) == on:
        return "unchanged"
    return "core" if tool.annotations.core and not on and not force else "changed"


def _line(tool: Tool, rules: Rules, switches: Mapping[str, bool]) -> ToolLine:
    group = group_of_tool(tool)
    return ToolLine(
        name=tool.name,
        summary=(tool.title or tool.description).strip().partition("\n")[0],
        on=rules.is_on(tool, switches),
        blocked=tool.name in rules.blocked,
        group=group.title if group else "",
        source=tool.source.id,
    )


def _groups(tools: Sequence[Tool]) -> tuple[Group, ...]:
    return in_order(group for tool in tools if (group := group_of_tool(tool)))


def _of_group(tools: Sequence[Tool], group: Group) -> list[Tool]:
    return [tool for tool in tools if group_of_tool(tool) == group]


def _busiest(stat: ToolStat) -> tuple[int, str]:
    return -stat.calls, stat.name


def _call(name: str, arguments: Mapping[str, Any] | str | None, origin: Origin) -> ToolCall:
    """A call with a fresh id; text is left for the runner to parse."""
    fresh = f"call_{uuid4().hex[:20]}"
    if isinstance(arguments, str):
        return ToolCall(fresh, name, None, arguments, origin)
    return ToolCall(fresh, name, dict(arguments or {}), "", origin)
