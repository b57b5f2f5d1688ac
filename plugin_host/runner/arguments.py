"""Arguments as written → arguments that fit the schema, or one sentence that says what does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from plugin_host.calls import ToolCall, Verdict
from plugin_host.runner.execution import failed
from plugin_host.textcalls import repair
from plugin_host.tools import Tool
from plugin_host.watch.daemon import Interrupted

SIZE_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a call does not run: a stable code and a Chinese sentence; ``denied`` when it is a matter of rights."""

    code: str
    sentence: str
    denied: bool = False


def parsed_arguments(call: ToolCall, tool: Tool) -> dict[str, Any] | Refused:
    """The arguments of a call, parsed and validated against the tool's schema and Python types."""
    value: Any = call.arguments
    verdict: Verdict = call.verdict
    if value is None:
        if len(call.raw_arguments) > SIZE_LIMIT:
            return Refused("arguments_too_large", f"参数超过 {SIZE_LIMIT} 字符")
        value, verdict = _from_text(call.raw_arguments)
        if call.verdict == "truncated" and verdict != "clean":
            verdict = "truncated"
    if verdict in ("guessed", "truncated") and not tool.annotations.read_only:
        word = "不完整" if verdict == "truncated" else "写法有歧义"
        return Refused("truncated_call", f"调用 {tool.name} 的参数{word}，没有执行；请重新给出完整的 JSON 参数")
    if not isinstance(value, Mapping):
        return Refused("invalid_arguments", f"调用 {tool.name} 的参数应为 JSON 对象，实际是 {_kind(value)}")
    if complaints := tool.schema.complaints(value):
        return Refused("invalid_arguments", f"参数错误：{'；'.join(complaints)}")
    return _typed(value, tool)


def _from_text(text: str) -> tuple[Any, Verdict]:
    if not text.strip():
        return {}, "clean"
    try:
        return _storable(json.loads(text)), "clean"
    except (ValueError, RecursionError):
        value, verdict = repair(text)
        return _storable(value), verdict


def _storable(value: Any) -> Any:
    """The value without half characters: JSON can spell a lone surrogate, which neither store nor chat can take."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode(errors="replace"))
    return value


def _typed(value: Mapping[str, Any], tool: Tool) -> dict[str, Any] | Refused:
    if tool.arguments_model is None:
        return dict(value)
    try:
        tool.arguments_model.model_validate(dict(value))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(step) for step in first["loc"]) or "参数"
        return Refused("invalid_arguments", f"参数错误：{path} 不合要求（{first['msg']}）")
    except (Exception, Interrupted) as error:  # a validator of the plugin's own is plugin code like its function
        ran = failed(error, tool.name, tool.source.id)
        return Refused(ran.error_code, ran.sentence)
    return dict(value)


def _kind(value: Any) -> str:
    return "无法解析的文本" if value is None else type(value).__name__
