"""PluginReport: what became of one plugin, with the line of its own file; and how an error becomes one."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from plugin_host.errors import HostError, PluginError
from plugin_host.loading.importing import Origin, PluginFile
from plugin_host.watch.daemon import AbandonedError, Place, places_of


@dataclass(frozen=True, slots=True)
class PluginReport:
    """One plugin as the loader left it.

    ``reason`` and ``fix`` are Chinese sentences, empty when ``ok``. ``off``: it was switched off and does not run.
    ``stale_reason``: it runs, but in its former version, because the saved one is broken for that reason; ``file`` and
    ``line`` then point at the saved one.
    """

    name: str
    ok: bool
    file: str
    line: int | None = None
    reason: str = ""
    fix: str = ""
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    source: Origin = "plugin"
    title: str = ""
    off: bool = False
    stale_reason: str = ""
    contested: bool = False


class PluginRefusedError(PluginError):
    """A plugin does not fit; ``fix`` says how to repair it; ``contested``: another plugin wants the same name."""

    def __init__(
        self, plugin: str, reason: str, *, file: str, line: int | None, fix: str = "", contested: bool = False
    ) -> None:
        super().__init__(plugin, reason, file=file, line=line)
        self.fix = fix
        self.contested = contested


def off_report(plugin: PluginFile) -> PluginReport:
    """The report of a plugin that is switched off."""
    return PluginReport(plugin.name, True, plugin.file, source=plugin.origin, off=True)


def failed(plugin: PluginFile, error: BaseException) -> PluginReport:
    """The report of a plugin whose import, registration or start raised ``error``."""
    if isinstance(error, PluginRefusedError):
        return PluginReport(
            plugin.name,
            False,
            error.file or plugin.file,
            error.line,
            error.message,
            error.fix,
            source=plugin.origin,
            contested=error.contested,
        )
    place = _place(plugin, error)
    reason, fix = _words(plugin, error)
    file, line = (place.file, place.line) if place else (plugin.file, None)
    return PluginReport(plugin.name, False, file, line, reason, fix, source=plugin.origin)


def _place(plugin: PluginFile, error: BaseException) -> Place | None:
    if isinstance(error, AbandonedError):
        return _own(plugin, error.stack)
    if isinstance(error, SyntaxError) and error.filename and plugin.owns(error.filename):
        return Place(error.filename, error.lineno or 1, "")
    links: list[BaseException] = [error]
    while (cause := links[-1].__cause__) is not None and cause not in links:
        links.append(cause)
    stacks = (places_of(traceback.extract_tb(link.__traceback__)) for link in reversed(links))
    return next((place for stack in stacks if (place := _own(plugin, stack))), None)


def _own(plugin: PluginFile, stack: tuple[Place, ...]) -> Place | None:
    return next((place for place in stack if plugin.owns(place.file)), None)


def _words(plugin: PluginFile, error: BaseException) -> tuple[str, str]:
    if isinstance(error, AbandonedError):
        ended = "" if error.ended else "，线程无法中断，已放弃"
        return f"{error.limit:g} 秒内没有结束{ended}", "加载与启动时不要循环等待或做耗时的事，放到 startup 的后台任务里"
    if isinstance(error, SyntaxError):
        return f"语法错误：{error.msg}", "改正这一行的语法"
    if isinstance(error, ModuleNotFoundError):
        return f"找不到模块 {error.name}", "检查模块名，或先安装它"
    if isinstance(error, HostError) and not isinstance(error.__cause__, Exception | None):
        return f"想结束程序（{type(error.__cause__).__name__}）", "删去 sys.exit 一类的调用；不能运行时抛出普通异常"
    if isinstance(error, HostError):
        return f"登记不合要求：{error}", "按说明改正登记的函数或参数"
    return f"出错 {type(error).__name__}：{error}", "改正这一行；它在加载或启动时运行"
