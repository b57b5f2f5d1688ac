"""How protocol ends of different vendors differ where a bridge can notice it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Profile:
    """One vendor's habits."""

    name: str
    user_agent: str
    refusal_code: int  # the close code after an accepted handshake with a wrong token
    header_wins: bool  # which token counts when header and query differ
    silent_paths: bool  # unknown paths are accepted, but nothing ever comes
    echo_missing: Literal["empty", "omit"]  # what an absent or null echo is answered with
    negative_ids: bool
    heartbeat: float  # seconds
    extra_answer: tuple[tuple[str, Any], ...]
    self_extra: tuple[str, ...]


NAPCAT = Profile(
    name="napcat",
    user_agent="OneBot/11",
    refusal_code=1000,
    header_wins=False,
    silent_paths=False,
    echo_missing="empty",
    negative_ids=False,
    heartbeat=30.0,
    extra_answer=(("message", ""), ("wording", ""), ("stream", "normal-action")),
    self_extra=("message_sent_type", "target_id"),
)
LLBOT = Profile(
    name="llbot",
    user_agent="LLOneBot/8.1.7",
    refusal_code=1008,
    header_wins=True,
    silent_paths=True,
    echo_missing="omit",
    negative_ids=True,
    heartbeat=60.0,
    extra_answer=(("message", ""), ("wording", "")),
    self_extra=("target_id",),
)
PROFILES = {profile.name: profile for profile in (NAPCAT, LLBOT)}
