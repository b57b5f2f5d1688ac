"""Words: what follows ``.ai <sub>``, split into plain words and ``--name=value`` options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from plugin_host import CallError

PER_PAGE = 30

# A value may stand in straight or Chinese quotes, or be a JSON list or object with blanks in it. Quotes inside a word
# are part of the word (it's, 他说“好”).
_TOKEN = re.compile(
    r"""(?P<head>[^\s="'“‘]+=)?
        (?: "(?P<double>(?:\\.|[^"\\])*)" | '(?P<single>[^']*)' | “(?P<chinese>[^”]*)” | ‘(?P<chinese_single>[^’]*)’
          | (?P<json>(?<==)(?:\[[^\n]{0,1000}?\]|\{[^\n]{0,1000}?\})) )(?=\s|$)
        | (?P<word>\S+)""",
    re.VERBOSE,
)
_OPTION = re.compile(r"(?:--|——|－－|––|—|-(?=p=))(?P<name>[^=\s]+)(?:=(?P<value>.*))?", re.DOTALL)
_JSON = re.compile(r"(?:^|\s)(?:--|——|－－|––|—)json(?:=|\s)\s*(?=['\"‘“]?\s*[{｛\[])")
_QUOTED = re.compile(r"(?s)'(.*)'|‘(.*)’|\"(\s*\{.*\}\s*)\"|“(.*)”")


@dataclass(frozen=True, slots=True)
class Words:
    """``plain`` words in order; ``options`` by name without dashes, "" for one without a value."""

    plain: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """The first plain word, or an empty text."""
        return self.plain[0] if self.plain else ""

    def option(self, *names: str) -> str | None:
        """The value of the first of these options that was given, or None."""
        return next((self.options[name] for name in names if name in self.options), None)

    def after(self, count: int = 1) -> Words:
        """The same words without the first ``count`` plain ones."""
        return Words(self.plain[count:], self.options)

    def expect(self, most: int, *options: str) -> None:
        """Raise CallError with a sentence when there are more plain words or other options than these."""
        if extra := self.plain[most:]:
            raise CallError(f"多余的参数：{' '.join(extra)[:100]}", code="extra_words")
        if unknown := [name for name in self.options if name not in options]:
            known = "、".join(f"--{name}" for name in options) or "无"
            raise CallError(f"没有选项 --{unknown[0][:40]}；可用选项：{known}", code="unknown_option")


def words_of(text: str) -> Words:
    """Split at blanks; quotes (Chinese ones too) keep blanks together, an unclosed one is plain text.

    ``--k=v`` keeps the value as text, ``--k`` has an empty one. What follows ``--json`` is one value to the end.
    """
    options: dict[str, str] = {}
    if found := _JSON.search(text):
        options["json"] = _unquoted(text[found.end() :].strip())
        text = text[: found.start()]
    plain: list[str] = []
    for token in _TOKEN.finditer(text):
        head, value = _parts(token)
        option = _OPTION.fullmatch(head + value) if head or token["word"] else None
        if option is None:
            plain.append(head + value)
        else:
            options[option["name"]] = option["value"] or ""
    return Words(tuple(plain), options)


def page_of(words: Words) -> int:
    """The page that ``--page`` or ``-p`` asks for, 1 without one; raises CallError with a Chinese sentence."""
    text = words.option("page", "p")
    if text is None:
        return 1
    if not re.fullmatch(r"[+-]?\d{1,9}", text):
        raise CallError("页码必须为数字", code="invalid_page")
    if (page := int(text)) < 1:
        raise CallError("页码必须大于等于1", code="invalid_page")
    return page


def paged(lines: list[str], page: int, per_page: int = PER_PAGE) -> list[str]:
    """The lines of one page, with a last line that says which page of how many; raises CallError past the end."""
    pages = max(1, -(-len(lines) // per_page))
    if page > pages:
        raise CallError(f"页码超出范围：共 {pages} 页", code="invalid_page")
    shown = lines[(page - 1) * per_page : page * per_page]
    return shown if pages == 1 else [*shown, f"第 {page}/{pages} 页，用 --page=N 翻页"]


def _parts(token: re.Match[str]) -> tuple[str, str]:
    if token["word"] is not None:
        return "", token["word"]
    if token["double"] is not None:
        return token["head"] or "", re.sub(r'\\(["\\])', r"\1", token["double"])
    value = next(token[name] for name in ("single", "chinese", "chinese_single", "json") if token[name] is not None)
    return token["head"] or "", value


def _unquoted(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    return next(part for part in quoted.groups() if part is not None) if quoted else text
