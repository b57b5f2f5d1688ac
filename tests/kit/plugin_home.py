"""A home's plugin folder for tests: files written from short texts, a loader on it, a context to call with."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plugin_host.config.settings import PluginSettings
from plugin_host.context import CallContext, Effects
from plugin_host.errors import ServiceMissingError
from plugin_host.loading.loader import Loader
from plugin_host.loading.reports import PluginReport
from plugin_host.registry import Registry
from plugin_host.values import Event, Reply, Segment

NO_BUILTIN = "tests.kit.no_plugins"


class PluginHome:
    """A folder of home plugins and the registry that its loader fills; built-in plugins only when asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = Registry()
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str) -> Path:
        """Write ``text`` (dedented, with the facade's names imported) as ``name`` below the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"from plugin_host import *\n{textwrap.dedent(text)}", encoding="utf-8")
        return path

    def forget(self) -> None:
        """Take every home plugin out of ``sys.modules``: the next test has plugins of the same names."""
        for name in [name for name in sys.modules if name.startswith("home_plugins.")]:
            del sys.modules[name]

    def loader(
        self,
        builtin: str = NO_BUILTIN,
        switches: Mapping[str, bool] | None = None,
        **settings: Any,
    ) -> Loader:
        """A loader on the folder that has loaded nothing yet; ``settings`` as under ``plugins`` in the config."""
        settings.setdefault("import_limit", 5.0)
        return Loader(self.registry, PluginSettings(**settings), self.folder, builtin, switches)


def report_of(loader: Loader, name: str) -> PluginReport:
    """The one report of that name."""
    [report] = [one for one in loader.reports if one.name == name]
    return report


class ServicePort:
    """The host's side of a context that offers services only."""

    def __init__(self, services: Mapping[str, Any]) -> None:
        self._services = services

    def service(self, name: str) -> Any:
        if name not in self._services:
            raise ServiceMissingError(f"没有服务 {name}")
        return self._services[name]


def context(level: int = 0, services: Mapping[str, Any] | None = None, **fields: Any) -> CallContext:
    """A context of somebody in group 100."""
    values: dict[str, Any] = {
        "session": "group:100",
        "platform": "QQ",
        "self_id": "1",
        "user_id": "1001",
        "name": "小明",
        "role": "member",
        "level": level,
        "surface": "group",
        "request_id": "r",
        "sent_at": "2026-05-01T12:00:00.000Z",
        "deadline": 0.0,
        "turn": "t",
        "door": "QQ:1",
        "cancel": asyncio.Event(),
        "effects": Effects(),
        "port": ServicePort(services or {}),
    }
    return CallContext(**(values | fields))


def event(text: str = "hello") -> Event:
    """A group message."""
    return Event("k", "message", "group:100", text=text)


def reply(text: str = "hello", **fields: Any) -> Reply:
    """A reply to the group."""
    return Reply("group:100", (Segment.text(text),), **fields)
