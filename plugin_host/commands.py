"""Command: trigger words that point at a function; and how a line of chat finds its command."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from plugin_host.context import CallContext
from plugin_host.errors import HostError
from plugin_host.tools import Source

WORD_LIMIT = 32


@dataclass(frozen=True, slots=True)
class CommandArgs:
    """What follows the word: ``rest`` is the text behind it (trimmed), ``at`` the ids of people mentioned."""

    word: str
    rest: str
    at: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """``rest`` split at blanks."""
        return self.rest.split()


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``glued``: its argument may follow without a blank (``.r3d6``). ``level``: of the person.

    ``always``: it answers also where ``.bot off`` silenced the others. A function that returns False says "not mine":
    the next shorter word is tried.
    """

    name: str
    words: tuple[str, ...]
    function: Callable[..., object]
    source: Source
    summary: str = ""
    help: str = ""
    level: int = 0
    glued: bool = False
    always: bool = False
    timeout: float | None = None
    context_parameter: str | None = None
    text_parameter: str | None = None
    args_parameter: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A command that a line addresses, with what follows its word."""

    command: Command
    args: CommandArgs


def command_from_function(
    function: Callable[..., object],
    *,
    words: Iterable[str],
    source: Source,
    name: str | None = None,
    summary: str | None = None,
    help: str | None = None,  # the word every author expects here
    **options: typing.Any,
) -> Command:
    """Make a Command of a function with at most a CallContext, one ``str`` (the rest) or one CommandArgs parameter.

    Raises HostError with one sentence when words or signature do not fit.
    """
    listed = (words,) if isinstance(words, str) else tuple(words)
    if not listed or any(not _is_word(word) for word in listed):
        raise HostError(f"command words {listed!r} must be 1 to {WORD_LIMIT} characters without blanks")
    found = _parameters(function)
    doc = inspect.cleandoc(function.__doc__ or "")
    unknown = set(options) - set(Command.__dataclass_fields__)
    if unknown:
        raise HostError(f"command {listed[0]!r}: unknown option(s) {', '.join(sorted(unknown))}")
    return Command(
        name=name or listed[0],
        words=tuple(word.casefold() for word in listed),
        function=function,
        source=source,
        summary=summary or doc.partition("\n")[0],
        help=help or doc,
        **found,
        **options,
    )


def _is_word(word: object) -> bool:
    return isinstance(word, str) and 0 < len(word) <= WORD_LIMIT and not any(c.isspace() for c in word)


def _parameters(function: Callable[..., object]) -> dict[str, typing.Any]:
    roles: dict[object, str] = {CallContext: "context_parameter", str: "text_parameter", CommandArgs: "args_parameter"}
    try:
        hints = typing.get_type_hints(function)
    except Exception as error:
        raise HostError(f"command function {function!r}: annotations cannot be resolved: {error}") from error
    found: dict[str, typing.Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        role = roles.get(hints.get(parameter.name))
        if role is None or role in found:
            raise HostError(
                f"command function {getattr(function, '__name__', function)!r}: parameter {parameter.name!r} must be "
                "annotated CallContext, str (the rest of the line) or CommandArgs, each at most once"
            )
        found[role] = parameter.name
    return found


def strip_prefix(text: str, prefixes: Iterable[str]) -> str | None:
    """The text behind a command prefix, or None when it begins with none of them."""
    stripped = text.lstrip()
    for prefix in prefixes:
        if stripped.startswith(prefix) and len(stripped) > len(prefix):
            return stripped[len(prefix) :].lstrip()
    return None


def matches(line: str, words: Mapping[str, Command], longest: int) -> Iterable[tuple[str, Command]]:
    """Yield (word, command) whose word begins ``line``, longest word first."""
    for length in range(min(len(line), longest), 0, -1):
        word = line[:length].casefold()
        command = words.get(word)
        if command is not None and (command.glued or _ends_word(line, length)):
            yield word, command


def _ends_word(line: str, length: int) -> bool:
    if length >= len(line):
        return True
    before, after = line[length - 1], line[length]
    wordlike = after.isascii() and (after.isalnum() or after == "_")
    return not (wordlike and before.isascii())
