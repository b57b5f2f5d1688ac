"""The words sent to a model: system text, history in the tool mode of the model. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from plugin_host.calls import ToolCall
from plugin_host.conversation import Message, Mode, ModelRequest, ToolSpec
from plugin_host.textcalls import describe_tools
from plugin_host.values import Event

NOT_RUN = "（这次调用没有结果：处理被中断）"
SPOKEN_LIMIT = 8_000


def build(system: str, history: Sequence[Message], tools: Sequence[ToolSpec], mode: Mode) -> ModelRequest:
    """One request in the given tool mode; the history is made well-formed first."""
    messages = well_formed(history)
    if mode == "native":
        return ModelRequest((Message("system", system), *messages), tuple(tools), mode)
    head = f"{system}\n\n{describe_tools(tools)}" if tools else system
    return ModelRequest((Message("system", head), *in_words(messages)), (), mode)


def well_formed(history: Iterable[Message]) -> list[Message]:
    """The history with exactly one result behind each call, in call order, and no result without its call."""
    messages = list(history)
    shaped: list[Message] = []
    for index, message in enumerate(messages):
        if message.role == "tool":
            continue
        shaped.append(message)
        if message.calls:
            shaped.extend(_results(message.calls, messages[index + 1 :]))
    return shaped


def _results(calls: Sequence[ToolCall], following: Sequence[Message]) -> list[Message]:
    found: dict[str, Message] = {}
    for message in following:
        if message.role == "assistant":
            break
        if message.role == "tool":
            found.setdefault(message.call_id, message)
    return [found.get(call.id, Message("tool", NOT_RUN, call_id=call.id, name=call.name)) for call in calls]


def in_words(history: Iterable[Message]) -> list[Message]:
    """The history for a model without native calls: calls as the fence it writes, results as user messages."""
    worded = []
    for message in history:
        if message.role == "tool":
            text = f"【工具返回:{message.name}】（{message.call_id}）\n{message.text}"
            worded.append(Message("user", text))
        elif message.calls:
            worded.append(replace(message, text=_with_fence(message), calls=()))
        else:
            worded.append(message)
    return worded


def _with_fence(message: Message) -> str:
    calls = [{"name": call.name, "arguments": dict(call.arguments or {})} for call in message.calls]
    fence = f"```function\n{json.dumps(calls, ensure_ascii=False)}\n```"
    return f"{message.text}\n{fence}".lstrip()


def spoken(event: Event) -> Message:
    """A person's message as the model reads it: in a group, who says it comes first."""
    text = event.text.strip()[:SPOKEN_LIMIT]
    if event.is_group:
        name = event.sender.shown.replace("\n", " ")[:40] or "?"
        text = f"{name}（{event.user_id}）：{text}"
    return Message("user", text)
