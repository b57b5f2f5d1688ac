"""Checkup: what ``plugin-host check`` finds in a home — config, plugins, bridge, models — without starting a bot."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from plugin_host.config import Settings, load_home
from plugin_host.errors import ConfigError
from plugin_host.home import Home
from plugin_host.loading.loader import Loader
from plugin_host.registry import Registry

LOOPBACK = ("127.", "localhost", "[::1]", "::1")

WORDS = {
    "zh": {
        "no_file": "没有文件，全部用默认值",
        "off": "已关闭",
        "sleep": "async 函数里调用了 time.sleep，会让整个机器人停住，而且打断不了",
        "sleep_fix": "改为 await asyncio.sleep(...)",
        "open": "监听 {listen} 对外开放，但 bridge.tokens.core 或 bridge.tokens.ob11 没有设置",
        "open_fix": "设置令牌，或只监听 127.0.0.1，或写 allow_open: true",
        "dial": "将主动连接 {url}",
        "core_account": "没有写 self_id：核心先连上时不知道账号，要等协议端",
        "no_model": "没有配置模型：终端里用离线演示模型，群里不能 .ai on",
        "no_key": "连接 {name} 没有 api_key",
        "no_key_fix": 'api_key: "${环境变量名}"',
        "no_tool": "{path} 里的 {name} 不是任何工具的名字，不起作用",
        "maybe_tool": "{path} 里的 {name} 不是任何已加载的工具；如果它属于关着或没加载的插件，可以不管",
        "no_plugin": "{path} 里的 {name} 不是任何插件的名字，不起作用",
        "nearest": "是不是 {near}？",
    },
    "en": {
        "no_file": "no file: all defaults",
        "off": "switched off",
        "sleep": "time.sleep inside a coroutine stops the whole bot and cannot be interrupted",
        "sleep_fix": "use await asyncio.sleep(...)",
        "open": "{listen} is reachable from outside, but bridge.tokens.core or bridge.tokens.ob11 is empty",
        "open_fix": "set the tokens, or listen on 127.0.0.1, or write allow_open: true",
        "dial": "will dial {url}",
        "core_account": "no self_id: a core that connects first has to wait for the protocol end",
        "no_model": "no model configured: the terminal uses the offline demo, groups cannot .ai on",
        "no_key": "connection {name} has no api_key",
        "no_key_fix": 'api_key: "${NAME_OF_VARIABLE}"',
        "no_tool": "{name} in {path} names no tool and has no effect",
        "maybe_tool": "{name} in {path} names no loaded tool; fine if it belongs to a plugin that is off or broken",
        "no_plugin": "{name} in {path} names no plugin and has no effect",
        "nearest": "did you mean {near}?",
    },
}


Words = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table; ``fix`` says what to do when it is not ok."""

    what: str
    name: str
    ok: bool
    message: str = ""
    fix: str = ""
    file: str = ""
    line: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The object that ``check --json`` prints."""
        return asdict(self)


def check(folder: Path) -> list[Finding]:
    """Everything that can be said of a home; the plugins are imported, nothing is stored or connected."""
    try:
        settings = load_home(folder)
    except ConfigError as error:
        broken = [
            Finding("config", problem.path or "config.yaml", False, problem.message, "", error.file, problem.line)
            for problem in error.problems
        ]
        return [*broken, *_plugins(folder, Settings(), WORDS["zh"])]
    words = WORDS[settings.language]
    return [
        Finding("config", "config.yaml", True, "" if (folder / "config.yaml").exists() else words["no_file"]),
        *_plugins(folder, settings, words),
        *_bridge(settings, words),
        *_models(settings, words),
    ]


def _plugins(folder: Path, settings: Settings, words: Words) -> Iterator[Finding]:
    registry = Registry()
    loader = Loader(registry, settings.plugins, Home(folder, settings).plugins)
    for report in loader.load_all():
        offered = [*report.tools, *(f".{word}" for word in report.commands)]
        message = report.reason if not report.ok else words["off"] if report.off else "、".join(offered)
        yield Finding("plugin", report.name, report.ok, message, report.fix, report.file, report.line)
        if report.name in loader.running:
            yield from blocking_calls(report.name, loader.running[report.name].plugin.path, words)
    yield from _names(settings, loader, {tool.name for tool in registry.tools}, words)


def _names(settings: Settings, loader: Loader, tools: set[str], words: Words) -> Iterator[Finding]:
    """A name that means nothing protects nothing: whoever wrote it believes that it does."""
    named = {*settings.tools.blocked, *settings.tools.default_off, *settings.tools.privilege}
    if not named <= tools and any(report.off for report in loader.reports):
        tools = tools | _builtin_tools(settings)
    # The tools of a plugin of the home that does not run are not known.
    unsure = any(report.source == "plugin" and (report.off or not report.ok) for report in loader.reports)
    kind = "maybe_tool" if unsure else "no_tool"
    places: tuple[tuple[str, Collection[str], Collection[str], str], ...] = (
        ("tools.blocked", settings.tools.blocked, tools, kind),
        ("tools.default_off", settings.tools.default_off, tools, kind),
        ("tools.privilege", settings.tools.privilege, tools, kind),
        ("plugins.disabled", settings.plugins.disabled, loader.names, "no_plugin"),
        ("plugins", settings.plugins.model_extra or {}, loader.names, "no_plugin"),
    )
    for path, names, known, wording in places:
        for name in sorted(set(names) - set(known)):
            near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
            fix = words["nearest"].format(near=near[0]) if near else ""
            message = words[wording].format(path=path, name=name)
            yield Finding("config", f"{path}.{name}", wording == "maybe_tool", message, fix)


def _builtin_tools(settings: Settings) -> set[str]:
    """The names of all built-in tools, also of plugins that are off: they stay reserved."""
    registry = Registry()
    Loader(registry, settings.plugins.model_copy(update={"disabled": ()})).load_all()
    return {tool.name for tool in registry.tools}


def blocking_calls(name: str, file: Path, words: Words) -> Iterator[Finding]:
    """A warning for each ``time.sleep`` inside a coroutine: it stops the whole bot and nothing can interrupt it."""
    sources = [file] if file.suffix == ".py" else sorted(file.rglob("*.py"))
    for source in sources:
        for line in _sleeps(source):
            yield Finding("plugin", name, True, words["sleep"], words["sleep_fix"], str(source), line)


def _sleeps(source: Path) -> Iterator[int]:
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError):  # beside the plugin's modules a package may hold templates and the like
        return
    for function in ast.walk(tree):
        if isinstance(function, ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep":
                    yield node.lineno


def _bridge(settings: Settings, words: Words) -> Iterator[Finding]:
    bridge = settings.bridge
    loopback = bridge.listen.startswith(LOOPBACK)
    tokens = (bridge.tokens.core, bridge.tokens.ob11)
    unprotected = not all(token.get_secret_value() for token in tokens)
    if not loopback and unprotected and not bridge.allow_open:
        yield Finding("bridge", "listen", False, words["open"].format(listen=bridge.listen), words["open_fix"])
    else:
        yield Finding("bridge", "listen", True, bridge.listen)
    for index, end in enumerate(bridge.protocol):
        yield Finding("bridge", f"protocol[{index}]", True, words["dial"].format(url=end.url.partition("?")[0]))
    for core in bridge.cores:
        yield Finding("bridge", f"core {core.name}", True, "" if core.self_id else words["core_account"])


def _models(settings: Settings, words: Words) -> Iterator[Finding]:
    if not settings.models.uses.chat:
        yield Finding("model", "chat", True, words["no_model"])
    connections = {connection.name: connection for connection in settings.models.connections}
    for use in settings.models.uses.chat:
        connection = connections[use.partition(":")[0]]
        keyless = not connection.api_key.get_secret_value() and not connection.base_url
        message = words["no_key"].format(name=connection.name) if keyless else connection.provider
        fix = words["no_key_fix"] if keyless else ""
        yield Finding("model", use, not keyless, message, fix)
