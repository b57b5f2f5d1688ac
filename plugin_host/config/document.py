"""Document: the text of a settings file as plain data, with the line of every key and the environment filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from plugin_host.config.section import Trail
from plugin_host.config.syntax import syntax_words
from plugin_host.errors import ConfigError, Problem

VALUE_LIMIT = 50_000
DEPTH_LIMIT = 32

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCALARS = (
    (_TAG + "null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    (_TAG + "bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    (_TAG + "int", r"0|-?[1-9][0-9]{0,18}", list("-0123456789")),
    (_TAG + "float", r"-?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?|\.[0-9]+", list("-.0123456789")),
    (_MERGE, r"<<", ["<"]),
)


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, pattern, starts in _SCALARS:
        for start in starts:
            table.setdefault(start, []).append((tag, re.compile(rf"(?:{pattern})\Z")))
    return table


class _Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2's plain scalars: 0123, 12:30, on, 2024-01-01 and 1_000 stay the text they are."""

    yaml_implicit_resolvers = _resolvers()


def dotted(trail: Trail) -> str:
    """A trail as people write it: ``bridge.protocol[0].url``; a key with odd characters is quoted, on one line."""
    path = ""
    for step in trail:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += ("." if path else "") + (step if re.fullmatch(r"[\w:/-]{1,80}", step) else repr(step[:80]))
    return path


@dataclass(frozen=True, slots=True)
class Document:
    """``data`` with the 1-based line of each key and item, and what was wrong before any model saw it.

    ``filled`` holds the variable names in each text filled from the environment (such a text is never shown);
    ``broken`` the trails whose value could not be made: a later complaint about them is only a consequence.
    """

    file: str
    data: dict[str, Any]
    lines: Mapping[Trail, int]
    filled: Mapping[Trail, str]
    problems: tuple[Problem, ...]
    broken: frozenset[Trail]

    def line(self, trail: Trail) -> int | None:
        """The line of the nearest key or item at or above ``trail``."""
        return next((self.lines[trail[:end]] for end in range(len(trail), -1, -1) if trail[:end] in self.lines), None)

    def problem(self, trail: Trail, message: str) -> Problem:
        """A problem at ``trail`` with its path and line."""
        return Problem(dotted(trail), message, self.line(trail), self.file)


def parse(text: str, file: str, environ: Mapping[str, str]) -> Document:
    """The document of ``text``; duplicate keys and missing variables are in its ``problems``.

    Raises ConfigError when the text is no YAML mapping, or larger or deeper than the limits.
    """
    reading = _Reading(file, environ)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        data = None if node is None else reading.value(node, ())
    except yaml.YAMLError as error:
        message, line = syntax_words(error, text)
        raise ConfigError(file, (Problem("", message, line, file),)) from None
    except RecursionError:
        raise reading.refusal((), f"嵌套太深：最多 {DEPTH_LIMIT} 层") from None
    if data is not None and not isinstance(data, dict):
        raise reading.refusal((), "最外层应为映射（键: 值），实际是列表或单个值")
    problems = tuple(dict.fromkeys(reading.problems))
    return Document(file, data or {}, reading.lines, reading.filled, problems, frozenset(reading.broken))


class _Reading:
    """One walk over the node graph; an alias counts again each time it is used, so a bomb meets the limit."""

    def __init__(self, file: str, environ: Mapping[str, str]) -> None:
        self.file = file
        self.environ = environ
        self.lines: dict[Trail, int] = {}
        self.filled: dict[Trail, str] = {}
        self.problems: list[Problem] = []
        self.broken: set[Trail] = set()
        self.count = 0

    def value(self, node: yaml.Node, trail: Trail) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(trail, line)
        self._spend(trail)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, trail)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.value(item, (*trail, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, trail)
        return self._break(trail, f"不支持的标签 {_short(node.tag)}", line)

    def refusal(self, trail: Trail, message: str) -> ConfigError:
        return ConfigError(self.file, (Problem(dotted(trail), message, self.lines.get(trail), self.file),))

    def _spend(self, trail: Trail) -> None:
        self.count += 1
        if self.count > VALUE_LIMIT:
            raise self.refusal(trail, f"内容太多：展开别名后最多 {VALUE_LIMIT} 个值")
        if len(trail) > DEPTH_LIMIT:
            raise self.refusal(trail, f"嵌套太深：最多 {DEPTH_LIMIT} 层")

    def _mapping(self, node: yaml.MappingNode, trail: Trail) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, (line, item) in self._pairs(node, trail).items():
            self.lines[(*trail, key)] = line
            result[key] = self.value(item, (*trail, key))
        return result

    def _pairs(self, node: yaml.MappingNode, trail: Trail) -> dict[str, tuple[int, yaml.Node]]:
        """Key → (its line, its node); what ``<<`` brings in yields to the mapping's own keys."""
        own: dict[str, tuple[int, yaml.Node]] = {}
        merged: dict[str, tuple[int, yaml.Node]] = {}
        for key, item in node.value:
            self._spend(trail)
            line = key.start_mark.line + 1
            if key.tag == _MERGE:
                merged = self._merged(item, trail, line) | merged
            elif not isinstance(key, yaml.ScalarNode):
                self._blame(trail, "键应为文字，实际是列表或映射", line)
            elif key.value in own:
                self._blame((*trail, key.value), f"重复的键：第 {own[key.value][0]} 行已经写过", line)
            else:
                own[key.value] = (line, item)
        return merged | own

    def _merged(self, node: yaml.Node, trail: Trail, line: int) -> dict[str, tuple[int, yaml.Node]]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        pairs: dict[str, tuple[int, yaml.Node]] = {}
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                self._blame(trail, "<< 后面应为映射的别名", line)
                return {}
            pairs = self._pairs(source, trail) | pairs
        return pairs

    def _scalar(self, node: yaml.ScalarNode, trail: Trail) -> Any:
        text: str = node.value
        match node.tag.removeprefix(_TAG):
            case "str":
                return self._fill(text, trail)
            case "null":
                return None
            case "bool" | "int" | "float" as kind if re.fullmatch(_pattern(kind), text):
                return text.lower() == "true" if kind == "bool" else int(text) if kind == "int" else float(text)
        return self._break(trail, f"不支持的标签 {_short(node.tag)}", node.start_mark.line + 1)

    def _fill(self, text: str, trail: Trail) -> str:
        names: list[str] = []

        def variable(match: re.Match[str]) -> str:
            if match[1] is None:
                return "${"
            names.append(match[1])
            return self._variable(match, trail)

        filled = _REFERENCE.sub(variable, text)
        if names:
            self.filled[trail] = "、".join(dict.fromkeys(names))
        return filled

    def _variable(self, match: re.Match[str], trail: Trail) -> str:
        name = match[1]
        if not match[2] or _VARIABLE.fullmatch(name) is None:
            self._break(trail, '环境变量应写成 "${NAME}"（字母、数字、下划线）；要原样的 ${ 请写 $${')
        elif name not in self.environ:
            self._break(trail, f"没有设置环境变量 {name[:80]}")
        return self.environ.get(name, "")

    def _blame(self, trail: Trail, message: str, line: int | None = None) -> None:
        self.problems.append(Problem(dotted(trail), message, line or self.lines.get(trail), self.file))

    def _break(self, trail: Trail, message: str, line: int | None = None) -> None:
        self._blame(trail, message, line)
        self.broken.add(trail)


def _pattern(kind: str) -> str:
    return next(pattern for tag, pattern, _ in _SCALARS if tag == _TAG + kind)


def _short(tag: str) -> str:
    return repr(tag.removeprefix(_TAG)[:40])
