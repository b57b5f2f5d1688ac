"""The plugin contract: the markers and the thirteen hook specifications, nothing else.

An implementation may take fewer arguments than its specification. The ``register…`` hooks, ``tables``, ``services``,
``loaders`` and ``cli`` run once, at load; the others run while the bot runs. See docs/plugins.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from plugin_host.calls import ToolCall, ToolResult
    from plugin_host.commands import Command
    from plugin_host.tools import Tool
    from plugin_host.values import Event, Reply

PROJECT = "plugin_host"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_tools(register: Callable[..., Tool]) -> None:
    """Offer tools: ``register(function, group="dice", sensitive=True, …)`` for each."""


@hookspec
def register_commands(register: Callable[..., Command]) -> None:
    """Offer chat commands: ``register(function, words=("jrrp", "luck"), …)`` for each."""


@hookspec
def tables(register: Callable[..., None]) -> None:
    """Own SQL tables: ``register(table, …, migrations=[function, …])``; the order of migrations never changes."""


@hookspec
def services(register: Callable[[str, Any], None]) -> None:
    """Offer a named service: ``register("dice", value)``; others reach it by ``ctx.service("dice")``."""


@hookspec
def loaders(register: Callable[..., None]) -> None:
    """Load plugins written in another language: ``register(".js", load)``.

    ``load(path, contribution)`` registers what the file offers by ``contribution.tool`` and ``contribution.command``,
    raises any exception to refuse the file, and may return a function that is called when the file is unloaded.
    """


@hookspec
def cli(register: Callable[..., None]) -> None:
    """Offer a sub-command of the command line: ``register("name", function, help="one line")``."""


@hookspec
def startup(host: Any) -> None:
    """Once all plugins are loaded, in load order. May be async; a plain function runs in a thread of its own."""


@hookspec
def shutdown(host: Any) -> None:
    """Before the host stops or the plugin goes, in reverse load order. May be async."""


@hookspec
def should_handle(event: Event) -> bool | None:
    """Whether to handle an event at all; never async. The first answer wins: False drops it, None = no opinion."""


@hookspec
def on_event(event: Event) -> None:
    """See every event, also those that nothing handles (one event may be seen twice after a crash). May be async."""


@hookspec
def prompt_sections(event: Event) -> str | list[str] | None:
    """Paragraphs for the system prompt of the turn that ``event`` started. May be async."""


@hookspec
def before_send(reply: Reply) -> Reply | bool | None:
    """Change a reply (return the new one), drop it (False) or have no opinion (None). May be async.

    Session, addressee and hiding stay as they are: a reply that changes them is refused.
    """


@hookspec
def call_finished(call: ToolCall, result: ToolResult) -> None:
    """Observe a tool call that has its result. May be async."""
