"""Contest: which of several plugins want the same name, and the report that tells each of them so."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from plugin_host.loading.candidate import Candidate
from plugin_host.loading.reports import PluginRefusedError
from plugin_host.registry import Collision, Contribution
from plugin_host.store.tables import metadata
from plugin_host.watch.daemon import where


def claims(contribution: Contribution) -> dict[tuple[str, str], Any]:
    """Every (kind, name) that a contribution wants, with the function or value behind it."""
    found: dict[tuple[str, str], Any] = {}
    for tool in contribution.tools:
        found[("tool", tool.name)] = tool
        found.setdefault(("alias", tool.alias), tool)
    for command in contribution.commands:
        found.update({("command", word): command for word in command.words})
    # SQLite knows one table by its name in small and in capital letters.
    found.update({("table", table.name.casefold()): table for table in contribution.tables})
    found.update({("service", name): value for name, value in contribution.services.items()})
    return found


def losers(contributions: Iterable[Contribution]) -> dict[str, tuple[Collision, ...]]:
    """Who loses a name, with the collisions: of built-in owners all but the first one, of external ones everybody.

    The host's own tables are taken. One owner may occur twice (a name reserved by the former version of itself collides
    with nobody).
    """
    wanted: dict[tuple[str, str], dict[str, bool]] = {("table", name): {"host": True} for name in metadata.tables}
    for contribution in contributions:
        for claim in claims(contribution):
            wanted.setdefault(claim, {})[contribution.source.id] = contribution.source.kind == "builtin"
    found: dict[str, list[Collision]] = {}
    for (kind, name), owners in wanted.items():
        same_name = kind == "alias" and wanted.get(("tool", name), {}).keys() == owners.keys()
        if len(owners) < 2 or same_name:
            continue
        winner = next((owner for owner, builtin in owners.items() if builtin), None)
        for owner in owners:
            if owner != winner:
                found.setdefault(owner, []).append(Collision(kind, name, tuple(sorted(owners))))
    return {owner: tuple(collisions) for owner, collisions in found.items()}


def refusal(candidate: Candidate, collisions: tuple[Collision, ...]) -> PluginRefusedError:
    """What to tell a plugin that loses its place to the collisions."""
    first = collisions[0]
    value = claims(candidate.contribution).get((first.kind, first.name))
    file, line = _place(candidate, first.kind, value)
    words = "；".join(str(collision) for collision in collisions)
    return PluginRefusedError(candidate.name, words, file=file, line=line, fix=_fix(candidate, first), contested=True)


_FIXES = {
    "tool": '改函数名，或 register(函数, name="别的名字")',
    "alias": '改函数名，或 register(函数, name="别的名字")；点号与下划线对模型是同一个名字',
    "command": '换一个指令词：register(函数, words=("别的词",))',
    "service": "换一个服务名",
}
_HOOKS = {"tool": "register_tools", "alias": "register_tools", "command": "register_commands", "table": "tables"}


def _fix(candidate: Candidate, collision: Collision) -> str:
    if collision.kind == "table":
        return f"给表改名，以插件名开头：{candidate.name}_{collision.name}"
    return _FIXES[collision.kind]


def _place(candidate: Candidate, kind: str, value: Any) -> tuple[str, int]:
    function = getattr(value, "function", value)
    if inspect.isfunction(function):
        file, line = where(function)
        if candidate.plugin.owns(file):
            return file, line
    hook = _HOOKS.get(kind, "services")
    one = next((one for one in candidate.implementations if one.hook == hook), None)
    return one.place(()) if one is not None else (candidate.plugin.file, 1)
