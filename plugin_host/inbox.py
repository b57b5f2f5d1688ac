"""Inbox: an event is kept or dropped, accepted once, and put on its session's lane in the order of acceptance."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Literal

from loguru import logger

from plugin_host.clock import Clock
from plugin_host.config.settings import InboxSettings
from plugin_host.dispatcher import Dispatcher
from plugin_host.hooks import Hooks
from plugin_host.sessions import Session, Sessions
from plugin_host.standing import Standing, worth_keeping
from plugin_host.store import Database
from plugin_host.store.events import AcceptEvents, Accepting, StartEvents
from plugin_host.values import Event
from plugin_host.watch.tasks import ended_by_host, log_failure

Acceptance = Literal["accepted", "duplicate", "dropped", "refused"]
REFUSAL_PAUSE = 60.0
UNSEEN_PAUSE = 60.0
SHOWN_AT_ONCE = 100


class Inbox:
    """The one way in for every event of every door."""

    def __init__(
        self,
        *,
        database: Database,
        sessions: Sessions,
        dispatcher: Dispatcher,
        hooks: Hooks,
        clock: Clock,
        settings: Callable[[], InboxSettings],
        standing: Callable[[Session, Event], Standing],
        refuse: Callable[[Event], None],
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._dispatcher = dispatcher
        self._hooks = hooks
        self._clock = clock
        self._settings = settings
        self._standing = standing
        self._refuse = refuse
        self._accepting = AcceptEvents()
        self._starting = StartEvents()
        self._pending = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._showing: set[asyncio.Task[None]] | None = set()
        self._unseen_told = -1e9
        self.unseen = 0
        self.counts: Counter[Acceptance] = Counter()

    async def receive(self, event: Event) -> Acceptance:
        """Accept an event; returns once it is durable (or known, dropped, refused)."""
        session = await self._sessions.get(event.session)
        session.door = event.door or session.door
        acceptance = await self._receive(session, event)
        self.counts[acceptance] += 1
        return acceptance

    async def quiet(self) -> None:
        """Return when no accepted event waits for its handler and no dropped one is being shown to plugins."""
        await self._quiet.wait()

    @property
    def busy(self) -> bool:
        """True while an accepted event waits for its handler, or a dropped one is being shown to plugins."""
        return self._pending > 0 or bool(self._showing)

    async def close(self) -> None:
        """Show dropped events to plugins no more, and end what still shows them."""
        showing, self._showing = self._showing or set(), None
        for task in showing:
            task.cancel()
        await asyncio.gather(*showing, return_exceptions=True)

    def resume(self, session: Session, event: Event) -> None:
        """Put an event that was accepted before a restart on its lane."""
        self._enter(session)
        session.lane.post(partial(self._handle, session, event))

    async def _receive(self, session: Session, event: Event) -> Acceptance:
        is_command = self._dispatcher.is_command(event)
        if not worth_keeping(event, self._standing(session, event), is_command=is_command):
            self._show(event)
            return "dropped"
        limits = self._settings()
        waiting = session.pending + len(session.waiting)
        if waiting >= limits.session_limit or self._pending >= limits.limit:
            self._tell_refusal(session, event)
            return "refused"
        self._enter(session)
        try:
            fresh = await self._database.append(self._accepting, Accepting(event, self._clock.now()))
        except BaseException:
            self._leave(session)
            raise
        if not fresh:
            self._leave(session)
            return "duplicate"
        session.lane.post(partial(self._handle, session, event))
        return "accepted"

    def _show(self, event: Event) -> None:
        """Show a dropped event to the plugins, aside: one that is slow must not hold up what comes behind."""
        if self._showing is None:
            return
        if len(self._showing) >= SHOWN_AT_ONCE:
            self._count_unseen()
            return
        task = asyncio.create_task(self._hooks.on_event(event), name="on_event")
        self._showing.add(task)
        self._quiet.clear()
        task.add_done_callback(self._shown)

    def _shown(self, task: asyncio.Task[None]) -> None:
        if self._showing is not None:
            self._showing.discard(task)
        self._rest()

    def _count_unseen(self) -> None:
        self.unseen += 1
        now = self._clock.monotonic()
        if now - self._unseen_told >= UNSEEN_PAUSE:
            self._unseen_told = now
            logger.warning("events not shown to the plugins because on_event is too slow: {} so far", self.unseen)

    async def _handle(self, session: Session, event: Event) -> None:
        task = asyncio.current_task()
        try:
            await self._database.append(self._starting, event.key)
            await self._dispatcher.handle(session, event)
        except BaseException as error:
            if ended_by_host(error, task):
                raise
            await self._end(event, error)
        finally:
            self._leave(session)

    async def _end(self, event: Event, error: BaseException) -> None:
        task = asyncio.current_task()
        try:
            await self._dispatcher.fail(event, error)
        except BaseException as another:
            if ended_by_host(another, task):
                raise
            log_failure(another, "event {} could not even be ended", event.key)

    def _enter(self, session: Session) -> None:
        session.pending += 1
        self._pending += 1
        self._quiet.clear()

    def _leave(self, session: Session) -> None:
        session.pending -= 1
        self._pending -= 1
        self._rest()

    def _rest(self) -> None:
        if not self.busy:
            self._quiet.set()

    def _tell_refusal(self, session: Session, event: Event) -> None:
        """Visible, but at most one line a minute."""
        logger.warning("event {} refused: too many wait", event.key)
        now = self._clock.monotonic()
        if now - session.refused_at >= REFUSAL_PAUSE:
            session.refused_at = now
            self._refuse(event)
