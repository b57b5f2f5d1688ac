"""load_config: a YAML file becomes Settings, or one ConfigError that lists everything wrong with it."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from plugin_host.config.document import Document, parse
from plugin_host.config.section import Trail
from plugin_host.config.settings import Settings
from plugin_host.config.source import read_text
from plugin_host.config.words import CONTAINERS, Explainer
from plugin_host.errors import ConfigError, Problem

CONFIG_NAME = "config.yaml"


def load_home(home: Path, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of a home: those of ``home/config.yaml``, or the defaults when there is no such file.

    Raises ConfigError like load_config.
    """
    path = home / CONFIG_NAME
    if not path.exists() and not path.is_symlink():
        return Settings()
    return load_config(path, environ=environ)


def load_config(path: Path, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in the file ``path``; ``${NAME}`` in any text is filled from ``environ``.

    Raises ConfigError with every problem of the file, ordered by line; also when there is no such file.
    """
    return settings_of(read_text(path), str(path), environ)


def settings_of(text: str, file: str, environ: Mapping[str, str]) -> Settings:
    """The settings in ``text``; ``file`` is what problems call it. Raises ConfigError."""
    document = parse(text, file, environ)
    problems = list(document.problems)
    try:
        settings = Settings.model_validate(document.data)
    except ValidationError as error:
        problems += Explainer(document, Settings).problems(_all_errors(document, error.errors()))
    if problems:
        # the chain is cut: pydantic's own message would print values, and some of them are secrets
        raise ConfigError(file, tuple(sorted(dict.fromkeys(problems), key=_place))) from None
    return settings


def _all_errors(document: Document, first: list[ErrorDetails]) -> list[ErrorDetails]:
    """``first`` and what a second look finds: a model's rule over several keys runs only when each key is right.

    For that look wrong values give way to their defaults; but in a top-level section where a whole list or mapping is
    wrong, or a required key missing, nothing is put aside, so that no complaint is a mere consequence of another.
    """
    stuck = {error["loc"][:1] for error in first if error["type"] in CONTAINERS | {"missing"}}
    data = copy.deepcopy(document.data)
    for error in first:
        if error["loc"][:1] not in stuck:
            _put_aside(data, error["loc"])
    try:
        Settings.model_validate(data)
    except ValidationError as error:
        known = {item["loc"] for item in first}
        return first + [item for item in error.errors() if item["loc"] not in known]
    return first


def _put_aside(data: Any, trail: Trail) -> None:
    if not trail or isinstance(trail[-1], int):
        return
    for step in trail[:-1]:
        data = data[step]
    data.pop(trail[-1], None)


def _place(problem: Problem) -> tuple[int, str]:
    return problem.line or 0, problem.path
