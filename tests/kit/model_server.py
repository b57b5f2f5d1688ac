"""A scripted model endpoint with the OpenAI wire format, streaming and not, that can misbehave on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

CallArguments = Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted response.

    ``text`` comes in ``pieces`` equal chunks with ``delay`` seconds between them; ``calls`` are (name, arguments)
    pairs: a mapping is written as JSON, a str goes out as it is (broken, truncated, …). ``ids`` replaces the call ids
    (None leaves the id out). ``status`` other than 200 sends ``error`` (a JSON value, or a str as it is) with
    ``headers``. ``stall`` is awaited after the first half of the pieces. ``disconnect`` cuts the connection there.
    """

    text: str = ""
    calls: Sequence[tuple[str, CallArguments]] = ()
    ids: Sequence[str | None] | None = None
    finish: str = ""
    thinking: str = ""
    pieces: int = 1
    delay: float = 0.0
    status: int = 200
    error: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stall: asyncio.Event | None = None
    disconnect: bool = False

    @property
    def finish_reason(self) -> str:
        """What the last chunk says."""
        return self.finish or ("tool_calls" if self.calls else "stop")


TOOLS_REFUSED = Answer(
    status=400, error={"error": {"message": "this model does not support tools", "type": "invalid_request_error"}}
)

Responder = Callable[[dict[str, Any]], Answer]


class ModelServer:
    """``async with ModelServer() as server``: answers from ``script``, keeps every request body in ``requests``.

    ``paths`` and ``headers`` go with ``requests``; ``gone`` is set when a client leaves before its answer is complete.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.gone = asyncio.Event()
        self.asked = asyncio.Event()
        self.base_url = ""
        self._answers: list[Answer] = []
        self._responder: Responder | None = None
        self._runner: web.AppRunner | None = None

    def script(self, answers: Iterable[Answer] | Responder) -> None:
        """The answers of the next requests in order, or a function of the request body."""
        if callable(answers):
            self._responder = answers
        else:
            self._answers.extend(answers)

    async def __aenter__(self) -> ModelServer:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.paths.append(request.path)
        self.headers.append({key.lower(): value for key, value in request.headers.items()})
        self.asked.set()
        answer = self._next(body)
        if answer.status != 200:
            return _failure(answer)
        try:
            return await (self._stream(request, answer, body) if body.get("stream") else self._whole(answer, body))
        except (ConnectionError, asyncio.CancelledError):
            self.gone.set()
            raise

    def _next(self, body: dict[str, Any]) -> Answer:
        if self._responder is not None:
            return self._responder(body)
        if not self._answers:
            return Answer(status=500, error={"error": {"message": "the script has no more answers"}})
        return self._answers.pop(0)

    async def _whole(self, answer: Answer, body: dict[str, Any]) -> web.StreamResponse:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = [_call(answer, number) for number in range(len(answer.calls))]
        choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
        return web.json_response(_envelope(body, "chat.completion", [choice]) | {"usage": USAGE})

    async def _stream(self, request: web.Request, answer: Answer, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **answer.headers})
        await response.prepare(request)
        deltas = _deltas(answer)
        for number, delta in enumerate(deltas):
            if number == len(deltas) // 2:
                if answer.stall is not None:
                    await answer.stall.wait()
                if answer.disconnect and request.transport is not None:
                    request.transport.abort()
                    return response
            await _send(response, _envelope(body, "chat.completion.chunk", [_choice(delta, None)]))
            await asyncio.sleep(answer.delay)
        last = _envelope(body, "chat.completion.chunk", [_choice({}, answer.finish_reason)])
        await _send(response, last)
        await _send(response, _envelope(body, "chat.completion.chunk", []) | {"usage": USAGE})
        await response.write(b"data: [DONE]\n\n")
        return response


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _failure(answer: Answer) -> web.Response:
    if isinstance(answer.error, str):
        return web.Response(status=answer.status, text=answer.error, headers=answer.headers)
    return web.json_response(answer.error or {}, status=answer.status, headers=answer.headers)


def _deltas(answer: Answer) -> list[dict[str, Any]]:
    """Role, thinking, text in pieces, then each call: its head and its arguments in two halves."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if answer.thinking:
        deltas.append({"reasoning_content": answer.thinking})
    size = max(1, -(-len(answer.text) // answer.pieces))
    deltas += [{"content": answer.text[at : at + size]} for at in range(0, len(answer.text), size)]
    for number in range(len(answer.calls)):
        call = {"index": number, **_call(answer, number)}
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        head = {"name": call["function"]["name"], "arguments": arguments[:half]}
        deltas.append({"tool_calls": [{**call, "function": head}]})
        deltas.append({"tool_calls": [{"index": number, "function": {"arguments": arguments[half:]}}]})
    return deltas


def _call(answer: Answer, number: int) -> dict[str, Any]:
    name, arguments = answer.calls[number]
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    call: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": written}}
    call_id = f"call_{number + 1}" if answer.ids is None else answer.ids[number]
    return call if call_id is None else {"id": call_id, **call}


def _choice(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _envelope(body: dict[str, Any], kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "r1", "object": kind, "created": 1700000000, "model": body.get("model", ""), "choices": choices}


async def _send(response: web.StreamResponse, chunk: dict[str, Any]) -> None:
    await response.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())


class CaptureServer(ModelServer):
    """As ``ModelServer``, but every answer is the given SSE text: for the wire formats of other providers."""

    def __init__(self, sse: str) -> None:
        super().__init__()
        self._sse = sse

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json())
        self.paths.append(request.path_qs)
        self.headers.append({key.lower(): value for key, value in request.headers.items()})
        return web.Response(body=self._sse.encode(), content_type="text/event-stream")


async def collect(stream: AsyncIterator[Any], seen: list[Any] | None = None) -> list[Any]:
    """Every chunk of a stream; those that come before an error are in ``seen``."""
    chunks: list[Any] = [] if seen is None else seen
    async for chunk in stream:
        chunks.append(chunk)
    return chunks
