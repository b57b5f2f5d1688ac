"""The fallback chain: order, tool modes, what is remembered, which error is raised."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plugin_host.config.models import Connection, ModelSettings, ModelUses, ToolMode
from plugin_host.conversation import CallMade, Finished, Message, Mode, ModelRequest, Started, TextDelta, ToolSpec
from plugin_host.errors import ModelError
from plugin_host.models import ModelChain, build_chain
from plugin_host.textcalls import describe_tools
from tests.kit.model_server import TOOLS_REFUSED, Answer, ModelServer, collect

TOOLS = (ToolSpec("roll_dice", "掷骰", {"type": "object", "properties": {"expression": {"type": "string"}}}),)
FAILED = Answer(status=500, error="boom")


def build(mode: Mode) -> ModelRequest:
    if mode == "native":
        return ModelRequest((Message("system", "你是骰娘"), Message("user", "掷")), TOOLS, mode)
    return ModelRequest((Message("system", f"你是骰娘\n\n{describe_tools(TOOLS)}"), Message("user", "掷")), (), mode)


@asynccontextmanager
async def chain(*models: tuple[ToolMode, list[Answer]]) -> AsyncIterator[tuple[ModelChain, ModelServer]]:
    """Models m0, m1, … of one server, each with its mode and its own script."""
    scripts = {f"m{index}": list(answers) for index, (_, answers) in enumerate(models)}
    modes = {f"main:m{index}": mode for index, (mode, _) in enumerate(models)}
    async with ModelServer() as server:
        server.script(lambda body: scripts[body["model"]].pop(0))
        settings = ModelSettings(
            connections=(Connection(name="main", base_url=server.base_url, timeout=5),),
            uses=ModelUses(chat=tuple(modes)),
            tools=modes,
        )
        made = build_chain(settings)
        assert made is not None
        try:
            yield made, server
        finally:
            await made.aclose()


def is_native(body: dict[str, Any]) -> bool:
    """A request in exactly one mode: schemas and no instructions, or instructions and no schemas."""
    described = "```function" in json.dumps(body["messages"], ensure_ascii=False)
    declared = [tool["function"]["name"] for tool in body.get("tools", [])] == ["roll_dice"]
    assert described != declared
    assert declared or "tools" not in body
    return declared


def test_no_chat_model_is_no_chain() -> None:
    assert build_chain(ModelSettings()) is None


async def test_the_first_model_answers_and_says_its_mode() -> None:
    async with chain(("native", [Answer(text="好", calls=[("roll_dice", {"expression": "d6"})])])) as (made, server):
        chunks = await collect(made.stream(build))
        assert made.status() == [("main:m0", "native", None)]
    assert chunks[:2] == [Started("main:m0", "native"), TextDelta("好")]
    assert isinstance(chunks[2], CallMade)
    assert isinstance(chunks[3], Finished)
    assert is_native(server.requests[0])


@pytest.mark.parametrize(("first", "second"), [("native", "prompt"), ("prompt", "native")])
async def test_a_fallback_rebuilds_the_request_for_its_own_mode(first: ToolMode, second: ToolMode) -> None:
    async with chain((first, [FAILED]), (second, [Answer(text="好")])) as (made, server):
        chunks = await collect(made.stream(build))
        (name, mode, error), healthy = made.status()
    assert [is_native(body) for body in server.requests] == [first == "native", second == "native"]
    assert chunks[0] == Started("main:m1", second)
    assert (name, mode, error and error.kind, healthy) == ("main:m0", first, "server", ("main:m1", second, None))


async def test_auto_falls_back_to_prompt_mode_on_the_same_model_and_remembers_it() -> None:
    answers = [TOOLS_REFUSED, Answer(text="一"), Answer(text="二")]
    async with chain(("auto", answers)) as (made, server):
        assert made.status() == [("main:m0", "auto", None)]
        first = await collect(made.stream(build))
        second = await collect(made.stream(build))
        assert made.status() == [("main:m0", "prompt", None)]
    assert [is_native(body) for body in server.requests] == [True, False, False]
    assert first[0] == second[0] == Started("main:m0", "prompt")


async def test_native_by_setting_goes_to_the_next_model_when_tools_are_refused() -> None:
    async with chain(("native", [TOOLS_REFUSED]), ("native", [Answer(text="好")])) as (made, _):
        assert (await collect(made.stream(build)))[0] == Started("main:m1", "native")


async def test_auto_stays_native_after_any_other_error() -> None:
    async with chain(("auto", [FAILED, Answer(text="好")])) as (made, server):
        with pytest.raises(ModelError):
            await collect(made.stream(build))
        await collect(made.stream(build))
    assert [is_native(body) for body in server.requests] == [True, True]


async def test_after_text_was_shown_the_error_is_raised() -> None:
    broken = Answer(text="一二三四", pieces=4, disconnect=True)
    async with chain(("native", [broken]), ("native", [])) as (made, server):
        seen: list[Any] = []
        with pytest.raises(ModelError) as caught:
            await collect(made.stream(build), seen)
    assert (seen[0], caught.value.kind, len(server.requests)) == (Started("main:m0", "native"), "network", 1)


async def test_a_missing_call_id_ends_the_turn_without_a_fallback() -> None:
    async with chain(("native", [Answer(calls=[("x", {})], ids=[None])]), ("native", [])) as (made, server):
        with pytest.raises(ModelError) as caught:
            await collect(made.stream(build))
    assert (caught.value.kind, len(server.requests)) == ("missing_id", 1)


def refusal(status: int, message: str = "") -> Answer:
    return Answer(status=status, error={"error": {"message": message}})


@pytest.mark.parametrize(
    "answer",
    [
        refusal(402),
        refusal(401),
        refusal(403),
        refusal(529),
        refusal(429),
        refusal(500),
        refusal(400, "content filter"),
        refusal(422),
        refusal(400, "maximum context length"),
        refusal(400, "tools are not supported"),
        Answer(disconnect=True),
    ],
)
async def test_every_class_of_error_leads_to_the_next_model(answer: Answer) -> None:
    async with chain(("prompt", [answer]), ("prompt", [Answer(text="好")])) as (made, _):
        assert (await collect(made.stream(build)))[0] == Started("main:m1", "prompt")


async def test_when_all_fail_the_error_a_person_can_act_on_is_raised() -> None:
    scripts: list[tuple[ToolMode, list[Answer]]] = [
        ("prompt", [refusal(402, "first")]),
        ("prompt", [refusal(500)]),
        ("prompt", [refusal(402, "last")]),
    ]
    async with chain(*scripts) as (made, _):
        with pytest.raises(ModelError, match="last") as caught:
            await collect(made.stream(build))
        assert [error.kind for _, _, error in made.status() if error] == ["balance", "server", "balance"]
    assert (caught.value.kind, caught.value.model) == ("balance", "main:m2")


async def test_a_model_that_answers_again_has_no_error_any_more() -> None:
    async with chain(("native", [FAILED, Answer(text="好")])) as (made, _):
        with pytest.raises(ModelError):
            await collect(made.stream(build))
        assert made.status()[0].last_error is not None
        await collect(made.stream(build))
        assert made.status() == [("main:m0", "native", None)]


async def test_prompt_mode_scripts_answer_in_fence_text() -> None:
    fence = '```function\n[{"name": "roll_dice", "arguments": {}}]\n```'
    async with chain(("prompt", [Answer(text=fence, pieces=9)])) as (made, _):
        await made.warm()
        chunks = await collect(made.stream(build))
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == fence


def test_a_chain_without_models_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ModelChain([])
