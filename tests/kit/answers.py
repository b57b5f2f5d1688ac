"""What the fake protocol end answers to actions: accounts, members, sends, refusals, silence."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SENDING = ("send_", "upload_", "group_poke", "friend_poke", ".handle_quick_operation")


@dataclass
class Received:
    """One action as it arrived; ``time`` is monotonic seconds; ``message_id`` is set when a message was sent."""

    action: str
    params: dict[str, Any]
    time: float
    echo: Any = None
    message_id: int | None = None

    @property
    def text(self) -> str:
        """The text segments of the message joined."""
        message = self.params.get("message", "")
        if isinstance(message, str):
            return message
        return "".join(part["data"].get("text", "") for part in message if part["type"] == "text")


@dataclass
class Answers:
    """The behaviour of one end; tests change it while it runs."""

    self_id: str
    negative_ids: bool
    nickname: str = "测试机器人"
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    muted: set[str] = field(default_factory=set)
    delays: dict[str, float] = field(default_factory=dict)
    members: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        start = random.randrange(1, 2**30)
        self._ids = itertools.count(-start if self.negative_ids else start)

    def next_id(self) -> int:
        """A fresh message id; they increase."""
        return next(self._ids)

    def is_muted(self, action: str) -> bool:
        """True when this action is never answered."""
        return action in self.muted or "*" in self.muted

    def delay(self, action: str) -> float:
        """Seconds before the answer."""
        return self.delays.get(action, self.delays.get("*", 0.0))

    def answer(self, received: Received) -> dict[str, Any]:
        """Status, retcode, data, and words of a failure; sets the message id of a send."""
        refusal = self.refused.get(received.action)
        if refusal is not None:
            return {"status": "failed", "retcode": refusal[0], "data": None, "message": refusal[1]}
        if received.action in self.data:
            return _ok(self.data[received.action])
        if received.action.startswith("send_") and "poke" not in received.action:
            received.message_id = self.next_id()
            return _ok({"message_id": received.message_id})
        known: dict[str, Callable[[dict[str, Any]], Any]] = {
            "get_login_info": lambda _: {"user_id": int(self.self_id), "nickname": self.nickname},
            "get_status": lambda _: {"online": True, "good": True},
            "get_version_info": lambda _: {"app_name": "Fake.End", "app_version": "1.0", "protocol_version": "v11"},
            "get_group_member_info": self._member,
            "get_group_info": lambda p: {"group_id": int(p["group_id"]), "group_name": f"群{p['group_id']}"},
            "get_stranger_info": lambda p: {"user_id": int(p["user_id"]), "nickname": f"用户{p['user_id']}"},
            "get_group_list": lambda _: [],
            "get_friend_list": lambda _: [],
            "delete_msg": lambda _: None,
        }
        if received.action.startswith(SENDING) or received.action.startswith("set_"):
            return _ok(None)
        if received.action not in known:
            return {"status": "failed", "retcode": 1404, "data": None, "message": f"不支持的API {received.action}"}
        return _ok(known[received.action](received.params))

    def _member(self, params: dict[str, Any]) -> dict[str, Any]:
        group, user = str(params["group_id"]), str(params["user_id"])
        extra = self.members.get((group, user), {})
        base = {"group_id": int(group), "user_id": int(user), "nickname": f"用户{user}", "card": "", "role": "member"}
        return {**base, **extra}


def _ok(data: Any) -> dict[str, Any]:
    return {"status": "ok", "retcode": 0, "data": data}
