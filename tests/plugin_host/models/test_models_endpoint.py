"""How an endpoint fails: classes, limits, cancellation; and that nothing is imported before its first use."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from plugin_host.config.models import Connection
from plugin_host.conversation import CallMade, Message, ModelRequest, TextDelta, ToolSpec
from plugin_host.errors import ModelError
from plugin_host.models import EndpointModel
from plugin_host.models.failures import MESSAGE_LIMIT, kind_of, shortened
from tests.kit.model_server import TOOLS_REFUSED, Answer, CaptureServer, ModelServer, collect

REQUEST = ModelRequest((Message("user", "你好"),), (ToolSpec("roll_dice", "掷骰", {"type": "object"}),))


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[EndpointModel]:
    made = EndpointModel(Connection(name="main", base_url=server.base_url, api_key="k-secret", timeout=5), "m")
    yield made
    await made.aclose()


async def failure(model: EndpointModel, answer: Answer, server: ModelServer) -> ModelError:
    server.script([answer])
    with pytest.raises(ModelError) as caught:
        await collect(model.stream(REQUEST))
    assert caught.value.model == "main:m"
    return caught.value


def openai_error(message: str, code: str = "") -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code or None}}


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (402, openai_error("Insufficient Balance"), "balance"),
        (429, openai_error("You exceeded your current quota", "insufficient_quota"), "balance"),
        (400, openai_error("maximum context length is 8192 tokens", "context_length_exceeded"), "context_length"),
        (429, openai_error("slow down", "rate_limit_exceeded"), "rate_limit"),
        (503, openai_error("try later"), "overload"),
        (529, openai_error("overloaded"), "overload"),
        (401, openai_error("Incorrect API key"), "auth"),
        (403, openai_error("no access to the model"), "permission"),
        (400, openai_error("blocked by content filter", "content_filter"), "content"),
        (400, openai_error("temperature must be below 2"), "parameter"),
        (422, "unprocessable", "parameter"),
        (404, openai_error("no such model", "model_not_found"), "parameter"),
        (500, "boom", "server"),
        (502, "<html>bad gateway</html>", "server"),
        (400, openai_error("registry.example/llama does not support tools"), "tools_unsupported"),
        (400, openai_error("Unrecognized request argument supplied: tools"), "tools_unsupported"),
    ],
)
async def test_a_refusal_has_the_class_of_its_status_and_words(
    status: int, error: Any, kind: str, model: EndpointModel, server: ModelServer
) -> None:
    caught = await failure(model, Answer(status=status, error=error), server)
    assert caught.kind == kind
    assert len(server.requests) == 1  # no hidden retry


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, "function calling is not enabled for this model", "tools_unsupported"),
        (400, "tool_choice is not supported", "tools_unsupported"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice', "tools_unsupported"),
        (404, "No endpoints found that support tool use", "tools_unsupported"),
        (400, "some-reasoner does not support Function Calling", "tools_unsupported"),
        (400, "invalid type for tools[0].parameters", "parameter"),
        (400, "Unknown parameter: 'tools[0].function.strict'", "parameter"),
        (400, "Invalid schema for function 'roll_dice': 'oneOf' is not supported", "parameter"),
        (500, "function render not available", "server"),
        (403, "flagged by moderation", "content"),
        (400, "prompt is too long: 9 > 8", "context_length"),
        (400, "您的账户余额不足", "balance"),
        (413, "", "context_length"),
        (408, "", "timeout"),
        (302, "", "unknown"),
    ],
)
def test_words_decide_before_the_status(status: int, body: str, kind: str) -> None:
    assert kind_of(status, body) == kind


def test_a_message_is_cut_at_its_limit_and_never_holds_the_key() -> None:
    assert shortened("key sk-1 \n wrong", "sk-1") == "key *** wrong"
    assert shortened("x" * MESSAGE_LIMIT, "") == "x" * MESSAGE_LIMIT
    assert shortened("x" * (MESSAGE_LIMIT + 1), "") == "x" * MESSAGE_LIMIT + "…"


async def test_the_wait_that_an_endpoint_asks_for_is_kept(model: EndpointModel, server: ModelServer) -> None:
    caught = await failure(model, Answer(status=429, error=openai_error("slow"), headers={"Retry-After": "7"}), server)
    assert (caught.kind, caught.retry_after) == ("rate_limit", 7.0)


async def test_the_scripted_refusal_of_tools_is_definite(model: EndpointModel, server: ModelServer) -> None:
    assert (await failure(model, TOOLS_REFUSED, server)).kind == "tools_unsupported"


async def test_the_key_in_an_error_is_hidden(model: EndpointModel, server: ModelServer) -> None:
    caught = await failure(model, Answer(status=401, error=openai_error("bad key k-secret")), server)
    assert "k-secret" not in str(caught)


async def test_a_call_without_an_id_is_a_missing_id_error(model: EndpointModel, server: ModelServer) -> None:
    caught = await failure(model, Answer(calls=[("roll_dice", {})], ids=[None]), server)
    assert caught.kind == "missing_id"


async def test_a_withheld_answer_is_a_content_error(model: EndpointModel, server: ModelServer) -> None:
    assert (await failure(model, Answer(finish="content_filter"), server)).kind == "content"


async def test_a_connection_cut_in_the_stream_is_a_network_error_without_calls(
    model: EndpointModel, server: ModelServer
) -> None:
    server.script([Answer(text="好的好的", pieces=4, calls=[("roll_dice", {})], disconnect=True)])
    seen: list[Any] = []
    with pytest.raises(ModelError) as caught:
        await collect(model.stream(REQUEST), seen)
    assert caught.value.kind == "network"
    assert seen
    assert all(isinstance(chunk, TextDelta) for chunk in seen)


async def test_nobody_listening_is_a_network_error() -> None:
    async with ModelServer() as gone:
        base = gone.base_url
    made = EndpointModel(Connection(name="main", base_url=base, timeout=5), "m")
    with pytest.raises(ModelError) as caught:
        await collect(made.stream(REQUEST))
    await made.aclose()
    assert caught.value.kind == "network"


@pytest.mark.parametrize("sse", ["data: {not json\n\n", "data: [1]\n\ndata: [DONE]\n\n"])
async def test_a_stream_that_is_no_json_is_our_error_too(sse: str) -> None:
    async with CaptureServer(sse) as server:
        made = EndpointModel(Connection(name="main", base_url=server.base_url, timeout=5), "m")
        with pytest.raises(ModelError):
            await collect(made.stream(REQUEST))
        await made.aclose()


@pytest.mark.parametrize(
    ("message", "kind"), [("insufficient balance", "balance"), ("engine overloaded", "overload"), ("oops", "server")]
)
async def test_an_error_inside_an_open_stream_has_the_class_of_its_words(message: str, kind: str) -> None:
    async with CaptureServer(f"data: {json.dumps({'error': {'message': message}})}\n\n") as server:
        made = EndpointModel(Connection(name="main", base_url=server.base_url, timeout=5), "m")
        with pytest.raises(ModelError) as caught:
            await collect(made.stream(REQUEST))
        await made.aclose()
    assert caught.value.kind == kind


async def test_parallel_and_malformed_calls_come_raw_and_in_order(model: EndpointModel, server: ModelServer) -> None:
    server.script([Answer(calls=[("roll_dice", '{"expression": "3d'), ("roll_dice", "{'a': 1}"), ("x", "")])])
    chunks = await collect(model.stream(REQUEST))
    made = [chunk.call for chunk in chunks if isinstance(chunk, CallMade)]
    assert [(call.id, call.raw_arguments, call.arguments) for call in made] == [
        ("call_1", '{"expression": "3d', None),
        ("call_2", "{'a': 1}", None),
        ("call_3", "", None),
    ]


async def test_silence_longer_than_the_limit_is_a_timeout_and_frees_the_connection(server: ModelServer) -> None:
    stall = asyncio.Event()
    server.script([Answer(text="一二三四", pieces=4, stall=stall)])
    made = EndpointModel(Connection(name="main", base_url=server.base_url, timeout=0.3), "m")
    await made.warm()
    with pytest.raises(ModelError) as caught:
        await collect(made.stream(REQUEST))
    assert caught.value.kind == "timeout"
    async with asyncio.timeout(5):
        await server.gone.wait()
    await made.aclose()


async def test_the_limit_rolls_with_each_chunk(server: ModelServer) -> None:
    server.script([Answer(text="一" * 12, pieces=12, delay=0.05)])
    made = EndpointModel(Connection(name="main", base_url=server.base_url, timeout=0.5), "m")
    await made.warm()
    chunks = await collect(made.stream(REQUEST))
    await made.aclose()
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == "一" * 12


async def test_cancelling_the_reader_closes_the_connection(model: EndpointModel, server: ModelServer) -> None:
    server.script([Answer(text="一二", pieces=2, stall=asyncio.Event())])
    task = asyncio.create_task(collect(model.stream(REQUEST)))
    async with asyncio.timeout(10):
        await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.gone.wait()


async def test_leaving_the_stream_early_closes_the_connection(model: EndpointModel, server: ModelServer) -> None:
    server.script([Answer(text="一二三四", pieces=4, stall=asyncio.Event())])
    async with aclosing(model.stream(REQUEST)) as chunks:
        assert isinstance(await anext(chunks), TextDelta)
    async with asyncio.timeout(5):
        await server.gone.wait()


def test_importing_the_models_loads_no_provider_library() -> None:
    code = (
        "import sys, plugin_host.models; "
        "print([m for m in ('pydantic_ai', 'openai', 'anthropic', 'google.genai', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
