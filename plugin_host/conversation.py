"""The canonical conversation with a model: messages, what a request holds, what a stream yields."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from plugin_host.calls import ToolCall

Mode = Literal["native", "prompt"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a history.

    ``assistant`` may carry ``calls``; each call is answered by exactly one later ``tool`` message whose ``call_id`` is
    the call's id and whose ``name`` is the tool's name.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is declared to a model: provider-safe name, description, JSON Schema of the arguments."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request: the messages, the declared tools (empty in prompt mode, where the text describes them), the mode."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    mode: Mode = "native"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of answer text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallMade:
    """A complete native tool call; its ``raw_arguments`` is the text as streamed, ``arguments`` is None."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of one response: which model answered, token usage, and the provider's finish reason."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    finish_reason: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """The first chunk of a chain's stream: which model answers, and in which tool mode the request was built."""

    model: str
    mode: Mode


Chunk = Started | TextDelta | CallMade | Finished
RequestBuilder = Callable[[Mode], ModelRequest]


class ChatModel(Protocol):
    """One model of one connection."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Yield text and calls as they come, then one Finished; raises ModelError."""
        ...
