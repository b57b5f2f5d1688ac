"""Standing: what a session and a person may do before anything of theirs is handled. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from plugin_host.config.settings import Settings
from plugin_host.values import Event, Role, side_of

MASTER, OWNER, ADMIN, INVITER = 100, 60, 50, 40
TERMINAL = "terminal:"


@dataclass(frozen=True, slots=True)
class Standing:
    """A session's switches: ``level`` 1 = allowed to use AI, ``ai`` = it answers, ``bot`` = anything answers at all."""

    level: int
    ai: bool
    bot: bool


def standing_of(session: str, door: str, flags: Mapping[str, Any], settings: Settings) -> Standing:
    """The session's flags over its defaults.

    A new group is off and not allowed; a private chat starts allowed and on unless ``ai.private`` is false; a terminal
    starts allowed and on.
    """
    if door.startswith(TERMINAL):
        default = Standing(1, True, True)
    elif side_of(session) == "group":
        default = Standing(1 if settings.ai.open_groups == "all" else 0, False, True)
    else:
        default = Standing(int(settings.ai.private), settings.ai.private, True)
    return Standing(
        level=int(flags.get("level", default.level)),
        ai=bool(flags.get("ai", default.ai)),
        bot=bool(flags.get("bot", default.bot)),
    )


def level_of(user_id: str | None, role: Role, settings: Settings) -> int:
    """The privilege of a person in a session: 100 master, 60 group owner, 50 group admin, 0 otherwise."""
    if user_id is not None and user_id in settings.masters:
        return MASTER
    return {"owner": OWNER, "admin": ADMIN}.get(role, 0)


Intent = Literal["turn", "record", "nothing"]


def intent_of(event: Event, standing: Standing) -> Intent:
    """What a message that is no command asks for: an AI turn, a place in the history, or nothing."""
    if event.kind != "message" or standing.level < 1 or not standing.ai or not standing.bot:
        return "nothing"
    return "turn" if event.addressed and event.text.strip() else "record"


def worth_keeping(event: Event, standing: Standing, *, is_command: bool) -> bool:
    """Whether an event enters the inbox: meta events never, a message only when something will come of it."""
    if event.kind == "meta":
        return False
    if event.kind != "message":
        return event.kind in ("internal", "timer")
    return is_command or event.addressed or intent_of(event, standing) != "nothing"
