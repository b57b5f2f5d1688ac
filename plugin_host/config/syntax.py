"""What the YAML scanner and parser complain about, in words an owner understands; file content is never quoted."""

from __future__ import annotations

import re

import yaml
from yaml.reader import ReaderError

UNQUOTED_REFERENCE = '${…} 在 {} 或 [] 里必须加引号：写成 "${变量名}"'
OTHER = "YAML 写法有误，检查缩进、引号、冒号和括号"
WORDS: tuple[tuple[str, str], ...] = (
    (r"found character '\\t'", "缩进不能用 Tab，请改用空格"),
    (r"found character", "这个字符不能放在值的开头，请给整个值加引号"),
    (r"mapping values are not allowed", "这里不该有冒号：检查上一行的缩进；值里有冒号时要加引号"),
    (r"could not find expected ':'", "键后面缺冒号和空格（写成 键: 值）"),
    (r"found unexpected end of stream", "引号没有闭合"),
    (r"found undefined alias", "用了没有定义过的别名（*名字）；以 * 开头的值要加引号"),
    (r"second occurrence", "同一个锚点（&名字）定义了两次"),
    (r"found another document", "一个文件只能有一份设置（多了一个 ---）"),
    (r"found unknown escape character", "双引号里的反斜杠要写成 \\\\，或者改用单引号"),
    (r"expected <block end>", "缩进和上面的行没有对齐"),
    (r"expected ',' or '[\]}]'", "括号没有闭合，或者缺逗号"),
)


def syntax_words(error: yaml.YAMLError, text: str) -> tuple[str, int | None]:
    """(what is wrong, 1-based line or None) for an error that yaml raised while reading ``text``."""
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"有不能出现的字符（U+{ord(text[error.position]):04X}）", line
    mark = error.problem_mark or error.context_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return OTHER, None
    if text[mark.index - 1 : mark.index + 1] == "${":
        return UNQUOTED_REFERENCE, mark.line + 1
    problem = error.problem or ""
    words = next((words for pattern, words in WORDS if re.search(pattern, problem)), OTHER)
    return _with_colon_hint(words, text, _blamed_line(error, mark))


def _blamed_line(error: yaml.MarkedYAMLError, mark: yaml.Mark) -> int:
    """Where the mistake was made: an unclosed quote, bracket or key begins earlier than the parser notices."""
    opened_earlier = ("quoted scalar", "flow ", "simple key")
    if error.context_mark is not None and any(word in (error.context or "") for word in opened_earlier):
        return error.context_mark.line + 1
    return mark.line + 1


def _with_colon_hint(words: str, text: str, line: int) -> tuple[str, int]:
    """A key whose colon is full-width or has no space behind it makes YAML stumble on that line or on the next."""
    rows = text.splitlines()
    for number in (line, line - 1):
        row = rows[number - 1] if 0 < number <= len(rows) else ""
        if re.match(r"\s*(?:- )?\w+：", row):
            return f"{words}；这一行用了全角冒号，请改成半角冒号加空格", number
        if re.match(r"\s*(?:- )?\w+:[^\s:/]", row):
            return f"{words}；这一行的冒号后面缺一个空格", number
    return words, line
