"""The settings of the OneBot 11 bridge: where it listens, whom it dials, who may attach."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from plugin_host.config.section import Id, Number, Seconds, Secret, Section, Shape, Text, Whole

PORT = r"([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
Address = Annotated[Text, Shape(rf".+:{PORT}", "主机:端口，例如 127.0.0.1:46880（端口 0 到 65535）")]
SocketUrl = Annotated[Text, Shape(r"wss?://.+", "以 ws:// 或 wss:// 开头的地址")]
OptionalAccount = Annotated[Text, Shape(r"[0-9]{0,20}", "最多 20 位数字（QQ 号）或空")]


class BridgeTokens(Section):
    """One token per endpoint of the bridge; empty = none."""

    core: Secret = Field(SecretStr(""), description="骰核连 /core 用的口令；空 = 不要口令")
    ob11: Secret = Field(SecretStr(""), description="协议端连 /ob11 用的口令；空 = 不要口令")
    plugin: Secret = Field(SecretStr(""), description="宿主连 /plugin 用的口令；空 = 不要口令")


class ProtocolEnd(Section):
    """A protocol end that we dial (forward WebSocket)."""

    url: SocketUrl = Field(description="协议端正向 WebSocket 的地址", examples=["ws://127.0.0.1:3001"], repr=False)
    token: Secret = Field(SecretStr(""), description="协议端要求的口令", examples=["${NAPCAT_TOKEN}"])


class CoreEntry(Section):
    """A dice core that may attach to ``/core``."""

    name: Id = Field("core", description="骰核的名字")
    token: Secret = Field(SecretStr(""), description="这个骰核的口令，连上时凭它认出是谁", examples=["${CORE_TOKEN}"])
    self_id: OptionalAccount = Field("", description="它属于哪个机器人账号；空 = 第一个出现的账号")
    events: Literal["relay", "drop"] = Field("relay", description="协议端的事件转发给它（relay）还是不转发（drop）")
    frame_limit: Annotated[Whole, Field(ge=1024, le=64 * 1024 * 1024)] = Field(
        1_048_576, description="一帧最多多少字节"
    )
    self_messages: Literal["relay", "drop"] = Field("drop", description="机器人自己发的消息要不要转发给它")


class BridgeSettings(Section):
    """The OneBot 11 bridge: where it listens, whom it dials, who may attach."""

    listen: Address = Field("127.0.0.1:46880", description="网桥监听的地址")
    allow_open: bool = Field(False, description="允许没有口令就监听在本机以外的地址（危险）")
    tokens: BridgeTokens = Field(BridgeTokens(), description='网桥各入口的口令；建议写成 "${变量名}"')
    origins: tuple[Text, ...] = Field((), description="允许哪些网页来源（Origin）连进来")
    protocol: tuple[ProtocolEnd, ...] = Field((), description="由网桥主动去连的协议端（正向 WebSocket）")
    cores: tuple[CoreEntry, ...] = Field((), description="可以接到 /core 的骰核")
    max_event_age: Seconds = Field(0.0, description="比这更旧（秒）的事件丢弃；0 = 不丢")
    action_timeout: Annotated[Number, Field(gt=0, le=600)] = Field(8.0, description="等协议端回应一个动作的秒数")
