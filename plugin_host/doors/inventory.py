"""Inventory: what ``tools`` and ``journal`` print; reads only, needs no lock of the home."""

from __future__ import annotations

from typing import Any

from plugin_host.clock import iso
from plugin_host.config.settings import Settings
from plugin_host.errors import HostError, StoreError
from plugin_host.home import Home
from plugin_host.loading.loader import Loader
from plugin_host.policy import Rules
from plugin_host.post import SESSION
from plugin_host.registry import Registry
from plugin_host.store import Database
from plugin_host.store.journal import read_lines
from plugin_host.toolbox.groups import group_of_tool


def inventory(home: Home, settings: Settings) -> list[dict[str, Any]]:
    """Every registered tool as the object that ``tools --json`` prints."""
    registry = Registry()
    Loader(registry, settings.plugins, home.plugins).load_all()
    rules = Rules.of(settings.tools, registry=registry)
    found = []
    for tool in registry.tools:
        group = group_of_tool(tool)
        found.append(
            {
                "name": tool.name,
                "alias": tool.alias,
                "title": tool.title,
                "group": group.title if group else "",
                "group_alias": group.id if group else "",
                "source": {"kind": tool.source.kind, "id": tool.source.id},
                "default_on": rules.is_on(tool, {}),
                "flags": list(tool.annotations.flags),
                "privilege": rules.level_for(tool),
                "approval": tool.approval,
                "input_schema": dict(tool.input_schema),
            }
        )
    return found


def taken_names(home: Home, settings: Settings) -> set[str]:
    """Names that a new plugin cannot have: plugins, tools and command words."""
    registry = Registry()
    loader = Loader(registry, settings.plugins, home.plugins)
    loader.load_all()
    words = {word for command in registry.commands for word in command.words}
    return {*loader.names, *(tool.name for tool in registry.tools), *words}


def journal_lines(home: Home, session: str | None, limit: int) -> list[dict[str, Any]]:
    """The newest lines of the journal, oldest first.

    Raises HostError for what is no session, StoreError when the home has no store yet or it cannot be read.
    """
    if session is not None and not SESSION.fullmatch(session):
        raise HostError(f"--session 应写成 group:群号 或 private:号码，实际是 {session[:64]!r}")
    if not home.database.is_file():
        raise StoreError(f"{home.database.name} 还不存在：这个目录里还没有运行过机器人")
    database = Database(home.database).open_for_reading()
    try:
        lines = database.read_now(lambda tx: read_lines(tx, session=session, limit=limit))
    finally:
        database.close()
    return [
        {
            "seq": line.seq,
            "time": iso(line.entry.time),
            "session": line.entry.session,
            "turn": line.entry.turn,
            "call": line.entry.call,
            "type": line.entry.type,
            "name": line.entry.name,
            "payload": dict(line.entry.payload),
            "ms": line.entry.ms,
        }
        for line in lines
    ]
