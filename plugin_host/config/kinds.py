"""How a settings field is described to people: its type in Chinese, its default as YAML."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from plugin_host.config.section import Shape

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_/]*")
_SCALARS: Mapping[Any, str] = {
    bool: "true 或 false",
    int: "整数",
    float: "数字",
    str: "字符串",
    SecretStr: "密文",
    Any: "任意值",
}


def type_words(info: FieldInfo) -> str:
    """The type of a field in words, with its range."""
    return _words(info.annotation, info.metadata)


def yaml_default(info: FieldInfo) -> str:
    """The default of a field as YAML; 必填 when there is none."""
    if info.is_required():
        return "必填"
    return yaml_value(info.get_default(call_default_factory=True, validated_data={}))


def yaml_value(value: Any) -> str:
    """A settings value as YAML on one line; a text is quoted unless it is a plain word."""
    if isinstance(value, SecretStr):
        return yaml_value(value.get_secret_value())
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, tuple | list | frozenset):
        return json.dumps([*value], ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def _words(annotation: Any, metadata: Iterable[Any]) -> str:
    marks = list(_flat(metadata))
    shape = next((mark for mark in marks if isinstance(mark, Shape)), None)
    if shape is not None:
        return shape.words
    if typing.get_origin(annotation) is Annotated:
        inner, *more = typing.get_args(annotation)
        return _words(inner, [*more, *marks])
    if annotation in _SCALARS:
        return _range(marks) + _SCALARS[annotation]
    return _compound(annotation)


def _compound(annotation: Any) -> str:
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return "、".join(parts) + " 之一"
    if origin is dict:
        return f"映射，值：{_words(parts[1], ())}"
    if origin in (tuple, frozenset):
        return f"列表，每项：{_words(parts[0], ())}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "映射"
    raise TypeError(f"no words for the settings type {annotation!r}")


def _range(marks: Iterable[Any]) -> str:
    bounds = {type(mark): yaml_value(_bound(mark)) for mark in marks if isinstance(mark, Ge | Gt | Le)}
    if Ge in bounds and Le in bounds:
        return f"{bounds[Ge]} 到 {bounds[Le]} 的"
    if Gt in bounds and Le in bounds:
        return f"大于 {bounds[Gt]}、不超过 {bounds[Le]} 的"
    if bounds:
        raise TypeError(f"a settings number is bounded on both sides; got {bounds}")
    return ""


def _bound(mark: Ge | Gt | Le) -> Any:
    if isinstance(mark, Ge):
        return mark.ge
    return mark.gt if isinstance(mark, Gt) else mark.le


def _flat(metadata: Iterable[Any]) -> Iterable[Any]:
    for mark in metadata:
        if isinstance(mark, FieldInfo):
            yield from _flat(mark.metadata)
        else:
            yield mark
