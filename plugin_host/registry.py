"""Registry: names → tools, words → commands, names → services; owners, collisions, drop by owner."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from plugin_host.commands import Command, CommandArgs, Match, command_from_function, matches
from plugin_host.errors import HostError
from plugin_host.tools import Source, Tool, tool_from_function


@dataclass(slots=True)
class Contribution:
    """What one plugin registers; it counts only when the registry installs it, all or nothing."""

    source: Source
    tools: list[Tool] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    services: dict[str, Any] = field(default_factory=dict)
    tables: list[Any] = field(default_factory=list)
    migrations: list[Callable[..., None]] = field(default_factory=list)

    def tool(self, function: Callable[..., Any] | Tool, **options: Any) -> Tool:
        """Register a typed function (or a ready Tool) as a tool; options as in ``tool_from_function``."""
        tool = function if isinstance(function, Tool) else tool_from_function(function, source=self.source, **options)
        self.tools.append(tool)
        return tool

    def command(self, function: Callable[..., object], words: Iterable[str] = (), **options: Any) -> Command:
        """Register a function under trigger words; options as in ``command_from_function``."""
        command = command_from_function(function, words=words, source=self.source, **options)
        self.commands.append(command)
        return command

    def service(self, name: str, value: Any) -> None:
        """Offer a named service to other plugins."""
        if name in self.services:
            raise HostError(f"service {name!r} is offered twice")
        self.services[name] = value


KINDS = {"tool": "工具名", "command": "指令词", "service": "服务名", "alias": "工具别名", "table": "数据表"}


@dataclass(frozen=True, slots=True)
class Collision:
    """One name that two sources want; ``kind`` is one of KINDS."""

    kind: str
    name: str
    owners: tuple[str, ...]

    def __str__(self) -> str:
        return f"{KINDS[self.kind]} {self.name} 重复：{'、'.join(self.owners)} 都想用"


class Registry:
    """Everything that can be looked up by name.

    Built-in names win over all others; two external sources that want the same tool name are both refused, whatever the
    order in which they came. Names of built-in tools stay reserved also when their plugin is off.
    """

    def __init__(self) -> None:
        self._contributions: dict[str, Contribution] = {}
        self._reserved: dict[str, str] = {}
        self._tools: dict[str, Tool] = {}
        self._aliases: dict[str, str] = {}
        self._words: dict[str, Command] = {}
        self._longest = 0
        self._services: dict[str, Any] = {}
        self._refused: dict[str, tuple[Collision, ...]] = {}
        self.collisions: tuple[Collision, ...] = ()

    def install(self, contribution: Contribution) -> None:
        """Put a plugin's contribution in the place of its former one; raises HostError when it repeats itself."""
        _refuse_repeats(contribution)
        owner = contribution.source.id
        if contribution.source.kind == "builtin":
            for tool in contribution.tools:
                self._reserved[tool.name] = owner
        self._contributions[owner] = contribution
        self._rebuild()

    def drop(self, owner: str) -> None:
        """Forget everything that ``owner`` registered."""
        if self._contributions.pop(owner, None) is not None:
            self._rebuild()

    def refuse(self, owner: str, collisions: tuple[Collision, ...]) -> None:
        """Show these among ``collisions``: ``owner`` was not installed because of them. Empty = no longer refused."""
        self._refused[owner] = collisions
        self._rebuild()

    def collisions_with(self, contribution: Contribution) -> tuple[Collision, ...]:
        """The collisions that installing ``contribution`` would add or keep."""
        trial = Registry()
        trial._reserved = dict(self._reserved)
        trial._contributions = dict(self._contributions)
        trial.install(contribution)
        return tuple(found for found in trial.collisions if contribution.source.id in found.owners)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every registered tool, in order of name."""
        return tuple(self._tools[name] for name in sorted(self._tools))

    def tool(self, name: str) -> Tool | None:
        """The tool of that name or provider-safe alias."""
        return self._tools.get(name) or self._tools.get(self._aliases.get(name, ""))

    @property
    def commands(self) -> tuple[Command, ...]:
        """Every command that at least one word reaches, in order of name."""
        unique = {id(command): command for command in self._words.values()}
        return tuple(sorted(unique.values(), key=lambda command: command.name))

    def match(self, line: str) -> Iterator[Match]:
        """The commands that ``line`` (without its prefix) may address, longest word first."""
        for word, command in matches(line, self._words, self._longest):
            yield Match(command, CommandArgs(word=word, rest=line[len(word) :].strip()))

    def service(self, name: str) -> Any:
        """The named service, or None."""
        return self._services.get(name)

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """Everything that is installed, in the order in which its owners first came."""
        return tuple(self._contributions.values())

    def contribution(self, owner: str) -> Contribution | None:
        """What ``owner`` registered, or None."""
        return self._contributions.get(owner)

    def _rebuild(self) -> None:
        tools, tool_collisions = self._resolve_tools()
        self._aliases, alias_collisions = _aliases(tools.values())
        for collision in alias_collisions:
            winner = self._aliases.get(collision.name)
            tools = {name: tool for name, tool in tools.items() if tool.alias != collision.name or name == winner}
        self._words, word_collisions = self._resolve_words()
        self._services, service_collisions = self._resolve_services()
        self._tools = tools
        self._longest = max((len(word) for word in self._words), default=0)
        refused = itertools.chain.from_iterable(self._refused.values())
        found = (*tool_collisions, *alias_collisions, *word_collisions, *service_collisions, *refused)
        self.collisions = tuple(sorted(set(found), key=lambda one: (one.kind, one.name, one.owners)))

    def _resolve_tools(self) -> tuple[dict[str, Tool], list[Collision]]:
        wanted: dict[str, list[Tool]] = {}
        for contribution in self._contributions.values():
            for tool in contribution.tools:
                wanted.setdefault(tool.name, []).append(tool)
        tools: dict[str, Tool] = {}
        collisions = []
        for name, candidates in wanted.items():
            builtin = [tool for tool in candidates if tool.source.kind == "builtin"]
            owners = tuple(sorted({tool.source.id for tool in candidates} | {self._reserved.get(name, "")} - {""}))
            if builtin:
                tools[name] = min(builtin, key=_owner)
            elif len(candidates) == 1 and name not in self._reserved:
                tools[name] = candidates[0]
            if len(owners) > 1:
                collisions.append(Collision("tool", name, owners))
        return tools, collisions

    def _resolve_words(self) -> tuple[dict[str, Command], list[Collision]]:
        wanted: dict[str, list[Command]] = {}
        for contribution in self._contributions.values():
            for command in contribution.commands:
                for word in command.words:
                    wanted.setdefault(word, []).append(command)
        words: dict[str, Command] = {}
        collisions = []
        for word, candidates in wanted.items():
            owners = tuple(sorted({command.source.id for command in candidates}))
            builtin = [command for command in candidates if command.source.kind == "builtin"]
            if builtin or len(candidates) == 1:
                words[word] = min(builtin or candidates, key=_owner)
            if len(owners) > 1:
                collisions.append(Collision("command", word, owners))
        return words, collisions

    def _resolve_services(self) -> tuple[dict[str, Any], list[Collision]]:
        found: dict[str, tuple[str, Any]] = {}
        collisions = []
        ordered = sorted(self._contributions.values(), key=lambda c: (c.source.kind != "builtin", c.source.id))
        for contribution in ordered:
            for name, value in contribution.services.items():
                if name in found:
                    collisions.append(Collision("service", name, (found[name][0], contribution.source.id)))
                else:
                    found[name] = (contribution.source.id, value)
        return {name: value for name, (_, value) in found.items()}, collisions


def _owner(registered: Tool | Command) -> str:
    return registered.source.id


def _aliases(tools: Iterable[Tool]) -> tuple[dict[str, str], list[Collision]]:
    """Alias → name, and the shared aliases: a built-in keeps one, external tools lose it all of them."""
    wanted: dict[str, list[Tool]] = {}
    for tool in tools:
        wanted.setdefault(tool.alias, []).append(tool)
    aliases = {}
    for alias, found in wanted.items():
        builtin = [tool for tool in found if tool.source.kind == "builtin"]
        if len(found) == 1 or len(builtin) == 1:
            aliases[alias] = (builtin or found)[0].name
    collisions = [
        Collision("alias", alias, tuple(sorted(f"{tool.source.id}:{tool.name}" for tool in found)))
        for alias, found in wanted.items()
        if len(found) > 1
    ]
    return aliases, collisions


def _refuse_repeats(contribution: Contribution) -> None:
    names = [tool.name for tool in contribution.tools]
    words = list(itertools.chain.from_iterable(command.words for command in contribution.commands))
    for kind, listed in (("tool", names), ("command word", words)):
        repeated = sorted({name for name in listed if listed.count(name) > 1})
        if repeated:
            raise HostError(f"{kind} {', '.join(repeated)} registered twice by {contribution.source.id}")
