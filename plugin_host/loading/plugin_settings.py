"""The settings of one plugin: ``plugins.NAME`` of the config against the plugin's own model, complaints in Chinese."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from plugin_host.config.fields import is_secret
from plugin_host.config.words import expected_words
from plugin_host.loading.importing import PluginFile
from plugin_host.loading.reports import PluginRefusedError

SHOWN = 40


def settings_of(plugin: PluginFile, module: ModuleType, config: Mapping[str, Any]) -> Any:
    """An instance of the plugin's ``Settings``, or None when it has none; raises PluginRefusedError."""
    model = vars(module).get("Settings")
    if inspect.isclass(model) and issubclass(model, BaseModel):
        return _validated(plugin, model, config)
    if config:
        raise PluginRefusedError(
            plugin.name,
            f"config.yaml 的 plugins.{plugin.name} 写了 {'、'.join(map(str, config))}，但这个插件没有设置",
            file=plugin.file,
            line=1,
            fix=f"删去 plugins.{plugin.name}，或在插件里定义 class Settings(BaseModel)",
        )
    return None


def _validated(plugin: PluginFile, model: type[BaseModel], config: Mapping[str, Any]) -> BaseModel:
    try:
        return model.model_validate(dict(config))
    except ValidationError as error:
        complaints = "；".join(_complaint(plugin.name, model, one) for one in error.errors())
        raise PluginRefusedError(
            plugin.name,
            complaints,
            file=plugin.file,
            line=_line(plugin, model),
            fix="改 config.yaml 里的这些键；要求见插件里的 class Settings",
        ) from error


def _complaint(name: str, model: type[BaseModel], error: ErrorDetails) -> str:
    path = ".".join(["plugins", name, *map(str, error["loc"])])
    if error["type"] == "extra_forbidden":
        return f"{path}：没有这个键"
    if error["type"] == "missing":
        return f"{path}：缺少必填的键"
    expected = expected_words(error["type"], error.get("ctx", {}))
    return f"{path}：应为{expected}，实际是 {_shown(model, error)}"


def _shown(model: type[BaseModel], error: ErrorDetails) -> str:
    value = error["input"]
    if is_secret(model, error["loc"]) or not isinstance(value, str | int | float | bool):
        return type(value).__name__
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def _line(plugin: PluginFile, model: type[BaseModel]) -> int:
    try:
        file, line = inspect.getsourcefile(model), inspect.getsourcelines(model)[1]
    except (OSError, TypeError):
        return 1
    return line if file == plugin.file else 1
