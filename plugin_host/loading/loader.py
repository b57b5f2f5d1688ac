"""Loader: finds, imports, validates, installs and drops plugins; the life cycle of each one alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loguru import logger

from plugin_host.config.settings import PluginSettings
from plugin_host.errors import PluginError
from plugin_host.hooks import HookFailure, Implementation
from plugin_host.loading import contest
from plugin_host.loading.candidate import Candidate, FileLoader, SubCommand, foreign_candidate, make_candidate
from plugin_host.loading.catalogue import Catalogue
from plugin_host.loading.importing import Origin, PluginFile, modules_of, put_modules
from plugin_host.loading.reports import PluginReport, failed, off_report
from plugin_host.registry import Collision, Contribution, Registry
from plugin_host.watch.daemon import call_with_limit

Prepared = Candidate | PluginReport


@dataclass(slots=True)
class Settlement:
    """What one change did: reports of all plugins touched, versions that went, versions that came."""

    reports: list[PluginReport] = field(default_factory=list)
    gone: list[Candidate] = field(default_factory=list)
    came: list[Candidate] = field(default_factory=list)


class Loader:
    """All plugins of one host.

    ``builtin`` is the import name of the package of built-in plugins; ``switches`` (name → on) are the differences from
    ``settings.disabled``. ``prepare`` may run on any thread; all else runs on the thread that uses the registry.
    """

    def __init__(
        self,
        registry: Registry,
        settings: PluginSettings,
        home: Path | None = None,
        builtin: str = "plugins",
        switches: Mapping[str, bool] | None = None,
    ) -> None:
        self._registry = registry
        self._settings = settings
        # Code objects carry absolute names of files; a plugin's line is found by comparing with them.
        self.home = home.absolute() if home else None
        self._catalogue = Catalogue(settings, self.home, builtin)
        chosen = dict.fromkeys(settings.disabled, False) | dict(switches or {})
        self.disabled = {name for name, on in chosen.items() if not on}
        self._running: dict[str, Candidate] = {}
        self._off: dict[str, Contribution] = {}
        self._reports: dict[tuple[Origin, str], PluginReport] = {}
        self._by_hook: dict[str, list[Implementation]] = {}

    def load_all(self) -> list[PluginReport]:
        """Load built-in plugins one by one in name order, then the home's together; returns every report."""
        for plugin in self._catalogue.builtin():
            self.settle(self.prepare([plugin]))
        self.settle(self.prepare(self._catalogue.home()))
        self.settle(self.prepare(self.foreign(list(self._running.values()))))
        return self.reports

    def load(self, name: str) -> list[PluginReport]:
        """Load or reload one plugin, and whoever was refused for a name; returns the reports of all of them.

        A broken version leaves the running one in place. Raises PluginError when there is no plugin of that name.
        """
        settlement = self.settle(self.prepare(self.group(name), fresh=True))
        return settlement.reports + self.settle(self.prepare(self.foreign(settlement.came))).reports

    def unload(self, name: str) -> Settlement:
        """Drop a plugin and everything it registered; its report goes too."""
        settlement = Settlement()
        self._drop(name, settlement)
        for origin in ("builtin", "plugin"):
            self._reports.pop((origin, name), None)
        self._registry.refuse(name, ())
        return settlement

    def disable(self, name: str) -> Settlement:
        """Switch a plugin off: it is dropped and stays so until ``disabled`` forgets it and it is loaded again."""
        self.disabled.add(name)
        files = self.files(name)
        running = self._running.get(name)
        settlement = self.unload(name)
        if running is not None and running.plugin.origin == "builtin":
            self._off[name] = _tools_only(running.contribution)
        settlement.reports.extend(self._note(off_report(plugin)) for plugin in files)
        return settlement

    def fail(self, failure: HookFailure, former: Candidate | None = None) -> Settlement:
        """Drop a plugin whose start failed, or put its ``former`` version back; the report says why."""
        plugin = self._running[failure.plugin].plugin
        reason = f"{failure.hook} 失败：{failure.reason}"
        settlement = Settlement()
        report = PluginReport(plugin.name, False, failure.file, failure.line, reason, source=plugin.origin)
        self._drop(plugin.name, settlement)
        if former is not None:
            self._install(former, settlement)
            report = former.stale(report)
        settlement.reports.append(self._note(report))
        return settlement

    def group(self, name: str) -> list[PluginFile]:
        """The files to prepare when the plugin ``name`` changes; raises PluginError when there is none."""
        found = self.files(name)
        if not found:
            raise PluginError(name, "there is no such plugin")
        return [*found, *(one for one in self.contested() if one.name != name)]

    def contested(self) -> list[PluginFile]:
        """The plugins that were refused for a name which another one wants: worth a new try when one of them goes."""
        return [one for report in self._reports.values() if report.contested for one in self.files(report.name)]

    def foreign(self, came: Sequence[Candidate]) -> list[PluginFile]:
        """The files in another language that the loaders of ``came`` take."""
        suffixes = {suffix for one in came for suffix in one.loaders}
        return [one for one in self._catalogue.home(suffixes) if not one.is_python]

    def files(self, name: str) -> list[PluginFile]:
        """The plugin files of that name: a built-in one and a refused one of the home may share it."""
        return [one for one in self._catalogue.every(self.loaders) if one.name == name]

    @property
    def names(self) -> list[str]:
        """Every plugin on disk, in order of name."""
        return sorted({one.name for one in self._catalogue.every(self.loaders)})

    def prepare(self, plugins: Sequence[PluginFile], *, fresh: bool = False) -> list[Prepared]:
        """Import and validate plugins under the time limit; nothing of them counts yet, ``sys.modules`` stays."""
        return [self._prepared(plugin, fresh) for plugin in plugins]

    def settle(self, prepared: Sequence[Prepared]) -> Settlement:
        """Install what fits and refuse the rest, all of it at once, so that no order decides."""
        settlement = Settlement()
        candidates = {one.name: one for one in prepared if isinstance(one, Candidate)}
        for report in (one for one in prepared if isinstance(one, PluginReport)):
            settlement.reports.append(self._refused(report))
        candidates = self._without_off(candidates, settlement)
        lost = self._lost(candidates, settlement)
        for name in [name for name in self._running if name in lost and name not in candidates]:
            self._lose(self._running[name], lost[name], settlement)
        for name, candidate in candidates.items():
            if name in lost:
                self._lose(candidate, lost[name], settlement)
            else:
                self._install(candidate, settlement)
        return settlement

    @property
    def reports(self) -> list[PluginReport]:
        """One report per plugin: built-in ones first, then in order of name."""
        return [self._reports[key] for key in sorted(self._reports)]

    @property
    def loaders(self) -> dict[str, FileLoader]:
        """Suffix → loader of plugins in another language."""
        return {suffix: load for one in self._running.values() for suffix, load in one.loaders.items()}

    @property
    def sub_commands(self) -> list[SubCommand]:
        """What plugins add to the command line, in load order."""
        return [command for one in self._running.values() for command in one.sub_commands]

    @property
    def running(self) -> dict[str, Candidate]:
        """The plugins that run, by name, in load order."""
        return dict(self._running)

    def implementations(self, hook: str) -> list[Implementation]:
        """The implementations of a hook, in load order."""
        return self._by_hook.get(hook, [])

    def settings_of(self, plugin: str) -> Any:
        """The plugin's validated settings; None when it has no model or does not run."""
        running = self._running.get(plugin)
        return running.settings if running else None

    def owner_of(self, file: str) -> str | None:
        """The running plugin that a source file belongs to."""
        return next((name for name, one in self._running.items() if one.plugin.owns(file)), None)

    def _prepared(self, plugin: PluginFile, fresh: bool) -> Prepared:
        before = modules_of(plugin)
        try:
            self._catalogue.check_name(plugin)
            if plugin.name in self.disabled and plugin.origin == "plugin":
                return off_report(plugin)
            work = self._work(plugin)
            return call_with_limit(work, fresh, limit=self._settings.import_limit, name=f"import of {plugin.name}")
        except Exception as error:
            return failed(plugin, error)
        finally:
            put_modules(plugin, before)

    def _work(self, plugin: PluginFile) -> Callable[[bool], Candidate]:
        if not plugin.is_python:
            load = self.loaders[plugin.path.suffix]
            return lambda fresh: foreign_candidate(plugin, load)
        config = self._catalogue.config(plugin.name)
        return lambda fresh: make_candidate(plugin, config, fresh=fresh)

    def _without_off(self, candidates: dict[str, Candidate], settlement: Settlement) -> dict[str, Candidate]:
        for name in [name for name in candidates if name in self.disabled]:
            candidate = candidates.pop(name)
            self._off[name] = _tools_only(candidate.contribution)
            settlement.reports.append(self._note(off_report(candidate.plugin)))
        return candidates

    def _lost(self, candidates: dict[str, Candidate], settlement: Settlement) -> dict[str, tuple[Collision, ...]]:
        while True:
            others = [one for one in self._registry.contributions if one.source.id not in candidates]
            off = [one for name, one in self._off.items() if name not in candidates]
            lost = contest.losers([*off, *others, *(one.contribution for one in candidates.values())])
            stale = next((name for name in candidates if name in lost and name in self._running), None)
            if stale is None:
                return lost
            refusal = contest.refusal(candidates[stale], lost[stale])
            settlement.reports.append(self._refused(failed(candidates.pop(stale).plugin, refusal)))

    def _lose(self, candidate: Candidate, collisions: tuple[Collision, ...], settlement: Settlement) -> None:
        self._drop(candidate.name, settlement)
        self._registry.refuse(candidate.name, collisions)
        settlement.reports.append(self._note(failed(candidate.plugin, contest.refusal(candidate, collisions))))

    def _install(self, candidate: Candidate, settlement: Settlement) -> None:
        former = self._running.get(candidate.name)
        if former is not None:
            settlement.gone.append(former)
            _close(former)
        self._registry.refuse(candidate.name, ())
        self._registry.install(candidate.contribution)
        self._off.pop(candidate.name, None)
        put_modules(candidate.plugin, candidate.modules)
        self._running[candidate.name] = candidate
        self._sort_hooks()
        settlement.came.append(candidate)
        settlement.reports.append(self._note(candidate.report))

    def _drop(self, name: str, settlement: Settlement) -> None:
        former = self._running.pop(name, None)
        if former is None:
            return
        self._registry.drop(name)
        if former.plugin.origin != "builtin":
            put_modules(former.plugin, {})
        _close(former)
        self._sort_hooks()
        settlement.gone.append(former)
        for other in [one.name for one in self._running.values() if one.plugin.path.suffix in former.loaders]:
            self._drop(other, settlement)

    def _sort_hooks(self) -> None:
        found: dict[str, list[Implementation]] = {}
        for candidate in self._running.values():
            for one in candidate.implementations:
                found.setdefault(one.hook, []).append(one)
        self._by_hook = found

    def _refused(self, report: PluginReport) -> PluginReport:
        running = self._running.get(report.name)
        if running is not None and running.plugin.origin == report.source and not report.off:
            report = running.stale(report)
        return self._note(report)

    def _note(self, report: PluginReport) -> PluginReport:
        self._reports[(report.source, report.name)] = report
        reason = report.stale_reason or report.reason
        if reason:
            logger.error("plugin {}: {} ({}:{})", report.name, reason, report.file, report.line)
        return report


def _tools_only(contribution: Contribution) -> Contribution:
    # The words of a built-in plugin that is off are free; its tools stay reserved, and its tables are in the store.
    return Contribution(contribution.source, tools=list(contribution.tools), tables=list(contribution.tables))


def _close(candidate: Candidate) -> None:
    if candidate.close is None:
        return
    try:
        candidate.close()
    except Exception:
        logger.exception("plugin {} failed to close", candidate.name)
