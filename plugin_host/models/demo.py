"""DemoModel: an offline, rule-based model that shows the whole loop without a key, in either tool mode."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from plugin_host.calls import ToolCall
from plugin_host.conversation import CallMade, Chunk, Finished, Message, ModelRequest, TextDelta
from plugin_host.models.intents import INTENTS, Intent
from plugin_host.textcalls import describes

MARK = "[演示模型]"
ABILITIES = "我是离线的演示模型，只会几件事：掷骰（例如“帮我掷 3d6”“投个 d20”“roll 2d10+3”）。"
SETUP = "要和真正的模型聊天，请骰主在 config.yaml 的 models 里写上 connections 和 uses.chat。"
ASKS_HELP = re.compile(r"几点|时间|帮助|你会什么|能做什么|\bhelp\b", re.IGNORECASE)
NO_CLOCK = "我没有时钟。"
RESULT_HEAD = "【工具返回:"
# In a group the host writes who speaks in front of the words.
SPEAKER = re.compile(r"\A[^\n]{1,60}?（\d+）：")


class DemoModel:
    """A ChatModel without an endpoint. It keeps nothing between requests and uses only tools declared in a request."""

    name = "demo"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Text, at most one call, then Finished."""
        text, call = _answer(request)
        if call is not None and request.mode == "prompt":
            text = "\n".join(part for part in (text, _fence(*call)) if part)
        yield TextDelta(text)
        if call is not None and request.mode == "native":
            tool, arguments = call
            raw = json.dumps(arguments, ensure_ascii=False)
            number = sum(len(message.calls) for message in request.messages) + 1
            yield CallMade(ToolCall(f"demo_{number}", tool, raw_arguments=raw, origin="native"))
        yield Finished(self.name, finish_reason="stop" if call is None else "tool_calls")


Call = tuple[str, dict[str, Any]]


def _answer(request: ModelRequest) -> tuple[str, Call | None]:
    fresh = _since_last_answer(request.messages)
    results = [_result_text(message) for message in fresh if _is_result(message)]
    said = [SPEAKER.sub("", message.text) for message in fresh if message.role == "user" and not _is_result(message)]
    lines = [f"结果出来了：{_readable(text)}" for text in results]
    call: Call | None = None
    if said or not lines:
        words, call = _reply(said[-1] if said else "", request)
        lines.append(words)
    return f"{MARK} " + "\n".join(lines), call


def _reply(said: str, request: ModelRequest) -> tuple[str, Call | None]:
    for intent in INTENTS:
        if match := intent.pattern.search(said):
            if not _declared(intent, request):
                return f"要用工具 {intent.tool}，但它现在没有开放（.ai tool on {intent.tool} 可开启）。", None
            return intent.words, (intent.tool, intent.arguments(match))
    if asked := ASKS_HELP.search(said):
        return (NO_CLOCK if asked.group() in ("几点", "时间") else "") + ABILITIES, None
    return f"{ABILITIES}{SETUP}", None


def _readable(text: str) -> str:
    """A structured result by its ``detail``, which is made for people; anything else as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return str(value.get("detail", text)) if isinstance(value, dict) else text


def _declared(intent: Intent, request: ModelRequest) -> bool:
    if request.mode == "native":
        return any(tool.name == intent.tool for tool in request.tools)
    return any(message.role == "system" and describes(message.text, intent.tool) for message in request.messages)


def _since_last_answer(messages: Sequence[Message]) -> list[Message]:
    fresh: list[Message] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        fresh.append(message)
    return fresh[::-1]


def _is_result(message: Message) -> bool:
    return message.role == "tool" or (message.role == "user" and message.text.startswith(RESULT_HEAD))


def _result_text(message: Message) -> str:
    if message.role == "tool":
        return message.text
    return message.text.partition("\n")[2] or message.text.partition("】")[2].strip()


def _fence(tool: str, arguments: dict[str, Any]) -> str:
    calls = json.dumps([{"name": tool, "arguments": arguments}], ensure_ascii=False)
    return f"```function\n{calls}\n```"
