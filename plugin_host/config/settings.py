"""The settings models: one class per top-level key of ``config.yaml``; unknown keys are errors.

The ``description`` of a field is its one explanation: ``config.yaml`` and ``docs/configuration.md`` come from it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from plugin_host.config.bridge import BridgeSettings, BridgeTokens, CoreEntry, ProtocolEnd
from plugin_host.config.models import Connection, ModelSettings, ModelUses, ToolMode
from plugin_host.config.section import Account, Id, Number, Prefix, Seconds, Section, Text, Whole, refuse

__all__ = [
    "AgentSettings",
    "AiSettings",
    "BotSettings",
    "BridgeSettings",
    "BridgeTokens",
    "CommandSettings",
    "Connection",
    "CoreEntry",
    "Id",
    "InboxSettings",
    "JournalSettings",
    "LogSettings",
    "MaxAge",
    "ModelSettings",
    "ModelUses",
    "PathSettings",
    "PluginSettings",
    "ProtocolEnd",
    "Seconds",
    "Section",
    "SendSettings",
    "Settings",
    "ToolMode",
    "ToolSettings",
]


class BotSettings(Section):
    """How the bot is called and which characters open a command."""

    names: tuple[Text, ...] = Field((), description="机器人的名字；消息里提到就算在叫它", examples=[["骰娘"]])
    prefixes: tuple[Prefix, ...] = Field((".", "。", "/", "!", "！"), description="指令的开头字符")


class AgentSettings(Section):
    """Bounds of one AI turn."""

    system_prompt: Text = Field(
        "你是跑团群里的助手。掷骰必须调用工具，不要编造点数。回答简短，用简体中文。",
        description="给模型的人设和规矩",
    )
    max_rounds: Annotated[Whole, Field(ge=1, le=100)] = Field(100, description="一次 AI 回答最多几轮模型请求")
    max_calls: Annotated[Whole, Field(ge=0, le=10_000)] = Field(
        0, description="一次 AI 回答最多调用几次工具；0 = 不另设上限"
    )
    max_errors: Annotated[Whole, Field(ge=1, le=100)] = Field(5, description="工具连续出错几次就停下")
    history: Annotated[Whole, Field(ge=1, le=1000)] = Field(60, description="给模型看的最近消息条数")


class ToolSettings(Section):
    """What is forced off, what starts off, and how results are cut."""

    blocked: frozenset[Text] = Field(frozenset(), description="全局禁用的工具，任何会话都打不开")
    default_off: frozenset[Text] = Field(frozenset(), description="默认关闭的工具，会话里可以打开")
    result_limit: Annotated[Whole, Field(ge=0, le=10_000_000)] = Field(
        10_000, description="给模型的工具结果最多几个字；0 = 不截断"
    )
    trust: Literal["guarded", "open"] = Field("guarded", description="guarded 按权限开放工具；open 所有人全部开放")
    timeout: Annotated[Number, Field(gt=0, le=3600)] = Field(300.0, description="一次工具调用的时限（秒）")
    privilege: dict[Text, Annotated[Whole, Field(ge=-100, le=1000)]] = Field(
        default_factory=dict,
        description="改某个工具的最低权限（0 所有人，50 群管理，100 骰主）",
        examples=[{"roll_dice": 0}],
    )


class CommandSettings(Section):
    """How long a command may hold its session's lane, and how long it may run at all."""

    lane_limit: Annotated[Number, Field(gt=0, le=60)] = Field(1.0, description="指令占住会话的秒数，超过就放到后台")
    timeout: Annotated[Number, Field(gt=0, le=3600)] = Field(60.0, description="一条指令的总时限（秒）")


class AiSettings(Section):
    """Who may be answered by the model."""

    open_groups: Literal["allowed", "all"] = Field(
        "allowed", description="哪些群能用 AI：allowed 要骰主先 .ai allow，all 都可以"
    )
    private: bool = Field(True, description="私聊默认能用 AI")


class MaxAge(Section):
    """Seconds after which an unsent line of a source is dropped and counted; 0 = never."""

    ai: Seconds = Field(120.0, description="AI 的回答")
    notice: Seconds = Field(600.0, description="通知")
    timer: Seconds = Field(3600.0, description="定时消息")
    command: Seconds = Field(3600.0, description="指令的回复")


class SendSettings(Section):
    """Sending: how long to wait for an answer, how old a line may get, how many segments an answer may have."""

    timeout: Annotated[Number, Field(gt=0, le=600)] = Field(30.0, description="等发送结果的秒数")
    max_age: MaxAge = Field(MaxAge(), description="没发出去的消息过多少秒就丢弃并计数；0 = 永不")
    segments: Annotated[Whole, Field(ge=1, le=100)] = Field(10, description="一次回答最多分成几条")


class InboxSettings(Section):
    """How many events may wait: over all sessions, and in one session."""

    limit: Annotated[Whole, Field(ge=1, le=1_000_000)] = Field(10_000, description="全部会话一共最多排队几条消息")
    session_limit: Annotated[Whole, Field(ge=1, le=10_000)] = Field(32, description="一个会话最多排队几条消息")


class JournalSettings(Section):
    """How long the journal is kept: days, 0 = for ever."""

    keep: Annotated[Whole, Field(ge=0, le=36_500)] = Field(90, description="日志库保留几天；0 = 永久")


class LogSettings(Section):
    """The log: its level, and how many days of files in ``data/logs`` are kept (0 = no files)."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="写哪一级以上的运行日志")
    keep: Annotated[Whole, Field(ge=0, le=3650)] = Field(7, description="data/logs 里的日志文件保留几天；0 = 不写文件")


class PathSettings(Section):
    """Folders, relative to the home."""

    plugins: Text = Field("plugins", description="插件文件夹")
    data: Text = Field("data", description="数据文件夹（数据库、日志文件）")


class PluginSettings(BaseModel):
    """Plugins switched off for the whole bot, and one free mapping per plugin (validated by the plugin itself)."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)
    disabled: tuple[Text, ...] = Field((), description="全局停用的插件", examples=[["luck"]])
    import_limit: Annotated[Number, Field(gt=0, le=120)] = Field(5.0, description="载入一个插件的时限（秒）")

    def of(self, name: str) -> dict[str, Any]:
        """The raw mapping under ``plugins.NAME`` without the host's own keys; empty when there is none."""
        extra = self.__pydantic_extra__ or {}
        value = extra.get(name) or {}
        return dict(value) if isinstance(value, dict) else {}

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """The host's own keys and the names of the rest: raw values may hold secrets filled from the environment."""
        own = [(name, getattr(self, name)) for name in type(self).model_fields]
        return [*own, ("names", sorted(self.__pydantic_extra__ or {}))]

    @model_validator(mode="before")
    @classmethod
    def _nothing_means_default(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return {} if value is None else value
        return {key: item for key, item in value.items() if item is not None or key not in cls.model_fields}

    @model_validator(mode="after")
    def _each_plugin_is_a_mapping(self) -> PluginSettings:
        extra = self.__pydantic_extra__ or {}
        wrong = [name for name, value in extra.items() if value is not None and not isinstance(value, dict)]
        if wrong:
            own = "、".join(type(self).model_fields)
            words = f"映射（键: 值），因为插件名下面是那个插件的设置（不是插件名的键只有 {own}）"
            raise refuse(*(((name,), words) for name in wrong))
        return self


class Settings(Section):
    """The whole of ``config.yaml``."""

    language: Literal["zh", "en"] = Field("zh", description="给主人看的话用什么语言")
    timezone: Text = Field("Asia/Shanghai", description="时区")
    masters: tuple[Account, ...] = Field((), description="骰主的 QQ 号", examples=[[10001]])
    bot: BotSettings = Field(BotSettings(), description="机器人的名字和指令开头")
    bridge: BridgeSettings = Field(BridgeSettings(), description="OneBot 11 网桥")
    models: ModelSettings = Field(ModelSettings(), description="语言模型")
    agent: AgentSettings = Field(AgentSettings(), description="AI 回答的人设和上限")
    tools: ToolSettings = Field(ToolSettings(), description="工具")
    commands: CommandSettings = Field(CommandSettings(), description="指令")
    ai: AiSettings = Field(AiSettings(), description="谁能用 AI")
    send: SendSettings = Field(SendSettings(), description="发送")
    inbox: InboxSettings = Field(InboxSettings(), description="收件排队的上限")
    journal: JournalSettings = Field(JournalSettings(), description="日志库（谁在何时做了什么）")
    log: LogSettings = Field(LogSettings(), description="运行日志")
    plugins: PluginSettings = Field(PluginSettings(), description="插件；每个插件自己的设置写在 插件名: 下面")
    paths: PathSettings = Field(PathSettings(), description="文件夹，相对于 config.yaml 所在的文件夹")

    @field_validator("timezone")
    @classmethod
    def _zone_exists(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise PydanticCustomError("shape", "no such zone", {"words": "时区名，例如 Asia/Shanghai"}) from error
        return value
