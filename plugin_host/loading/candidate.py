"""Candidate: one plugin imported, validated and asked what it offers, before anything of it counts."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy
from sqlalchemy import Table

from plugin_host import hookspecs
from plugin_host.commands import Command
from plugin_host.errors import HostError
from plugin_host.hooks import Implementation
from plugin_host.loading.importing import PluginFile, import_plugin, modules_of
from plugin_host.loading.plugin_settings import settings_of
from plugin_host.loading.reports import PluginRefusedError, PluginReport
from plugin_host.registry import Contribution
from plugin_host.tools import Source, Tool
from plugin_host.watch.daemon import where

API = 1
PLAIN_ONLY = frozenset({"register_tools", "register_commands", "tables", "services", "loaders", "cli", "should_handle"})
FileLoader = Callable[[Path, Contribution], Callable[[], None] | None]


@dataclass(frozen=True, slots=True)
class SubCommand:
    """A sub-command of the command line that a plugin offers."""

    name: str
    function: Callable[..., Any]
    help: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plugin that could run. ``modules``: its modules by import name; ``close`` ends a file of another language."""

    plugin: PluginFile
    title: str
    contribution: Contribution
    implementations: tuple[Implementation, ...] = ()
    modules: Mapping[str, ModuleType] = field(default_factory=dict)
    settings: Any = None
    loaders: Mapping[str, FileLoader] = field(default_factory=dict)
    sub_commands: tuple[SubCommand, ...] = ()
    close: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.plugin.name

    @property
    def report(self) -> PluginReport:
        """Its report when it runs."""
        return PluginReport(
            self.name,
            True,
            self.plugin.file,
            tools=tuple(tool.name for tool in self.contribution.tools),
            commands=tuple(command.words[0] for command in self.contribution.commands),
            hooks=tuple(dict.fromkeys(one.hook for one in self.implementations)),
            source=self.plugin.origin,
            title=self.title,
        )

    def stale(self, broken: PluginReport) -> PluginReport:
        """Its report when it goes on running because the version on disk is ``broken``."""
        return replace(self.report, file=broken.file, line=broken.line, fix=broken.fix, stale_reason=broken.reason)


def make_candidate(plugin: PluginFile, config: Mapping[str, Any], *, fresh: bool) -> Candidate:
    """Import, validate and ask one plugin; raises whatever does not fit.

    Its modules stay in ``sys.modules``: the caller puts back what was there, also when this never returns.
    """
    return _asked(plugin, import_plugin(plugin, fresh=fresh), config)


def foreign_candidate(plugin: PluginFile, load: FileLoader) -> Candidate:
    """Have a plugin in another language loaded by the loader of its suffix; raises what that loader raises."""
    contribution = Contribution(Source("script", plugin.name))
    close = load(plugin.path, contribution)
    return Candidate(plugin, plugin.name, contribution, close=close)


def _asked(plugin: PluginFile, module: ModuleType, config: Mapping[str, Any]) -> Candidate:
    api = getattr(module, "API", API)
    if api != API:
        raise PluginRefusedError(
            plugin.name,
            f"插件要求接口版本 API = {api!r}，本程序提供的是 {API}",
            file=plugin.file,
            line=_line_of(plugin, "API"),
            fix=f"改成 API = {API}，或换用支持该接口的程序版本",
        )
    implementations = tuple(_implementations(plugin, module))
    settings = settings_of(plugin, module, config)
    asked = _Registration(Contribution(Source(plugin.origin, plugin.name)))
    for one in implementations:
        if (register := asked.doors.get(one.hook)) is not None:
            one.call({"register": register})
    title = inspect.cleandoc(module.__doc__ or "").partition("\n")[0]
    return Candidate(
        plugin,
        title,
        asked.contribution,
        implementations,
        modules_of(plugin),
        settings,
        asked.loaders,
        tuple(asked.sub_commands.values()),
    )


class _Registration:
    """What the hooks at load are handed: one ``register`` each."""

    def __init__(self, contribution: Contribution) -> None:
        self.contribution = contribution
        self.loaders: dict[str, FileLoader] = {}
        self.sub_commands: dict[str, SubCommand] = {}
        self.doors: dict[str, Callable[..., Any]] = {
            "register_tools": self._tool,
            "register_commands": self._command,
            "services": contribution.service,
            "tables": self._tables,
            "loaders": self._loader,
            "cli": self._sub_command,
        }

    def _tool(self, function: Callable[..., Any] | Tool, **options: Any) -> Tool:
        names = {tool.name for tool in self.contribution.tools}
        tool = self.contribution.tool(function, **options)
        if tool.name in names:
            raise HostError(f"tool {tool.name!r} is registered twice")
        return tool

    def _command(self, function: Callable[..., object], words: Iterable[str] = (), **options: Any) -> Command:
        taken = {word for command in self.contribution.commands for word in command.words}
        command = self.contribution.command(function, words, **options)
        if repeated := [word for word in command.words if word in taken or command.words.count(word) > 1]:
            raise HostError(f"command word {repeated[0]!r} is registered twice")
        return command

    def _tables(self, *tables: Any, migrations: tuple[Callable[[Any], None], ...] = ()) -> None:
        taken = {table.name.casefold() for table in self.contribution.tables}
        for table in tables:
            if not isinstance(table, Table):
                raise HostError(f"tables: expected a SQLAlchemy Table, got {type(table).__name__}")
            if table.name.casefold() in taken:
                raise HostError(f"table {table.name!r} is registered twice")
            taken.add(table.name.casefold())
        self.contribution.tables.extend(tables)
        self.contribution.migrations.extend(migrations)

    def _loader(self, suffix: str, load: FileLoader) -> None:
        if not suffix.startswith(".") or suffix == ".py" or suffix in self.loaders:
            raise HostError(f"loader suffix {suffix!r} must begin with a dot, not be .py, and be registered once")
        self.loaders[suffix] = load

    def _sub_command(self, name: str, function: Callable[..., Any], help: str = "") -> None:
        if not name.replace("-", "").isalnum() or name in self.sub_commands:
            raise HostError(f"sub-command name {name!r} must be letters, digits or '-', and be registered once")
        self.sub_commands[name] = SubCommand(name, function, help)


def _implementations(plugin: PluginFile, module: ModuleType) -> Iterator[Implementation]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    for name, value in list(vars(module).items()):
        options = manager.parse_hookimpl_opts(module, name)
        if options is None:
            _refuse_unmarked(plugin, module, manager, name, value)
        else:
            _check_hook(plugin, manager, options.get("specname") or name, value, options)
    manager.register(module, plugin.name)
    manager.check_pending()
    for caller in manager.get_hookcallers(module) or ():
        for found in caller.get_hookimpls():
            yield Implementation(plugin.name, caller.name, found.function, tuple(found.argnames), plugin.owns)


def _check_hook(
    plugin: PluginFile, manager: pluggy.PluginManager, hook: str, function: Any, options: Mapping[str, Any]
) -> None:
    caller = getattr(manager.hook, hook, None)
    if caller is None or caller.spec is None:
        near = difflib.get_close_matches(hook, vars(manager.hook), 1, 0.5)
        fix = f"是不是想写 {near[0]}？" if near else "可用的钩子见 docs/plugins.md"
        raise _refused(plugin, function, f"没有叫 {hook} 的钩子", fix)
    expected = caller.spec.argnames
    parameters = inspect.signature(function).parameters.values()
    wrong = [one.name for one in parameters if one.name not in expected and one.default is one.empty]
    if wrong:
        reason = f"钩子 {hook} 的参数应为 ({', '.join(expected)})，实际写了 {'、'.join(wrong)}"
        raise _refused(plugin, function, reason, f"写成 def {hook}({', '.join(expected)}):")
    if options.get("wrapper") or options.get("hookwrapper"):
        raise _refused(plugin, function, f"钩子 {hook} 不能写成 wrapper", "去掉 wrapper=True，直接返回值")
    if hook in PLAIN_ONLY and inspect.iscoroutinefunction(function):
        raise _refused(plugin, function, f"钩子 {hook} 不能是 async", f"写成普通函数 def {hook}(…):")


def _refuse_unmarked(
    plugin: PluginFile, module: ModuleType, manager: pluggy.PluginManager, name: str, value: Any
) -> None:
    if inspect.isfunction(value) and value.__module__ == module.__name__ and hasattr(manager.hook, name):
        raise _refused(
            plugin, value, f"函数 {name} 与钩子同名，却没有 @hookimpl，不会被调用", "在它上面加 @hookimpl，或改名"
        )


def _refused(plugin: PluginFile, function: Any, reason: str, fix: str) -> PluginRefusedError:
    file, line = where(function)
    return PluginRefusedError(plugin.name, reason, file=file, line=line, fix=fix)


def _line_of(plugin: PluginFile, name: str) -> int:
    lines = Path(plugin.file).read_text(encoding="utf-8").splitlines()
    return next((number for number, line in enumerate(lines, 1) if line.startswith(name)), 1)
