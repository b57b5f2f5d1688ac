"""Listening: one streamed response becomes what is said, what is called, and what could not be read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass, replace

from plugin_host.calls import ToolCall
from plugin_host.conversation import CallMade, Chunk, Finished, TextDelta
from plugin_host.textcalls import ParsedCall, StreamSplitter

PAGE = "\f"


@dataclass(frozen=True, slots=True)
class Response:
    """One model response: ``text`` is all that may be shown, ``unsaid`` what of it was not shown while it streamed."""

    text: str
    unsaid: str
    calls: tuple[ToolCall, ...] = ()
    problems: tuple[str, ...] = ()


async def listen(
    stream: AsyncIterator[Chunk],
    names: Collection[str],
    show: Callable[[str], Awaitable[bool]],
    *,
    mint: Callable[[], str],
) -> Response:
    """Read a response to its end; each finished page (a form feed ends one) is shown while the rest still comes.

    Call markup in the text is never shown; it is executed only for ``names`` and only when the response has no native
    calls. ``show`` says False when no more pages fit: the rest then stays together. ``mint`` makes an id for a call
    whose text has none. Raises ModelError as the stream does.
    """
    splitter = StreamSplitter(names)
    pages = _Pages(show)
    native: list[ToolCall] = []
    cut = False
    async with aclosing(stream) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            if isinstance(chunk, TextDelta):
                await pages.add(splitter.feed(chunk.text))
            elif isinstance(chunk, CallMade):
                native.append(chunk.call)
            elif isinstance(chunk, Finished):
                cut = chunk.finish_reason == "length"
    shown = splitter.shown
    parsed = splitter.finish()
    await pages.add(parsed.before[shown:])
    calls = tuple(native) or tuple(_call(call, mint) for call in parsed.calls)
    if cut and calls and (native or calls[-1].verdict != "clean"):
        # The response ended at the token limit: arguments that look complete after a repair may not be.
        calls = (*calls[:-1], replace(calls[-1], verdict="truncated"))
    return Response(pages.text, pages.open, calls, tuple(parsed.problems))


class _Pages:
    """Collects what may be shown and shows each page once it is complete."""

    def __init__(self, show: Callable[[str], Awaitable[bool]]) -> None:
        self._show = show
        self._full = False
        self.text = ""
        self.open = ""

    async def add(self, text: str) -> None:
        self.text += text
        self.open += text
        while PAGE in self.open and not self._full:
            page, _, rest = self.open.partition(PAGE)
            self._full = not await self._show(page)
            self.open = f"{page}\n{rest}" if self._full else rest
        if self._full:
            self.open = self.open.replace(PAGE, "\n")


def _call(call: ParsedCall, mint: Callable[[], str]) -> ToolCall:
    return ToolCall(
        id=call.call_id or mint(),
        name=call.name,
        arguments=call.arguments,
        raw_arguments=call.raw,
        origin="prompt",
        verdict=call.verdict,
    )
