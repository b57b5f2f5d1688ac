"""Catalogue: which plugins lie on disk, built-in and at home, and which of them have a name they may not have."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from plugin_host.config.settings import PluginSettings
from plugin_host.loading.importing import PluginFile, builtin_files, home_files, same_folder
from plugin_host.loading.reports import PluginRefusedError

# The host's own owner name, and the host's own keys below ``plugins`` in the config.
RESERVED = frozenset({"host", *PluginSettings.model_fields})


class Catalogue:
    """The plugin files of one host; the disk is read at each question."""

    def __init__(self, settings: PluginSettings, home: Path | None, builtin: str) -> None:
        self._settings = settings
        self._package = builtin
        self.home_is_builtin = home is not None and same_folder(home, builtin)
        self._home = None if self.home_is_builtin else home

    def builtin(self) -> list[PluginFile]:
        """The built-in plugins in order of name, without those that the home replaces."""
        return [one for one in builtin_files(self._package) if not self.replaces(one.name)]

    def home(self, suffixes: Iterable[str] = ()) -> list[PluginFile]:
        """The plugins of the home in order of name, then its files with one of the other suffixes."""
        return [] if self._home is None else home_files(self._home, suffixes)

    def every(self, suffixes: Iterable[str] = ()) -> list[PluginFile]:
        """All of them."""
        return [*self.builtin(), *self.home(suffixes)]

    def replaces(self, name: str) -> bool:
        """True when the home's plugin of that name takes the place of the built-in one."""
        wanted = self._settings.of(name).get("replace") is True
        return wanted and any(one.name == name for one in self.home())

    def config(self, name: str) -> dict[str, Any]:
        """What ``config.yaml`` says under ``plugins.NAME`` for the plugin itself."""
        return {key: value for key, value in self._settings.of(name).items() if key != "replace"}

    def check_name(self, plugin: PluginFile) -> None:
        """Raises PluginRefusedError when the plugin may not have its name."""
        if plugin.is_python and (not plugin.name.isidentifier() or keyword.iskeyword(plugin.name)):
            reason, fix = f"{plugin.name!r} 不能作插件名", "文件名只用字母、数字、下划线，不以数字开头"
        elif plugin.name in RESERVED:
            reason, fix = f"{plugin.name} 是程序自己用的名字", "给文件改名"
        elif plugin.origin == "plugin" and any(one.name == plugin.name for one in self.builtin()):
            reason = f"已有内置插件 {plugin.name}"
            fix = f"给文件改名；要代替内置的，在 config.yaml 写 plugins.{plugin.name}.replace: true"
        elif plugin.path.suffix and any(one.name == plugin.name and one.path.is_dir() for one in self.every()):
            reason, fix = f"文件与文件夹同名：{plugin.name}", "删去或改名其中一个"
        else:
            return
        raise PluginRefusedError(plugin.name, reason, file=plugin.file, line=1, fix=fix)
