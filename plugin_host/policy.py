"""Policy: may this tool be seen and called here, now, by this person; and which layer says no.

A pure conjunction of layers: any of them denies, none restores; their order only chooses the reason that is reported.
The same function serves the schemas for the model, the tool lists, ``.ai tool`` and the check at dispatch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from plugin_host.config.settings import ToolSettings
from plugin_host.context import CallContext
from plugin_host.registry import Registry
from plugin_host.tools import Tool
from plugin_host.values import side_of

Layer = Literal["place", "owner", "person", "source", "requirement", "switch", "budget", "approval"]

GUARDED_LEVEL = 50
MASTER_LEVEL = 100
GUARDED_SOURCES = frozenset({"mcp", "http"})
LEVEL_NAMES = ((100, "骰主"), (70, "受信任者"), (60, "群主"), (50, "群管理员"), (40, "邀请人"))
BOT_REQUIREMENTS = {"bot_admin": ("admin", "owner"), "bot_owner": ("owner",)}


@dataclass(frozen=True, slots=True)
class Rules:
    """What the owner's settings and the state of the sources say about tools.

    ``privilege``: least level by tool name, instead of the tool's own. ``refused``: names that a collision withdrew.
    ``shut``: sources whose plain (not async) functions are refused until they are reloaded. ``available``: abilities
    and backends that exist, as tools name them in ``requires``.
    """

    blocked: frozenset[str] = frozenset()
    default_off: frozenset[str] = frozenset()
    privilege: Mapping[str, int] = field(default_factory=dict)
    trust: Literal["guarded", "open"] = "guarded"
    refused: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()
    available: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        settings: ToolSettings,
        *,
        registry: Registry | None = None,
        shut: Iterable[str] = (),
        available: Iterable[str] = (),
    ) -> Rules:
        """The rules of a configuration; ``registry`` adds the names that collisions withdrew."""
        return cls(
            blocked=settings.blocked,
            default_off=settings.default_off,
            privilege=dict(settings.privilege),
            trust=settings.trust,
            refused=_withdrawn(registry) if registry else frozenset(),
            shut=frozenset(shut),
            available=frozenset(available),
        )

    def level_for(self, tool: Tool) -> int:
        """The least level of the asking person.

        The owner's number wins. Built-in tools are declared one by one; a sensitive tool of another source, an MCP and
        an HTTP tool need 50 unless ``trust`` is open.
        """
        if tool.name in self.privilege:
            return self.privilege[tool.name]
        guarded = tool.source.kind in GUARDED_SOURCES or (tool.annotations.sensitive and tool.source.kind != "builtin")
        if guarded and self.trust == "guarded":
            return max(tool.privilege, GUARDED_LEVEL)
        return tool.privilege

    def is_on(self, tool: Tool, switches: Mapping[str, bool]) -> bool:
        """The tool's switch in a session: what was set there, else its default."""
        default = tool.default_on and tool.name not in self.default_off
        return tool.name not in self.blocked and switches.get(tool.name, default)


@dataclass(frozen=True, slots=True)
class TurnUse:
    """Calls made so far, by tool name: in this turn, and in the last minute of this session."""

    in_turn: Mapping[str, int] = field(default_factory=dict)
    in_minute: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LayerVerdict:
    """What one layer says; ``reason`` is a stable code, ``sentence`` its Chinese form."""

    layer: Layer
    allowed: bool
    reason: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The whole answer.

    ``visible``: shown to the model (a tool whose calls are used up stays visible). ``callable``: may run, after an
    approval where ``needs_approval``. ``budget``: calls left in this turn, None = no limit of its own. ``reason``,
    ``sentence`` and ``layer`` are those of the first layer that denies; ``ok`` and an empty layer when none does.
    """

    visible: bool
    callable: bool
    needs_approval: bool
    reason: str
    sentence: str
    layer: Layer | Literal[""]
    budget: int | None


@dataclass(frozen=True, slots=True)
class _Question:
    tool: Tool
    ctx: CallContext
    switches: Mapping[str, bool]
    rules: Rules
    turn: TurnUse


def decide(
    tool: Tool, ctx: CallContext, *, switches: Mapping[str, bool], rules: Rules, turn: TurnUse | None = None
) -> Verdict:
    """Judge one tool for one context; ``switches`` are the session's, ``turn`` what was called already."""
    question = _Question(tool, ctx, switches, rules, turn or TurnUse())
    return conclude([layer(question) for layer in _LAYERS], asks=_asks(question), budget=_left(question))


def layers(
    tool: Tool, ctx: CallContext, *, switches: Mapping[str, bool], rules: Rules, turn: TurnUse | None = None
) -> tuple[LayerVerdict, ...]:
    """What each layer says, in the order of reporting."""
    question = _Question(tool, ctx, switches, rules, turn or TurnUse())
    return tuple(layer(question) for layer in _LAYERS)


def conclude(verdicts: Iterable[LayerVerdict], *, asks: bool = False, budget: int | None = None) -> Verdict:
    """The conjunction of layer verdicts; ``asks``: a call that nothing denies still waits for an approval."""
    denials = [verdict for verdict in verdicts if not verdict.allowed]
    first = denials[0] if denials else None
    return Verdict(
        visible=all(denial.layer == "budget" for denial in denials),
        callable=not denials,
        needs_approval=asks and not denials,
        reason=first.reason if first else "ok",
        sentence=first.sentence if first else "可以使用",
        layer=first.layer if first else "",
        budget=budget,
    )


def _withdrawn(registry: Registry) -> frozenset[str]:
    """Names that a collision took from everybody: nothing answers to them now."""
    names = (found.name for found in registry.collisions if found.kind in ("tool", "alias"))
    return frozenset(name for name in names if registry.tool(name) is None)


def _allowed(layer: Layer, sentence: str) -> LayerVerdict:
    return LayerVerdict(layer, True, "ok", sentence)


def _place(asked: _Question) -> LayerVerdict:
    """Platform and kind of session."""
    tool, ctx = asked.tool, asked.ctx
    if tool.platforms and ctx.platform not in tool.platforms:
        listed = "、".join(sorted(tool.platforms))
        sentence = f"工具 {tool.name} 当前平台不可用（{ctx.platform}），只用于 {listed}"
        return LayerVerdict("place", False, "platform_unavailable", sentence)
    kind = "private" if is_private(ctx.session) else "group"
    if tool.session_types not in ("any", kind):
        wanted = "群聊" if tool.session_types == "group" else "私聊"
        sentence = f"工具 {tool.name} 不适用于当前会话类型，只能在{wanted}中使用"
        return LayerVerdict("place", False, "session_type", sentence)
    return _allowed("place", "平台和会话类型适用")


def _owner(asked: _Question) -> LayerVerdict:
    """What the bot's owner forbade for everybody."""
    if asked.tool.name in asked.rules.blocked:
        return LayerVerdict("owner", False, "blocked", f"工具 {asked.tool.name} 被骰主禁用（tools.blocked），无法开启")
    return _allowed("owner", "没有被骰主禁用")


def _person(asked: _Question) -> LayerVerdict:
    """Who asks. Turns without an asker count as level 0 and reach no sensitive and no HTTP tool."""
    tool, ctx = asked.tool, asked.ctx
    anonymous = ctx.user_id is None
    if ctx.level < 0:
        return LayerVerdict("person", False, "blacklisted", f"你在黑名单中，不能使用工具 {tool.name}")
    if anonymous and (tool.annotations.sensitive or tool.source.kind == "http"):
        sentence = f"工具 {tool.name} 需要明确的提问者，无人发起的回合不能使用"
        return LayerVerdict("person", False, "anonymous", sentence)
    level = 0 if anonymous else ctx.level
    needed = asked.rules.level_for(tool)
    if level < needed:
        sentence = f"权限不足：工具 {tool.name} 需要{level_words(needed)}，当前权限是 {level}"
        return LayerVerdict("person", False, "privilege", sentence)
    return _allowed("person", f"权限足够（需要 {needed}，当前 {level}）")


def _source(asked: _Question) -> LayerVerdict:
    """Whether the source may be used at all just now."""
    tool, rules = asked.tool, asked.rules
    if tool.name in rules.refused:
        return LayerVerdict("source", False, "name_collision", f"工具名 {tool.name} 被多个来源占用，已全部停用")
    if tool.source.id in rules.shut and not inspect.iscoroutinefunction(tool.function):
        sentence = f"插件 {tool.source.id} 多次超时未返回，它的工具 {tool.name} 已停用，重新加载插件后恢复"
        return LayerVerdict("source", False, "source_shut", sentence)
    return _allowed("source", f"来源 {tool.source.id} 正常")


def _requirement(asked: _Question) -> LayerVerdict:
    """Abilities of the model, configured backends, the bot's own role."""
    missing = sorted(name for name in asked.tool.requires if not _is_met(name, asked))
    if missing:
        sentence = f"工具 {asked.tool.name} 缺少运行条件：{'、'.join(missing)}"
        return LayerVerdict("requirement", False, "requirement_missing", sentence)
    return _allowed("requirement", "运行条件齐备")


def _is_met(requirement: str, asked: _Question) -> bool:
    roles = BOT_REQUIREMENTS.get(requirement)
    return requirement in asked.rules.available if roles is None else asked.ctx.bot_role in roles


def _switch(asked: _Question) -> LayerVerdict:
    """The session's switch of this tool."""
    name = asked.tool.name
    if asked.rules.is_on(asked.tool, asked.switches) or name in asked.rules.blocked:
        return _allowed("switch", "本会话已开启" if name not in asked.rules.blocked else "开关不起作用（已被骰主禁用）")
    sentence = f"工具 {name} 未开启，无法调用：本会话的开关是关，发送 .ai tool on {name} 可开启"
    return LayerVerdict("switch", False, "switched_off", sentence)


def _budget(asked: _Question) -> LayerVerdict:
    """The tool's own limits on calls in a turn and in a minute."""
    name, budget = asked.tool.name, asked.tool.budget
    if budget.per_turn is not None and asked.turn.in_turn.get(name, 0) >= budget.per_turn:
        sentence = f"工具 {name} 本回合的 {budget.per_turn} 次调用已用完"
        return LayerVerdict("budget", False, "budget_turn", sentence)
    if budget.per_minute is not None and asked.turn.in_minute.get(name, 0) >= budget.per_minute:
        sentence = f"工具 {name} 每分钟最多 {budget.per_minute} 次，请稍后再试"
        return LayerVerdict("budget", False, "budget_minute", sentence)
    left = _left(asked)
    return _allowed("budget", "没有次数限制" if left is None else f"本回合还可调用 {left} 次")


def _left(asked: _Question) -> int | None:
    limit = asked.tool.budget.per_turn
    return None if limit is None else max(0, limit - asked.turn.in_turn.get(asked.tool.name, 0))


def _approval(asked: _Question) -> LayerVerdict:
    """Whether a call needs somebody's consent, or never gets it."""
    if asked.tool.approval == "deny":
        return LayerVerdict(
            "approval", False, "approval_denied", f"工具 {asked.tool.name} 被设为一律拒绝（approval: deny）"
        )
    return _allowed("approval", "调用前需要批准" if _asks(asked) else "不需要批准")


def _asks(asked: _Question) -> bool:
    """``ask`` always, destructive tools unless trust is open; a master's own typed command is its approval."""
    typed_by_master = asked.ctx.surface == "command" and asked.ctx.level >= MASTER_LEVEL
    guarded = asked.tool.annotations.destructive and asked.rules.trust == "guarded"
    return (asked.tool.approval == "ask" or guarded) and not typed_by_master


_LAYERS: tuple[Callable[[_Question], LayerVerdict], ...] = (
    _place,
    _owner,
    _person,
    _source,
    _requirement,
    _switch,
    _budget,
    _approval,
)


def is_private(session: str) -> bool:
    """True for the session id of a private chat."""
    return side_of(session) == "private"


def level_words(level: int) -> str:
    """A level with the name of who has it: ``权限 50（群管理员）``."""
    name = next((name for least, name in LEVEL_NAMES if level >= least), "")
    return f"权限 {level}" + (f"（{name}）" if name else "")
