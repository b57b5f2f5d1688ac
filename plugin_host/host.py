"""Host: builds every part once, hands each what it needs, and owns their start and stop."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from plugin_host.agent.agent import Agent
from plugin_host.agent.turns import Turns
from plugin_host.clock import Clock
from plugin_host.config.settings import Settings
from plugin_host.context import CallContext
from plugin_host.contexts import Contexts
from plugin_host.control import Control
from plugin_host.conversation import RequestBuilder
from plugin_host.dispatcher import Dispatcher
from plugin_host.errors import ModelError
from plugin_host.home import Home
from plugin_host.housekeeping import Housekeeping
from plugin_host.inbox import Acceptance, Inbox
from plugin_host.loading.care import PluginCare
from plugin_host.loading.desk import PluginDesk
from plugin_host.manual import Manual
from plugin_host.models import ModelChain
from plugin_host.policy import Rules
from plugin_host.post import Post
from plugin_host.recovery import Recovered, recover
from plugin_host.registry import Contribution, Registry
from plugin_host.runner.runner import Runner
from plugin_host.sender import Sender
from plugin_host.sessions import Session, Sessions
from plugin_host.speaking import ModelState, Speaking
from plugin_host.standing import TERMINAL, Standing, standing_of
from plugin_host.store import Database
from plugin_host.store.events import last_door
from plugin_host.store.journal import AppendEntries, tool_uses
from plugin_host.toolbox.box import Toolbox
from plugin_host.toolbox.views import ToolStat
from plugin_host.tools import Source
from plugin_host.units import Unit, Units
from plugin_host.values import Channel, CorePort, Event
from plugin_host.watch.tasks import contain_tasks
from plugin_host.watch.watchdog import Watchdog


class Host:
    """One running bot. The entry point gives it a home, settings, models and a way to the protocol end."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        *,
        models: ModelChain | None = None,
        core: CorePort | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.home = home
        self.clock = clock or Clock()
        self.control = Control(settings)
        self.models = models
        self.watchdog = Watchdog()
        self.database = Database(home.database, watchdog=self.watchdog)
        self.registry = Registry()
        self.plugins = PluginCare(
            self.registry, self.database, self.control, settings.plugins, home.plugins, self.spawn
        )
        self.sessions = Sessions(self.database, lambda: self.settings.commands.lane_limit)
        self.sender = Sender(self.database, self.clock, lambda: self.settings.send, self._outcome)
        self.units = Units(
            self.database,
            self.clock,
            before_send=self.plugins.hooks.before_send,
            take=self.sender.take,
            committed=self.sessions.committed,
            segments=lambda: self.settings.send.segments,
            starts_on=self._starts_on,
        )
        self.contexts = Contexts(self.database, self.registry, self.clock, lambda: self.settings, core)
        self.runner = self._make_runner()
        self.toolbox = Toolbox(self.registry, self.rules, self._switches, self.runner.run, self._tool_stats)
        self.turns = self._make_turns()
        self.dispatcher = self._make_dispatcher()
        self.inbox = self._make_inbox()
        self.post = Post(
            self.inbox.receive, self.sessions.awake, lambda: self.sender.doors, self.clock, self._last_door
        )
        self.speaking = self._make_speaking()
        self.housekeeping = Housekeeping(self.database, self.clock, lambda: self.settings)
        self.control.subscribe("cancel", lambda session: self.turns.stop(self.sessions.awake(session)))
        self._journal = AppendEntries()
        self._background: set[asyncio.Task[Any]] = set()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.control.settings

    def rules(self) -> Rules:
        """The tool rules in force."""
        return Rules.of(self.settings.tools, registry=self.registry, shut=self.plugins.strikes.shut)

    async def start(self, *, recovers: bool = True, reloads: bool = False) -> Recovered:
        """Open the store, load the plugins, take up what a crash left. The caller holds the home's lock."""
        self.database.open()
        contain_tasks(asyncio.get_running_loop(), self.plugins.loader.owner_of)
        self._offer(self.plugins.load(self.post))
        await self.plugins.open(self.watchdog, reloads=reloads)
        found = await recover(self.database, self.clock, lambda door: recovers and not door.startswith(TERMINAL))
        await self._take_up(found)
        self.spawn(self.housekeeping.run(), "housekeeping")
        return found

    async def stop(self) -> None:
        """Stop taking, let short work end, close the store."""
        await self.plugins.close()
        self.post.close()
        await self.inbox.close()
        await self.turns.close()
        await self.sessions.close()
        await self.sender.close()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        self.plugins.end_watch()
        self.watchdog.stop()
        if self.models is not None:
            await self.models.aclose()
        self.database.close()

    async def receive(self, event: Event) -> Acceptance:
        """Take one event of any door; see Inbox.receive."""
        return await self.inbox.receive(event)

    async def quiet(self) -> None:
        """Return when no accepted event waits, no turn runs and every row that could leave has left."""
        while True:
            await self.inbox.quiet()
            await self.turns.quiet()
            await self.sender.drained()
            if not self.inbox.busy and not self.turns.busy:
                return

    def open_door(self, channel: Channel) -> None:
        """A door opens: its rows may leave."""
        self.sender.open(channel)
        self.post.door_opened(channel.door)

    def shut_door(self, door: str) -> None:
        """A door shuts: its rows wait."""
        self.sender.shut(door)

    def spawn(self, work: Any, name: str) -> None:
        """Run a background task of the host until it stops."""
        task = asyncio.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def commit(self, unit: Unit, ctx: CallContext) -> Any:
        """Commit a unit: a turn's through its session's lane, a handler's at once (it is on the lane)."""
        if ctx.surface == "command":
            return await self.units.commit(unit)
        session = await self.sessions.get(unit.session)
        return await session.lane.post(lambda: self.units.commit(unit))

    def stream(self, build: RequestBuilder) -> Any:
        """Chunks of one model response; raises ModelError when there is no model."""
        if self.models is None:
            raise ModelError("unconfigured", "no model is configured")
        return self.models.stream(build)

    def standing(self, session: Session, event: Event) -> Standing:
        """The session's standing; without a model the AI is off."""
        standing = standing_of(event.session, event.door, session.flags, self.settings)
        return standing if self.models is not None else replace(standing, ai=False)

    def _make_runner(self) -> Runner:
        return Runner(
            self.registry,
            self.database,
            self.commit,
            self.clock,
            settings=lambda: self.settings,
            rules=self.rules,
            switches=self._switches,
            settings_of=self.plugins.loader.settings_of,
            strikes=self.plugins.strikes,
            finished=self.plugins.hooks.call_finished,
        )

    def _make_turns(self) -> Turns:
        turns = Turns(
            contexts=self.contexts,
            database=self.database,
            hooks=self.plugins.hooks,
            toolbox=self.toolbox,
            system=self._system_text,
            history=lambda: self.settings.agent.history,
        )
        turns.serve(
            Agent(
                stream=self.stream,
                runner=self.runner,
                commit=self.commit,
                clock=self.clock,
                settings=lambda: self.settings,
                prepare=turns.prepare,
                log=lambda entry: self.database.append_later(self._journal, entry),
            )
        )
        return turns

    def _make_dispatcher(self) -> Dispatcher:
        return Dispatcher(
            registry=self.registry,
            hooks=self.plugins.hooks,
            contexts=self.contexts,
            commit=self.units.commit,
            clock=self.clock,
            settings=lambda: self.settings,
            settings_of=self.plugins.loader.settings_of,
            standing=self.standing,
            strikes=self.plugins.strikes,
            start_turn=self.turns.start,
        )

    def _make_inbox(self) -> Inbox:
        return Inbox(
            database=self.database,
            sessions=self.sessions,
            dispatcher=self.dispatcher,
            hooks=self.plugins.hooks,
            clock=self.clock,
            settings=lambda: self.settings.inbox,
            standing=self.standing,
            refuse=lambda event: self.spawn(self.dispatcher.refuse(event), "refusal"),
        )

    def _make_speaking(self) -> Speaking:
        return Speaking(
            settings=lambda: self.settings,
            session=self.sessions.awake,
            models=self._model_states,
            sent=lambda: (
                self.sender.waiting,
                self.sender.counts.get("unknown", 0),
                self.sender.counts.get("failed", 0),
            ),
            cancel=lambda session: self.control.publish("cancel", session),
        )

    def _offer(self, desk: PluginDesk) -> None:
        """What plugins reach by ``ctx.service``."""
        services = Contribution(Source("builtin", "host"))
        services.service("toolbox", self.toolbox)
        services.service("speaking", self.speaking)
        services.service("manual", Manual(self.registry))
        services.service("plugins", desk)
        self.registry.install(services)

    async def _take_up(self, found: Recovered) -> None:
        self.sender.take(found.rows)
        for event in found.again:
            self.inbox.resume(await self.sessions.get(event.session), event)
        for event in found.given_up:
            await self.post.to_masters(self.settings.masters, event.door, f"事件 {event.key} 两次使程序退出，已放弃。")

    async def _last_door(self, session: str) -> str | None:
        return await self.database.read(lambda tx: last_door(tx, session))

    def _switches(self, session: str) -> dict[str, bool]:
        awake = self.sessions.awake(session)
        return awake.switches if awake is not None else {}

    def _starts_on(self, name: str) -> bool | None:
        tool = self.registry.tool(name)
        return None if tool is None else self.rules().is_on(tool, {})

    async def _tool_stats(self, session: str | None) -> list[ToolStat]:
        uses = await self.database.read(lambda tx: tool_uses(tx, session))
        return [ToolStat(use.name, use.calls, use.failures, use.mean_ms) for use in uses]

    def _model_states(self) -> tuple[ModelState, ...]:
        if self.models is None:
            return ()
        return tuple(ModelState(name, mode, str(error or "")) for name, mode, error in self.models.status())

    def _system_text(self, event: Event) -> str:
        now = datetime.fromtimestamp(self.clock.now(), ZoneInfo(self.settings.timezone))
        return f"{self.settings.agent.system_prompt}\n当前时间：{now:%Y-%m-%d %H:%M}（{self.settings.timezone}）"

    def _outcome(self, row: Any, outcome: Any) -> None:
        if outcome.status == "failed" and row.on_failed:
            self.spawn(self.post.of_row(row, row.on_failed), "on_failed")
