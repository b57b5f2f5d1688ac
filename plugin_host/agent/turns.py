"""Turns: the one turn slot of each session — who holds it, who waits for it, who comes next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from loguru import logger

from plugin_host.agent.agent import Agent, Turn
from plugin_host.context import CallContext
from plugin_host.contexts import Contexts
from plugin_host.conversation import ToolSpec
from plugin_host.hooks import Hooks
from plugin_host.sessions import Session
from plugin_host.store import Database
from plugin_host.store.history import last_messages
from plugin_host.toolbox.box import Toolbox
from plugin_host.tools import Tool
from plugin_host.values import Event, Surface


class Turns:
    """Starts turns and prepares what they send: system text, history, tools."""

    def __init__(
        self,
        *,
        contexts: Contexts,
        database: Database,
        hooks: Hooks,
        toolbox: Toolbox,
        system: Callable[[Event], str],
        history: Callable[[], int],
    ) -> None:
        self._contexts = contexts
        self._database = database
        self._hooks = hooks
        self._toolbox = toolbox
        self._system = system
        self._history = history
        self._agent: Agent | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self, agent: Agent) -> None:
        """The agent that runs the turns; it needs ``prepare`` of this object, so it comes second."""
        self._agent = agent

    def start(self, session: Session, event: Event) -> None:
        """Give the event the session's turn slot, or let it wait for the turn that holds it."""
        session.waiting.append(event)
        if session.turn is None:
            self._next(session)

    def stop(self, session: Session | None) -> None:
        """Stop the session's turn for real; what waits for it starts the next one."""
        if session is not None and session.turn is not None:
            session.turn.stop()

    @property
    def busy(self) -> bool:
        """True while a turn runs."""
        return bool(self._tasks)

    async def quiet(self) -> None:
        """Return when no turn runs."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Cancel every turn; their events stay open and are told after the next start."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def prepare(self, turn: Turn) -> None:
        """Fill in what a turn sends besides what people say now."""
        limit = self._history()
        turn.history = await self._database.read(lambda tx: last_messages(tx, turn.session.id, limit))
        turn.tools = [_spec(tool) for tool in self._toolbox.available(turn.ctx)]
        sections = await self._hooks.prompt_sections(turn.event)
        turn.system = "\n\n".join([self._system(turn.event), *sections])

    def _next(self, session: Session) -> None:
        event = session.waiting.pop(0)
        turn = Turn(session, event, self._context(event))
        session.turn = turn
        task = asyncio.create_task(self._run(session, turn), name=f"turn {event.key}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, session: Session, turn: Turn) -> None:
        assert self._agent is not None
        try:
            await self._agent.run(turn)
        except Exception:
            logger.exception("turn {} could not be ended", turn.event.key)
        finally:
            session.turn = None
        if session.waiting:
            self._next(session)

    def _context(self, event: Event) -> CallContext:
        surface: Surface = "group" if event.is_group else "private"
        ctx = self._contexts.of(event, surface)
        return ctx if event.user_id is not None else replace(ctx, level=0)


def _spec(tool: Tool) -> ToolSpec:
    return ToolSpec(tool.alias, tool.description, tool.input_schema)
