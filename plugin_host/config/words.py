"""What pydantic complains about, as problems in Chinese: key path, line, what was expected, what came."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from plugin_host.config.document import Document
from plugin_host.config.fields import every_field, is_secret, section_at
from plugin_host.config.section import Trail
from plugin_host.errors import Problem

SHOWN = 40
LIST = "列表（写成 [甲, 乙]，或每行一个 - 开头）"
MAPPING = "映射（键: 值）"
EXPECTED: Mapping[str, str] = {
    "string_type": "字符串（像数字或 true 的要加引号）",
    "int_type": "整数",
    "int_parsing": "整数",
    "int_parsing_size": "整数",
    "int_from_float": "整数",
    "float_type": "数字",
    "float_parsing": "数字",
    "finite_number": "有限的数字",
    "bool_type": "true 或 false",
    "bool_parsing": "true 或 false",
    "greater_than_equal": "不小于 {ge} 的数",
    "greater_than": "大于 {gt} 的数",
    "less_than_equal": "不大于 {le} 的数",
    "less_than": "小于 {lt} 的数",
    "tuple_type": LIST,
    "frozen_set_type": LIST,
    "dict_type": MAPPING,
    "model_type": MAPPING,
    "shape": "{words}",
}
CONTAINERS = frozenset({"tuple_type", "frozen_set_type", "dict_type", "model_type"})
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "布尔值"),
    (int, "整数"),
    (float, "小数"),
    (str, "字符串"),
    (dict, "映射"),
    (list, "列表"),
)


class Explainer:
    """Turns the errors of one document into problems; ``model`` is the root of the settings."""

    def __init__(self, document: Document, model: type[BaseModel]) -> None:
        self.document = document
        self.model = model

    def problems(self, errors: list[ErrorDetails]) -> Iterator[Problem]:
        """One problem per mistake, none for a value that the document already complains about."""
        for error in errors:
            trail = error["loc"]
            if trail in self.document.broken:
                continue
            for place, message in self._messages(trail, error):
                yield self.document.problem(place, message)

    def _messages(self, trail: Trail, error: ErrorDetails) -> Iterator[tuple[Trail, str]]:
        kind, context = error["type"], error.get("ctx", {})
        if kind == "extra_forbidden":
            yield trail, self._unknown_key(trail)
        elif kind == "missing":
            yield trail, "缺少必填的键"
        elif kind == "faults":
            for below, expected in context["faults"]:
                yield (*trail, *below), f"应为{expected}，实际是{self._shown((*trail, *below))}"
        else:
            got = self._kind_at(trail) if kind in CONTAINERS else self._shown(trail)
            yield trail, f"应为{expected_words(kind, context)}，实际是{got}"

    def _unknown_key(self, trail: Trail) -> str:
        key = str(trail[-1])
        section = section_at(self.model, trail[:-1])
        near = difflib.get_close_matches(key, list(section.model_fields) if section else [], n=1)
        if near:
            return f"没有这个键；是不是 {near[0]}？"
        places = [field.path for field in every_field(self.model) if field.path.rpartition(".")[2] == key]
        if places:
            return f"没有这个键；它应写在 {' 或 '.join(places[:3])}（检查缩进）"
        return "没有这个键" + (f"；这里可以写：{'、'.join(section.model_fields)}" if section else "")

    def _shown(self, trail: Trail) -> str:
        """Kind and value of what was written; only the kind of a secret or of a value from the environment."""
        if names := self.document.filled.get(trail):
            return f"环境变量 {names} 里的值（不显示）"
        value = self._value(trail)
        if isinstance(value, list | dict) or value is None or is_secret(self.model, trail):
            return self._kind_at(trail)
        text = str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
        return f"{self._kind_at(trail)} {text if len(text) <= SHOWN else text[:SHOWN] + '…'}"

    def _kind_at(self, trail: Trail) -> str:
        value = self._value(trail)
        return next((words for kind, words in _KINDS if isinstance(value, kind)), "空值")

    def _value(self, trail: Trail) -> Any:
        value: Any = self.document.data
        for step in trail:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def expected_words(kind: str, context: Mapping[str, Any]) -> str:
    """What a pydantic error type wanted, in words."""
    if kind == "literal_error":
        return "、".join(re.findall(r"'([^']*)'", str(context["expected"]))) + " 之一"
    if kind == "value_error":
        return str(context["error"])
    readable = {name: _number(value) for name, value in context.items()}
    return EXPECTED.get(kind, f"别的值（{kind}）").format_map(readable)


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
