"""The bytes that reach an endpoint of each provider, and what its answer becomes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

from plugin_host.calls import ToolCall
from plugin_host.config.models import Connection
from plugin_host.conversation import CallMade, Finished, Message, ModelRequest, TextDelta, ToolSpec
from plugin_host.models import EndpointModel
from tests.kit.model_server import Answer, CaptureServer, ModelServer, collect

SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
REQUEST = ModelRequest(
    messages=(
        Message("system", "你是骰娘"),
        Message("user", "帮我掷 3d6"),
        Message("assistant", "好", calls=(ToolCall("c1", "roll_dice", {"expression": "3d6"}),)),
        Message("tool", "3d6=11", call_id="c1", name="roll_dice"),
        Message("user", "再来"),
    ),
    tools=(ToolSpec("roll_dice", "掷骰", SCHEMA),),
)
ANTHROPIC_EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "想想"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "好的"}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "roll_dice", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"expression":'},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '  "2d6"}'}},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]
ANTHROPIC_SSE = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in ANTHROPIC_EVENTS)
GOOGLE_PARTS = [{"text": "好的"}, {"functionCall": {"name": "roll_dice", "args": {"expression": "2d6"}}}]
GOOGLE_SSE = (
    "data: "
    + json.dumps(
        {
            "candidates": [{"content": {"role": "model", "parts": GOOGLE_PARTS}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 9, "totalTokenCount": 14},
            "modelVersion": "gemini-test",
        }
    )
    + "\n\n"
)


@asynccontextmanager
async def endpoint(
    server: ModelServer, provider: Literal["openai", "anthropic", "google"], model: str, **settings: Any
) -> AsyncIterator[EndpointModel]:
    async with server:
        base = server.base_url if provider == "openai" else server.base_url.removesuffix("/v1")
        made = EndpointModel(
            Connection(name="main", provider=provider, base_url=base, api_key="k-secret", timeout=5, **settings), model
        )
        try:
            yield made
        finally:
            await made.aclose()


async def test_openai_gets_the_canonical_history_and_unchanged_schemas() -> None:
    server = ModelServer()
    server.script(
        [Answer(text="好的，掷骰", pieces=2, thinking="想想", calls=[("roll_dice", '{"expression":  "2d6"}')])]
    )
    async with endpoint(server, "openai", "some-model", headers={"x-extra": "1"}, body={"top_k": 3}) as model:
        chunks = await collect(model.stream(REQUEST))
    assert server.paths == ["/v1/chat/completions"]
    assert (server.headers[0]["authorization"], server.headers[0]["x-extra"]) == ("Bearer k-secret", "1")
    call = {"id": "c1", "type": "function", "function": {"name": "roll_dice", "arguments": '{"expression":"3d6"}'}}
    assert server.requests == [
        {
            "model": "some-model",
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [
                {"role": "system", "content": "你是骰娘"},
                {"role": "user", "content": "帮我掷 3d6"},
                {"role": "assistant", "content": "好", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "3d6=11"},
                {"role": "user", "content": "再来"},
            ],
            "tool_choice": "auto",
            "tools": [
                {"type": "function", "function": {"name": "roll_dice", "description": "掷骰", "parameters": SCHEMA}}
            ],
            "top_k": 3,
        }
    ]
    assert chunks == [
        TextDelta("好的，"),
        TextDelta("掷骰"),
        CallMade(ToolCall("call_1", "roll_dice", raw_arguments='{"expression":  "2d6"}', origin="native")),
        Finished("main:some-model", 11, 7, "tool_call"),
    ]


async def test_anthropic_gets_tool_results_in_a_user_message() -> None:
    server = CaptureServer(ANTHROPIC_SSE)
    async with endpoint(server, "anthropic", "claude-test", headers={"x-extra": "1"}, body={"top_k": 3}) as model:
        chunks = await collect(model.stream(REQUEST))
    assert server.paths == ["/v1/messages"]
    assert server.headers[0]["x-extra"] == "1"
    assert "k-secret" in " ".join(server.headers[0].values())
    (body,) = server.requests
    assert body.pop("max_tokens") > 0
    assert body == {
        "model": "claude-test",
        "stream": True,
        "system": "你是骰娘",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "帮我掷 3d6"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "好"},
                    {"type": "tool_use", "id": "c1", "name": "roll_dice", "input": {"expression": "3d6"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "3d6=11"}],
                        "is_error": False,
                    },
                    {"type": "text", "text": "再来"},
                ],
            },
        ],
        "tool_choice": {"type": "auto"},
        "tools": [{"name": "roll_dice", "description": "掷骰", "input_schema": SCHEMA}],
        "top_k": 3,
    }
    assert chunks == [
        TextDelta("好的"),
        CallMade(ToolCall("toolu_1", "roll_dice", raw_arguments='{"expression":  "2d6"}', origin="native")),
        Finished("main:claude-test", 5, 9, "tool_call"),
    ]


async def test_google_gets_function_parts_and_may_leave_call_ids_out() -> None:
    server = CaptureServer(GOOGLE_SSE)
    async with endpoint(
        server, "google", "gemini-test", headers={"x-extra": "1"}, body={"labels": {"a": "b"}}
    ) as model:
        chunks = await collect(model.stream(REQUEST))
    assert server.paths == ["/v1beta/models/gemini-test:streamGenerateContent?alt=sse"]
    assert (server.headers[0]["x-goog-api-key"], server.headers[0]["x-extra"]) == ("k-secret", "1")
    (body,) = server.requests
    assert body.pop("generationConfig") == {"responseModalities": ["TEXT"]}
    signature = body["contents"][1]["parts"][1].pop("thoughtSignature")
    assert signature  # the library's own mark for calls that another model made
    assert body == {
        "systemInstruction": {"role": "user", "parts": [{"text": "你是骰娘"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "帮我掷 3d6"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "好"},
                    {"functionCall": {"id": "c1", "name": "roll_dice", "args": {"expression": "3d6"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "roll_dice", "response": {"return_value": "3d6=11"}}}
                ],
            },
            {"role": "user", "parts": [{"text": "再来"}]},
        ],
        "tools": [
            {"functionDeclarations": [{"name": "roll_dice", "description": "掷骰", "parameters_json_schema": SCHEMA}]}
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "labels": {"a": "b"},
    }
    text, made, finished = chunks
    assert text == TextDelta("好的")
    assert (made.call.name, made.call.raw_arguments) == ("roll_dice", '{"expression":"2d6"}')
    assert made.call.id
    assert (finished.model, finished.input_tokens, finished.output_tokens) == ("main:gemini-test", 5, 9)


async def test_a_call_with_cut_arguments_in_the_history_goes_out_as_an_object() -> None:
    server = ModelServer()
    server.script([Answer(text="好")])
    broken = (
        ToolCall("c1", "roll_dice", raw_arguments='{"expression": "3'),
        ToolCall("c2", "x", raw_arguments='{"a":1}'),
    )
    history = (
        Message("user", "掷"),
        Message("assistant", "", calls=broken),
        Message("tool", "不完整", call_id="c1", name="roll_dice"),
        Message("tool", "好", call_id="c2", name="x"),
    )
    async with endpoint(server, "openai", "m") as model:
        await collect(model.stream(ModelRequest(history)))
    sent = server.requests[0]["messages"][1]["tool_calls"]
    assert [call["function"]["arguments"] for call in sent] == ["{}", '{"a":1}']
    assert "tools" not in server.requests[0]
