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
from plugin_host.watch.daemon import Interrupted

Acceptance = Literal["accepted", "duplicate", "dropped", "refused"]
REFUSAL_PAUSE = 60.0


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
        self.counts: Counter[Acceptance] = Counter()

    async def receive(self, event: Event) -> Acceptance:
        """Accept an event; returns once it is durable (or known, dropped, refused)."""
        session = await self._sessions.get(event.session)
        session.door = event.door or session.door
        acceptance = await self._receive(session, event)
        self.counts[acceptance] += 1
        return acceptance

    async def quiet(self) -> None:
        """Return when no accepted event waits for its handler."""
        await self._quiet.wait()

    @property
    def busy(self) -> bool:
        """True while an accepted event waits for its handler."""
        return self._pending > 0

    def resume(self, session: Session, event: Event) -> None:
        """Put an event that was accepted before a restart on its lane."""
        self._enter(session)
        session.lane.post(partial(self._handle, session, event))

    async def _receive(self, session: Session, event: Event) -> Acceptance:
        is_command = self._dispatcher.is_command(event)
        if not worth_keeping(event, self._standing(session, event), is_command=is_command):
            await self._hooks.on_event(event)
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

    async def _handle(self, session: Session, event: Event) -> None:
        try:
            await self._database.append(self._starting, event.key)
            await self._dispatcher.handle(session, event)
        except (Exception, Interrupted) as error:
            try:
                await self._dispatcher.fail(event, error)
            except Exception:
                logger.exception("event {} could not even be ended", event.key)
        finally:
            self._leave(session)

    def _enter(self, session: Session) -> None:
        session.pending += 1
        self._pending += 1
        self._quiet.clear()

    def _leave(self, session: Session) -> None:
        session.pending -= 1
        self._pending -= 1
        if self._pending == 0:
            self._quiet.set()

    def _tell_refusal(self, session: Session, event: Event) -> None:
        """Visible, but at most one line a minute."""
        logger.warning("event {} refused: too many wait", event.key)
        now = self._clock.monotonic()
        if now - session.refused_at >= REFUSAL_PAUSE:
            session.refused_at = now
            self._refuse(event)
