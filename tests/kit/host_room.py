"""A real Host over a temporary home: real store, real plugin files, a channel that captures, a scripted model."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import textwrap
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from plugin_host.calls import ToolCall, ToolResult
from plugin_host.clock import Clock
from plugin_host.config.settings import Settings
from plugin_host.context import CallContext
from plugin_host.conversation import CallMade, Chunk, Finished, ModelRequest, TextDelta
from plugin_host.home import Home
from plugin_host.host import Host
from plugin_host.loading.catalogue import Catalogue
from plugin_host.models import ModelChain
from plugin_host.registry import Contribution
from plugin_host.store import Database
from plugin_host.store.journal import AppendEntries, Entry, Line, read_lines
from plugin_host.tools import Source
from plugin_host.values import Action, Event, Outcome, Role, Segment, Sender
from tests.kit.plugin_home import NO_BUILTIN

DOOR = "QQ:1"
LIMIT = 10.0


class MovedClock(Clock):
    """Real time plus what a test adds; ``frozen`` holds both kinds of time still."""

    def __init__(self, *, frozen: bool = False) -> None:
        self.ahead = 0.0
        self._now, self._monotonic = (1_800_000_000.0, 1_000.0) if frozen else (None, None)

    def now(self) -> float:
        return (super().now() if self._now is None else self._now) + self.ahead

    def monotonic(self) -> float:
        return (super().monotonic() if self._monotonic is None else self._monotonic) + self.ahead


Answerer = Callable[[Action], Outcome | Awaitable[Outcome]]


class Capture:
    """A channel that keeps what it is given; ``answer`` (may be async) decides the outcome."""

    def __init__(self, door: str = DOOR, answer: Answerer | None = None) -> None:
        self.door = door
        self.answer: Answerer = answer or (lambda _: Outcome("sent"))
        self.actions: list[Action] = []
        self._changed = asyncio.Condition()

    async def send(self, action: Action, timeout: float) -> Outcome:
        async with self._changed:
            self.actions.append(action)
            self._changed.notify_all()
        outcome = self.answer(action)
        return await outcome if inspect.isawaitable(outcome) else outcome

    @property
    def texts(self) -> list[str]:
        """The text of every action, in order."""
        return [text_of(action) for action in self.actions]

    async def wait(self, count: int = 1, timeout: float = LIMIT) -> list[Action]:
        """Wait until ``count`` actions came in all; raises TimeoutError."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: len(self.actions) >= count)
        return self.actions


def text_of(action: Action) -> str:
    """The text of one sending action."""
    return "".join(part["data"].get("text", "") for part in action.params["message"] if part["type"] == "text")


Script = str | Iterable[Any] | Callable[[ModelRequest], Any]


class ScriptedModel:
    """A ChatModel. Each answer is text, a list of texts and ToolCalls, or an (async) function of the request."""

    name = "scripted"

    def __init__(self, *answers: Script) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        self.requests.append(request)
        answer: Any = self._answers.pop(0)
        if callable(answer):
            answer = answer(request)
            answer = await answer if inspect.isawaitable(answer) else answer
        for piece in [answer] if isinstance(answer, str) else answer:
            yield TextDelta(piece) if isinstance(piece, str) else CallMade(piece)
        yield Finished(self.name)


def native(name: str, arguments: str = "{}", id: str = "call_1") -> ToolCall:
    """A call as a model makes it."""
    return ToolCall(id, name, raw_arguments=arguments, origin="native")


class HostRoom:
    """``async with HostRoom(folder) as room``: a started host with one open door; built-in plugins only when asked."""

    def __init__(
        self,
        folder: Path,
        *,
        plugins: Mapping[str, str] | None = None,
        model: ScriptedModel | None = None,
        mode: Any = "native",
        clock: Clock | None = None,
        core: Any = None,
        builtin: bool = False,
        **settings: Any,
    ) -> None:
        self.folder = folder
        for name, text in (plugins or {}).items():
            self.write(name, text)
        self.settings = Settings.model_validate({"masters": ["9001"], **settings})
        self.home = Home(folder, self.settings)
        chain = ModelChain([(model, mode)]) if model is not None else None
        self.host = Host(self.home, self.settings, models=chain, core=core, clock=clock)
        if not builtin:
            loader = self.host.plugins.loader
            # The built-in plugins would be imported anew for every host: most of the time of a test.
            loader._catalogue = Catalogue(self.settings.plugins, loader.home, NO_BUILTIN)
        self.channel = Capture()
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> HostRoom:
        await self.host.start()
        self.host.open_door(self.channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        async with asyncio.timeout(LIMIT):
            await self.host.stop()

    def write(self, name: str, text: str) -> Path:
        """Write a home plugin."""
        file = self.folder / "plugins" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"from plugin_host import *\n{textwrap.dedent(text)}", encoding="utf-8")
        return file

    def offer(self, *tools: Callable[..., Any], owner: str = "test", kind: Any = "plugin", **options: Any) -> None:
        """Register functions of the test as tools of one plugin, beside what it has."""
        contribution = self._contribution(owner, kind)
        for function in tools:
            contribution.tool(function, **options)
        self.host.registry.install(contribution)

    def command(self, function: Callable[..., Any], *words: str, owner: str = "test", **options: Any) -> None:
        """Register a function of the test as a command."""
        contribution = self._contribution(owner, "plugin")
        contribution.command(function, words=words, **options)
        self.host.registry.install(contribution)

    def _contribution(self, owner: str, kind: Any) -> Contribution:
        return self.host.registry.contribution(owner) or Contribution(Source(kind, owner))

    def event(
        self, text: str, *, session: str = "group:100", user: str | None = "1001", role: Role = "member", **fields: Any
    ) -> Event:
        """A message with a key of its own."""
        event = Event(
            key=f"{DOOR}:{session}:{next(self._numbers)}",
            kind="message",
            session=session,
            self_id="1",
            user_id=user,
            sender=Sender(name="小明", role=role),
            segments=(Segment.text(text),),
            text=text,
            time=self.host.clock.now(),
            door=DOOR,
        )
        return replace(event, **fields)

    async def say(self, text: str, **fields: Any) -> list[str]:
        """Hand in one message; the texts that left while it was handled."""
        before = len(self.channel.actions)
        await self.host.receive(self.event(text, **fields))
        await self.quiet()
        return self.channel.texts[before:]

    async def quiet(self, timeout: float = LIMIT) -> None:
        """Wait until the host has nothing to do."""
        async with asyncio.timeout(timeout):
            await self.host.quiet()

    def ctx(self, text: str = "hi", *, surface: Any = "group", **fields: Any) -> CallContext:
        """A context of a fresh message."""
        return self.host.contexts.of(self.event(text, **fields), surface)

    async def call(self, name: str, ctx: CallContext | None = None, *, id: str = "c", **arguments: Any) -> ToolResult:
        """Run one tool; at most ten seconds."""
        async with asyncio.timeout(LIMIT):
            return await self.host.runner.run(ToolCall(id, name, arguments), ctx or self.ctx())

    async def journal(self, *kinds: str) -> list[Line]:
        """The lines of the journal, oldest first; only of these types when any are named."""
        lines = await self.host.database.read(lambda tx: read_lines(tx, limit=0))
        return [line for line in lines if not kinds or line.entry.type in kinds]


async def until(condition: Callable[[], object], timeout: float = LIMIT) -> None:
    """Wait until ``condition`` holds; raises TimeoutError. For what nothing announces."""
    async with asyncio.timeout(timeout):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.005)


class Store:
    """A database alone, with what tests read of it."""

    def __init__(self, folder: Path) -> None:
        # A slow machine must not make an honest unit look like one that hangs.
        self.database = Database(folder / "host.db", unit_limit=5.0)

    async def __aenter__(self) -> Store:
        self.database.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.database.close()

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a query finds."""
        return await rows(self.database, sql)

    async def note(self, *entries: Entry) -> None:
        """Append journal lines."""
        append = AppendEntries()
        for entry in entries:
            await self.database.append(append, entry)


async def rows(database: Database, sql: str) -> list[tuple[Any, ...]]:
    """What a query finds in a store."""

    def query(tx: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in tx._connection.exec_driver_sql(sql).fetchall()]

    return await database.read(query)
