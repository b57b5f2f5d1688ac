"""ModelChain: the models of a use in fallback order, each asked in its own tool mode."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import NamedTuple, Protocol, cast, runtime_checkable

from loguru import logger

from plugin_host.config.models import ModelSettings, ToolMode
from plugin_host.conversation import ChatModel, Chunk, Mode, RequestBuilder, Started
from plugin_host.errors import ModelError, ModelErrorKind
from plugin_host.models.endpoint import EndpointModel

# When every model failed, the error that a person can act on is raised; later in this list is less useful.
USEFUL: tuple[ModelErrorKind, ...] = (
    "unconfigured",
    "balance",
    "auth",
    "permission",
    "context_length",
    "content",
    "tools_unsupported",
    "parameter",
    "missing_id",
    "rate_limit",
    "overload",
    "server",
    "timeout",
    "network",
    "unknown",
)
# The model answered, but its call cannot be matched with a result: the turn ends with that error.
FINAL: frozenset[ModelErrorKind] = frozenset({"missing_id"})


class ModelStatus(NamedTuple):
    """One line of ``.ai status``; ``last_error`` is None when the last request went well (or there was none)."""

    name: str
    mode: ToolMode
    last_error: ModelError | None


@runtime_checkable
class Hosted(Protocol):
    """A model that holds connections."""

    async def warm(self) -> None:
        """Prepare for the first message."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class _Link:
    """One model of the chain, the mode it is asked in, and its last error."""

    def __init__(self, model: ChatModel, setting: ToolMode) -> None:
        self.model = model
        self.setting = setting
        self.refused_tools = False
        self.error: ModelError | None = None

    @property
    def mode(self) -> Mode:
        """``auto`` is native until the endpoint has refused tools once."""
        if self.setting == "auto":
            return "prompt" if self.refused_tools else "native"
        return self.setting

    def failed(self, error: ModelError) -> bool:
        """Note the error; True when the same model is worth asking again in prompt mode."""
        self.error = error
        if error.kind != "tools_unsupported" or self.setting != "auto" or self.refused_tools:
            return False
        self.refused_tools = True
        return True


class ModelChain:
    """Asks its models in order until one answers. Which error leads on to the next is the same for all: every class
    but a missing call id, as long as nothing of an answer was shown.
    """

    def __init__(self, models: Sequence[tuple[ChatModel, ToolMode]]) -> None:
        if not models:
            raise ValueError("a chain needs at least one model")
        self._links = [_Link(model, setting) for model, setting in models]

    async def stream(self, build: RequestBuilder) -> AsyncGenerator[Chunk, None]:
        """Started, then the chunks of the first model that answers; raises ModelError.

        ``build(mode)`` is called for each attempt, so a request never carries what another mode needed. An error
        behind the first chunk is raised as it is.
        """
        errors: list[ModelError] = []
        for link in self._links:
            again = True
            while again:
                again, shown = False, False
                try:
                    async with aclosing(_attempt(link, build)) as chunks:
                        async for chunk in chunks:
                            shown = True
                            yield chunk
                    return
                except ModelError as error:
                    again = link.failed(error)
                    logger.warning("model {} failed ({}): {}", link.model.name, error.kind, error)
                    if shown or error.kind in FINAL:
                        raise
                    errors.append(error)
        raise _most_useful(errors)

    def status(self) -> list[ModelStatus]:
        """Each model with the mode it is asked in now and its last error."""
        return [
            ModelStatus(link.model.name, link.mode if link.refused_tools else link.setting, link.error)
            for link in self._links
        ]

    async def warm(self) -> None:
        """Prepare the first model; a failure is kept for ``status`` and comes again with the first message."""
        link = self._links[0]
        if isinstance(link.model, Hosted):
            try:
                await link.model.warm()
            except ModelError as error:
                link.error = error

    async def aclose(self) -> None:
        """Close every connection."""
        for link in self._links:
            if isinstance(link.model, Hosted):
                await link.model.aclose()


async def _attempt(link: _Link, build: RequestBuilder) -> AsyncGenerator[Chunk, None]:
    mode = link.mode
    started = False
    # The protocol says iterator; every implementation is a generator, which must be closed to free its connection.
    stream = cast("AsyncGenerator[Chunk, None]", link.model.stream(build(mode)))
    async with aclosing(stream) as chunks:
        async for chunk in chunks:
            if not started:
                yield Started(link.model.name, mode)
            started = True
            yield chunk
    link.error = None


def _most_useful(errors: Sequence[ModelError]) -> ModelError:
    return min(reversed(errors), key=lambda error: USEFUL.index(error.kind))


def build_chain(settings: ModelSettings) -> ModelChain | None:
    """The chain of ``models.uses.chat``; None when it names no model. Nothing is imported or opened yet."""
    connections = {connection.name: connection for connection in settings.connections}
    models: list[tuple[ChatModel, ToolMode]] = []
    for use in settings.uses.chat:
        name, _, model = use.partition(":")
        models.append((EndpointModel(connections[name], model), settings.tools.get(use, "auto")))
    return ModelChain(models) if models else None
