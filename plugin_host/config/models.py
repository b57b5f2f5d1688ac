"""The settings of model connections, and which model serves which use."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, model_validator

from plugin_host.config.section import Id, Number, Secret, Section, Shape, Text, Trail, refuse

ToolMode = Literal["auto", "native", "prompt"]
ModelName = Annotated[Text, Shape(r"[^:]+:.+", "连接名:模型名，例如 main:gpt-4o-mini")]


class Connection(Section):
    """One model endpoint and its key."""

    name: Id = Field(description="连接名，下面的 uses 用它", examples=["main"])
    provider: Literal["openai", "anthropic", "google"] = Field(
        "openai", description="接口的种类（兼容 OpenAI 的都用 openai）"
    )
    base_url: Text = Field("", description="接口地址；空 = 官方地址", examples=["https://api.example.com/v1"])
    api_key: Secret = Field(
        SecretStr(""), description='密钥；写成 "${变量名}" 就从环境变量取', examples=["${MODEL_API_KEY}"]
    )
    headers: dict[Text, Text] = Field(default_factory=dict, description="每个请求附加的 HTTP 头", repr=False)
    body: dict[Text, Any] = Field(default_factory=dict, description="每个请求体里附加的字段", repr=False)
    timeout: Annotated[Number, Field(gt=0, le=3600)] = Field(120.0, description="多久没有新内容就放弃（秒）")


class ModelUses(Section):
    """Which models serve a use, in fallback order; each is ``connection:model``."""

    chat: tuple[ModelName, ...] = Field((), description="聊天用的模型，按顺序换用；空 = 离线演示模型")


class ModelSettings(Section):
    """Model connections, their uses, and the tool mode of each model."""

    connections: tuple[Connection, ...] = Field((), description="模型接口")
    uses: ModelUses = Field(ModelUses(), description="哪种用途用哪些模型（连接名:模型名）")
    tools: dict[Text, ToolMode] = Field(
        default_factory=dict,
        description="每个模型怎样调用工具：auto 自动，native 函数调用，prompt 提示词",
        examples=[{"main:gpt-4o-mini": "native"}],
    )

    @model_validator(mode="after")
    def _uses_name_connections(self) -> ModelSettings:
        known = [connection.name for connection in self.connections]
        words = "、".join(known) or "还没有任何连接"
        faults: list[tuple[Trail, str]] = [
            (("uses", "chat", index), f"已有的连接名:模型名（连接：{words}）")
            for index, use in enumerate(self.uses.chat)
            if use.partition(":")[0] not in known
        ]
        faults += [
            (("connections", index, "name"), "没用过的连接名")
            for index, name in enumerate(known)
            if name in known[:index]
        ]
        if faults:
            raise refuse(*faults)
        return self
