"""Walking the settings models: which field a key path means, and every field there is."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from plugin_host.config.section import Trail


@dataclass(frozen=True, slots=True)
class FieldAt:
    """One field of the settings tree; a list of models adds the step ``[]`` to the path of what is inside it."""

    path: str
    info: FieldInfo
    section: type[BaseModel] | None
    repeated: bool


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models that occur anywhere in a type: itself, or inside a tuple, mapping or Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in models_in(part)]


def every_field(model: type[BaseModel], prefix: str = "") -> Iterator[FieldAt]:
    """Each field below ``model``, parents first, in the order in which the models declare them."""
    for name, info in model.model_fields.items():
        path = prefix + name
        section = next(iter(models_in(info.annotation)), None)
        repeated = section is not None and section is not info.annotation
        yield FieldAt(path, info, section, repeated)
        if section is not None:
            yield from every_field(section, path + ("[]." if repeated else "."))


def section_at(model: type[BaseModel], trail: Trail) -> type[BaseModel] | None:
    """The model that the mapping at ``trail`` becomes, or None when it is free."""
    section: type[BaseModel] | None = model
    for step in trail:
        if isinstance(step, int):
            continue
        info = None if section is None else section.model_fields.get(step)
        section = None if info is None else next(iter(models_in(info.annotation)), None)
    return section


def is_secret(model: type[BaseModel], trail: Trail) -> bool:
    """Whether the value at ``trail`` must never be shown: it or a parent is a secret or kept out of repr."""
    section: type[BaseModel] | None = model
    for step in trail:
        if isinstance(step, int):
            continue
        info = None if section is None else section.model_fields.get(step)
        if info is None:
            return False
        if not info.repr or _holds_secret(info.annotation):
            return True
        section = next(iter(models_in(info.annotation)), None)
    return False


def _holds_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(_holds_secret(part) for part in typing.get_args(annotation))
