"""PluginDesk: the service ``plugins``: what a master may ask of and do with plugins while the bot runs."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable

from plugin_host.context import CallContext
from plugin_host.errors import CallError, PermissionDeniedError, UnknownNameError
from plugin_host.loading.lifecycle import PluginLife
from plugin_host.loading.reports import PluginReport

MASTER = 100
NAME_SHOWN = 64


class PluginDesk:
    """Every function takes who asks. ``save(name, on)`` makes a switch durable; it is awaited before the change."""

    def __init__(self, life: PluginLife, save: Callable[[str, bool], Awaitable[None]]) -> None:
        self._life = life
        self._save = save

    def list(self, ctx: CallContext) -> tuple[PluginReport, ...]:
        """One report per plugin; raises PermissionDeniedError."""
        _master_only(ctx)
        return tuple(self._life.loader.reports)

    async def off(self, ctx: CallContext, name: str) -> tuple[PluginReport, ...]:
        """Switch a plugin off for the whole bot; raises PermissionDeniedError, UnknownNameError or CallError."""
        self._known(ctx, name)
        if name == ctx.plugin:
            raise CallError(f"插件 {name} 不能关：关了就没有指令能再打开它", code="needed")
        if name in self._life.loader.disabled:
            raise CallError(f"插件 {name} 本来就是关的", code="unchanged")
        await self._save(name, False)
        return tuple(await self._life.switch(name, False))

    async def on(self, ctx: CallContext, name: str) -> tuple[PluginReport, ...]:
        """Switch a plugin on again; raises PermissionDeniedError, UnknownNameError or CallError."""
        self._known(ctx, name)
        if name not in self._life.loader.disabled:
            raise CallError(f"插件 {name} 本来就是开的", code="unchanged")
        await self._save(name, True)
        return tuple(await self._life.switch(name, True))

    async def reload(self, ctx: CallContext, name: str) -> tuple[PluginReport, ...]:
        """Load a plugin from disk again; raises PermissionDeniedError, UnknownNameError or CallError."""
        self._known(ctx, name)
        if name in self._life.loader.disabled:
            raise CallError(f"插件 {name} 是关的，先用 .ai plugin on {name} 打开", code="off")
        return tuple(await self._life.load(name))

    def _known(self, ctx: CallContext, name: str) -> None:
        _master_only(ctx)
        names = self._life.loader.names
        if name not in names:
            near = difflib.get_close_matches(name, names, 3, 0.5)
            hint = f"；相近的：{'、'.join(near)}" if near else "；.ai plugin list 列出全部"
            raise UnknownNameError(f"没有叫 {name[:NAME_SHOWN]} 的插件{hint}")


def _master_only(ctx: CallContext) -> None:
    if ctx.level < MASTER:
        raise PermissionDeniedError("插件只有骰主能查看和开关")
