"""One streamed request over pydantic-ai: its events as text, calls and the end. Imported on first use."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UserError,
)
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import StreamedResponse

from plugin_host.calls import ToolCall
from plugin_host.config.models import Connection
from plugin_host.conversation import CallMade, Finished, ModelRequest
from plugin_host.errors import ModelError, ModelErrorKind
from plugin_host.models.failures import kind_of, shortened
from plugin_host.models.history import messages_of, parameters_of
from plugin_host.models.providers import Opened

# The library invents an id with this prefix when the endpoint sent none.
INVENTED = "pyd_ai_"
# Without these, the words and the status decide.
CATEGORIES: tuple[tuple[type[ModelAPIError], ModelErrorKind], ...] = (
    (ModelQuotaExceededError, "balance"),
    (ModelContextWindowExceededError, "context_length"),
    (ModelOverloadedError, "overload"),
    (ModelTimeoutError, "timeout"),
    (ModelRequestTimeout, "timeout"),
    (ModelConnectionError, "network"),
)

OTHERS: tuple[tuple[type[Exception], ModelErrorKind], ...] = (
    (ContentFilterError, "content"),
    (UserError, "parameter"),
    (AgentRunError, "server"),
    (TimeoutError, "timeout"),
    (OSError, "network"),
)


class Wire:
    """An opened model: blocking to build (imports, certificates), so built in a thread."""

    def __init__(self, connection: Connection, model: str, name: str) -> None:
        self._opened = Opened(connection, model)
        self._ids_needed = connection.provider != "google"
        self._secret = connection.api_key.get_secret_value()
        self._name = name

    def open(self, request: ModelRequest) -> AbstractAsyncContextManager[StreamedResponse]:
        """The streamed response as a context manager; leaving it closes the HTTP response."""
        return model_request_stream(
            self._opened.model,
            messages_of(request.messages),
            model_settings=self._opened.settings,
            model_request_parameters=parameters_of(request.tools),
            instrument=False,
        )

    def text_of(self, event: object) -> str:
        """The answer text that an event brings; thinking and argument pieces bring none."""
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
            return event.part.content
        if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            return event.delta.content_delta
        return ""

    def calls_of(self, response: StreamedResponse) -> list[CallMade]:
        """The calls of a complete response in order; raises ModelError(missing_id)."""
        return [CallMade(self._call(part)) for part in response.get().parts if isinstance(part, ToolCallPart)]

    def _call(self, part: ToolCallPart) -> ToolCall:
        if self._ids_needed and part.tool_call_id.startswith(INVENTED):
            raise ModelError("missing_id", f"call of {part.tool_name} has no id", model=self._name)
        raw = part.args if isinstance(part.args, str) else part.args_as_json_str()
        return ToolCall(part.tool_call_id, part.tool_name, raw_arguments=raw, origin="native")

    def finished(self, response: StreamedResponse) -> Finished:
        """The end of a complete response; raises ModelError(content) when the provider withheld the answer."""
        whole: ModelResponse = response.get()
        reason = whole.finish_reason or ""
        if reason == "content_filter" and not whole.text:
            raise ModelError("content", "the provider withheld the answer", model=self._name)
        usage = whole.usage
        return Finished(self._name, usage.input_tokens, usage.output_tokens, reason)

    def failure(self, error: Exception) -> ModelError:
        """The library's error as ours."""
        if isinstance(error, ModelError):
            return error
        return ModelError(
            _kind(error),
            shortened(f"{type(error).__name__}: {error}", self._secret),
            model=self._name,
            retry_after=error.retry_after if isinstance(error, ModelAPIError) else None,
        )

    async def aclose(self) -> None:
        """Close the HTTP client."""
        await self._opened.aclose()


def _kind(error: Exception) -> ModelErrorKind:
    for category, kind in CATEGORIES:
        if isinstance(error, category):
            return kind
    if isinstance(error, ModelHTTPError):
        return kind_of(error.status_code, f"{error.body} {error.provider_error_code} {error.provider_error_type}")
    if isinstance(error, ModelAPIError):
        return _kind_of_words(f"{error} {error.body}")
    return next((kind for category, kind in OTHERS if isinstance(error, category)), "unknown")


def _kind_of_words(text: str) -> ModelErrorKind:
    """Said inside a stream that had begun, without a status: the words are all there is."""
    said = kind_of(400, text)
    return "server" if said == "parameter" else said
