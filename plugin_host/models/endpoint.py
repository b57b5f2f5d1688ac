"""EndpointModel: one model behind a real endpoint (OpenAI-compatible, Anthropic, Google), always streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, TypeVar

from plugin_host.config.models import Connection
from plugin_host.conversation import Chunk, ModelRequest, TextDelta
from plugin_host.errors import ModelError

if TYPE_CHECKING:
    from plugin_host.models.wire import Wire

T = TypeVar("T")
OVER = object()


class EndpointModel:
    """One model of one connection. Its name is ``connection:model``."""

    def __init__(self, connection: Connection, model: str) -> None:
        self.name = f"{connection.name}:{model}"
        self._connection = connection
        self._model = model
        self._wire: Wire | None = None
        self._opening = asyncio.Lock()

    async def warm(self) -> None:
        """Import and build what the first message needs, in a thread. Raises ModelError(unconfigured)."""
        await self._ready()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Text as it comes, the calls when they are complete, then Finished. Raises ModelError.

        Silence for ``Connection.timeout`` seconds is ModelError(timeout). Closing this generator, or cancelling the
        task that reads it, closes the HTTP response.
        """
        wire = await self._ready()
        try:
            async with AsyncExitStack() as stack:
                response = await self._in_time(stack.enter_async_context(wire.open(request)))
                events = aiter(response)
                while (event := await self._in_time(anext(events, OVER))) is not OVER:
                    if text := wire.text_of(event):
                        yield TextDelta(text)
                finished = wire.finished(response)
                for call in wire.calls_of(response):
                    yield call
                yield finished
        except Exception as error:
            # Every library below has its own root of errors; all of them are this endpoint's failure.
            raise wire.failure(error) from error

    async def aclose(self) -> None:
        """Close the connections to the endpoint."""
        if self._wire is not None:
            await self._wire.aclose()
            self._wire = None

    async def _ready(self) -> Wire:
        async with self._opening:
            if self._wire is None:
                self._wire = await asyncio.to_thread(_build, self._connection, self._model, self.name)
            return self._wire

    async def _in_time(self, step: Awaitable[T]) -> T:
        limit = self._connection.timeout
        try:
            async with asyncio.timeout(limit) as clock:
                return await step
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise ModelError("timeout", f"nothing came for {limit:g} s", model=self.name) from error


def _build(connection: Connection, model: str, name: str) -> Wire:
    try:
        # Lazy: the wire formats cost 70 to 120 MB and about two seconds, and a host without a model never needs them.
        from plugin_host.models.wire import Wire
    except ImportError as error:
        raise ModelError("unconfigured", f"the extra 'models' is not installed: {error}", model=name) from error
    return Wire(connection, model, name)
