"""Schema: a JSON Schema compiled once, whose complaints name path, expected and got in Chinese."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from plugin_host.errors import HostError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

DEPTH_LIMIT = 32
SIZE_LIMIT = 64 * 1024
COMPLAINT_LIMIT = 5

TYPE_WORDS = {
    "string": "字符串",
    "integer": "整数",
    "number": "数字",
    "boolean": "布尔值",
    "array": "数组",
    "object": "对象",
    "null": "空值",
}


class Schema:
    """The argument schema of one tool."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    @classmethod
    def checked(cls, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """Return ``document`` when it is a usable object schema; raises HostError with one sentence otherwise.

        A ``$ref`` that leaves the document is refused: the validator would fetch it from the network.
        """
        if document.get("type") != "object":
            raise HostError(f"tool {name!r}: input_schema must have type 'object', got {document.get('type')!r}")
        if len(json.dumps(document, default=str)) > SIZE_LIMIT or _depth(document) > DEPTH_LIMIT:
            raise HostError(f"tool {name!r}: input_schema is larger than {SIZE_LIMIT} bytes or {DEPTH_LIMIT} levels")
        if foreign := _foreign_reference(document):
            raise HostError(f"tool {name!r}: input_schema refers to {foreign!r} outside itself")
        # Imported here: a bot without foreign schemas and without a tool call never pays for it.
        from jsonschema import Draft202012Validator, SchemaError

        try:
            Draft202012Validator.check_schema(document)
        except SchemaError as error:
            raise HostError(f"tool {name!r}: input_schema is not valid JSON Schema: {error.message}") from error
        return document

    def complaints(self, arguments: Mapping[str, Any]) -> list[str]:
        """At most five Chinese sentences about what does not fit; empty when everything does."""
        try:
            errors = sorted(self._validator.iter_errors(arguments), key=lambda error: list(map(str, error.path)))
        except RecursionError:
            return ["参数嵌套过深，无法校验"]
        return list(dict.fromkeys(_complaint(error) for error in errors[: 2 * COMPLAINT_LIMIT]))[:COMPLAINT_LIMIT]

    @cached_property
    def _validator(self) -> Validator:
        from jsonschema import Draft202012Validator
        from referencing import Registry

        validator: Validator = Draft202012Validator(self.document, registry=Registry())
        return validator


def _complaint(error: ValidationError) -> str:
    path = ".".join(str(step) for step in error.absolute_path) or "参数"
    got = _short(error.instance)
    wording = _WORDINGS.get(str(error.validator))
    if wording is None:
        return f"{path} 不符合 {error.validator} 规则，实际是 {got}"
    return str(wording(path, error, got))


def _choices(path: str, error: Any, got: str) -> str:
    """``anyOf`` and ``oneOf``: what the only choice of the right type complains of, or all types, or all complaints."""
    choices: dict[Any, list[Any]] = {}
    for inner in error.context:
        choices.setdefault(inner.relative_schema_path[0], []).append(inner)
    wrong_type = [found[0] for found in choices.values() if _is_wrong_type(found[0])]
    of_right_type = [found for found in choices.values() if not _is_wrong_type(found[0])]
    if len(of_right_type) == 1:
        return "；".join(_complaint(inner) for inner in of_right_type[0][:COMPLAINT_LIMIT])
    if choices and not of_right_type:
        words = dict.fromkeys(_type_words(inner.validator_value) for inner in wrong_type)
        return f"{path} 应为{'或'.join(words)}，实际是 {got}"
    told = "；".join(dict.fromkeys(_complaint(found[0]) for found in of_right_type[:COMPLAINT_LIMIT]))
    return f"{path} 不符合任何一种写法，实际是 {got}" + (f"（{told}）" if told else "")


def _is_wrong_type(error: Any) -> bool:
    return str(error.validator) == "type" and not error.relative_path


def _type_words(expected: Any) -> str:
    names = expected if isinstance(expected, list) else [expected]
    return "或".join(TYPE_WORDS.get(str(name), str(name)) for name in names)


def _missing(path: str, error: Any, got: str) -> str:
    names = [name for name in error.validator_value if name not in error.instance]
    return f"缺少必需参数 {'、'.join(names)}{_within(path)}"


def _extra(path: str, error: Any, got: str) -> str:
    known = set(error.schema.get("properties", {}))
    names = sorted(str(name) for name in set(error.instance) - known)
    return f"没有参数 {'、'.join(names)}{_within(path)}；可用参数：{'、'.join(sorted(known)) or '无'}"


def _within(path: str) -> str:
    return "" if path == "参数" else f"（在 {path} 中）"


_WORDINGS: dict[str, Any] = {
    "type": lambda path, error, got: f"{path} 应为{_type_words(error.validator_value)}，实际是 {got}",
    "enum": lambda path, error, got: f"{path} 应为 {_short(error.validator_value)} 之一，实际是 {got}",
    "const": lambda path, error, got: f"{path} 应为 {_short(error.validator_value)}，实际是 {got}",
    "minimum": lambda path, error, got: f"{path} 不能小于 {error.validator_value}，实际是 {got}",
    "maximum": lambda path, error, got: f"{path} 不能大于 {error.validator_value}，实际是 {got}",
    "exclusiveMinimum": lambda path, error, got: f"{path} 必须大于 {error.validator_value}，实际是 {got}",
    "exclusiveMaximum": lambda path, error, got: f"{path} 必须小于 {error.validator_value}，实际是 {got}",
    "minLength": lambda path, error, got: f"{path} 至少 {error.validator_value} 个字符，实际是 {got}",
    "maxLength": lambda path, error, got: f"{path} 至多 {error.validator_value} 个字符，实际 {len(error.instance)} 个",
    "minItems": lambda path, error, got: f"{path} 至少 {error.validator_value} 项，实际 {len(error.instance)} 项",
    "maxItems": lambda path, error, got: f"{path} 至多 {error.validator_value} 项，实际 {len(error.instance)} 项",
    "required": _missing,
    "additionalProperties": _extra,
    "anyOf": _choices,
    "oneOf": _choices,
}


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


def _depth(value: Any, level: int = 1) -> int:
    if level > DEPTH_LIMIT:
        return level
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return max((_depth(child, level + 1) for child in children), default=level)


def _foreign_reference(value: Any) -> str:
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            return reference
        return next((found for child in value.values() if (found := _foreign_reference(child))), "")
    if isinstance(value, list):
        return next((found for child in value if (found := _foreign_reference(child))), "")
    return ""
