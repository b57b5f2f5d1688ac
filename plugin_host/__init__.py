"""The facade: all that a plugin may import.

Typing helpers for schemas come from the standard library and pydantic: ``Annotated[int, Field(ge=1)]``, enums, Literal.
"""

from plugin_host.commands import CommandArgs
from plugin_host.context import CallContext
from plugin_host.errors import CallError
from plugin_host.hookspecs import hookimpl
from plugin_host.values import Change, Event, Private, Reply, Segment

__all__ = ["CallContext", "CallError", "Change", "CommandArgs", "Event", "Private", "Reply", "Segment", "hookimpl"]
