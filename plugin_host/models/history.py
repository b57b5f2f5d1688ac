"""Our canonical messages and tools → the message objects of pydantic-ai. Imported with it, on first use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from plugin_host.calls import ToolCall
from plugin_host.conversation import Message, ToolSpec

# No provider is sent the time of a message; a fixed one keeps equal histories equal.
NO_TIME = datetime.fromtimestamp(0, UTC)


def messages_of(messages: Iterable[Message]) -> list[ModelMessage]:
    """Neighbouring messages that are not the model's become one request, as providers want the roles to alternate."""
    converted: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        if message.role != "assistant":
            parts.append(_request_part(message))
            continue
        if parts:
            converted.append(ModelRequest(parts=parts))
            parts = []
        converted.append(ModelResponse(parts=_response_parts(message), timestamp=NO_TIME))
    if parts:
        converted.append(ModelRequest(parts=parts))
    return converted


def parameters_of(tools: Sequence[ToolSpec]) -> ModelRequestParameters:
    """The declared tools; never the provider's strict mode, which rewrites schemas."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.input_schema),
                strict=False,
            )
            for tool in tools
        ]
    )


def _request_part(message: Message) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(message.text, timestamp=NO_TIME)
    if message.role == "tool":
        return ToolReturnPart(message.name, message.text, tool_call_id=message.call_id, timestamp=NO_TIME)
    return UserPromptPart(message.text, timestamp=NO_TIME)


def _response_parts(message: Message) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = [TextPart(message.text)] if message.text else []
    parts += [ToolCallPart(call.name, _arguments(call), tool_call_id=call.id) for call in message.calls]
    return parts


def _arguments(call: ToolCall) -> dict[str, Any]:
    """Always an object: a truncated text in the history would make the endpoint refuse every later request."""
    if call.arguments is not None:
        return dict(call.arguments)
    try:
        value = json.loads(call.raw_arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
