"""Speaking (service ``speaking``): who may let the AI speak in a session, and how it is stopped.

Plain functions: they take who asks, check rights inside and return frozen values; their faces turn these into words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plugin_host.config.settings import Settings
from plugin_host.context import CallContext
from plugin_host.errors import CallError, PermissionDeniedError
from plugin_host.sessions import Session
from plugin_host.standing import ADMIN, MASTER, Standing, standing_of
from plugin_host.values import side_of


@dataclass(frozen=True, slots=True)
class ModelState:
    """One model of the fallback chain: its name, tool mode, and the last error ('' = none)."""

    name: str
    mode: str
    error: str


@dataclass(frozen=True, slots=True)
class Status:
    """What ``.ai status`` shows of a session."""

    session: str
    standing: Standing
    models: tuple[ModelState, ...]
    turn_running: bool
    waiting: int
    unsent: int
    unknown: int
    failed: int


@dataclass(frozen=True, slots=True)
class Turned:
    """A switch that was set: its new state, and whether that changed anything."""

    on: bool
    changed: bool


class Speaking:
    """The AI's right to speak, per session."""

    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        session: Callable[[str], Session | None],
        models: Callable[[], tuple[ModelState, ...]],
        sent: Callable[[], tuple[int, int, int]],
        cancel: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._session = session
        self._models = models
        self._sent = sent
        self._cancel = cancel

    def allow(self, ctx: CallContext) -> Turned:
        """Let this session use AI; raises PermissionDeniedError unless a master asks."""
        return self._set_level(ctx, 1)

    def disallow(self, ctx: CallContext) -> Turned:
        """Take that back; a turn that runs is stopped. Raises PermissionDeniedError unless a master asks."""
        turned = self._set_level(ctx, 0)
        self.stop(ctx)
        return turned

    def turn_on(self, ctx: CallContext) -> Turned:
        """Let the AI answer here; raises CallError naming the step that is missing."""
        self._may_switch(ctx)
        standing = self._standing(ctx)
        if standing.level < 1:
            raise CallError("本会话还没有获准使用 AI：请骰主先在这里发送 .ai allow", code="not_allowed")
        if not self._models():
            raise CallError("骰主还没有配置模型（config.yaml 的 models），AI 暂时不能回答", code="no_model")
        ctx.effects.flags["ai"] = True
        return Turned(True, not standing.ai)

    def turn_off(self, ctx: CallContext) -> Turned:
        """Silence the AI here; a turn that runs is stopped."""
        self._may_switch(ctx)
        standing = self._standing(ctx)
        ctx.effects.flags["ai"] = False
        self.stop(ctx)
        return Turned(False, standing.ai)

    def stop(self, ctx: CallContext) -> bool:
        """Stop the running turn for real; False when none runs."""
        session = self._session(ctx.session)
        if session is None or session.turn is None:
            return False
        self._cancel(ctx.session)
        return True

    def switch_bot(self, ctx: CallContext, on: bool) -> Turned:
        """``.bot on|off``: whether commands answer here."""
        self._may_switch(ctx)
        standing = self._standing(ctx)
        ctx.effects.flags["bot"] = on
        return Turned(on, standing.bot != on)

    def status(self, ctx: CallContext) -> Status:
        """The state of this session."""
        session = self._session(ctx.session)
        unsent, unknown, failed = self._sent()
        return Status(
            session=ctx.session,
            standing=self._standing(ctx),
            models=self._models(),
            turn_running=session is not None and session.turn is not None,
            waiting=len(session.waiting) if session else 0,
            unsent=unsent,
            unknown=unknown,
            failed=failed,
        )

    def _set_level(self, ctx: CallContext, level: int) -> Turned:
        if ctx.level < MASTER:
            raise PermissionDeniedError("权限不足：只有骰主可以准许或禁止会话使用 AI")
        before = self._standing(ctx).level
        ctx.effects.flags["level"] = level
        return Turned(level > 0, before != level)

    def _may_switch(self, ctx: CallContext) -> None:
        private = side_of(ctx.session) == "private"
        if ctx.level < ADMIN and not private:
            raise PermissionDeniedError("权限不足：需要群管理员（权限 50）或以上")

    def _standing(self, ctx: CallContext) -> Standing:
        session = self._session(ctx.session)
        flags = {**(session.flags if session else {}), **ctx.effects.flags}
        return standing_of(ctx.session, ctx.door, flags, self._settings())
