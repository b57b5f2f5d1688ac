"""The frames that the bridge writes itself: answers, lifecycle, heartbeats, and calls of its own."""

from __future__ import annotations

import importlib.metadata
import time

import msgspec

from bridge.account import Account

APP_NAME = "plugin-host-bridge"

BAD_CALL = 1400  # no action in the frame
SILENT = 1408  # the protocol end did not answer in time
GONE = 1424  # no protocol end is connected
BUSY = 1429  # too much is waiting already
TOKEN_REFUSALS = frozenset({1401, 1403})  # how some ends say "wrong token" inside an accepted WebSocket

LOCAL_ACTIONS = frozenset({"get_login_info", "get_status", "get_version_info"})


def ok_answer(data: bytes, echo: bytes) -> bytes:
    """A successful answer; ``data`` is JSON, ``echo`` JSON or empty for none."""
    return _answer("ok", 0, data, echo, "")


def failed_answer(retcode: int, message: str, echo: bytes) -> bytes:
    """A failure that the bridge reports itself."""
    return _answer("failed", retcode, b"null", echo, message)


def local_data(account: Account, action: str) -> bytes:
    """The ``data`` of one of LOCAL_ACTIONS from what is known while no protocol end can be asked."""
    if action == "get_login_info":
        return account.login or _json({"user_id": _number(account.self_id), "nickname": ""})
    if action == "get_version_info":
        return account.version or _json({"app_name": APP_NAME, "app_version": _version(), "protocol_version": "v11"})
    return _json({"online": False, "good": False})


def lifecycle(self_id: str) -> bytes:
    """The event without which some cores never wake up."""
    return _meta(self_id, meta_event_type="lifecycle", sub_type="connect")


def heartbeat(self_id: str, online: bool, interval: float) -> bytes:
    """A sign of life; ``interval`` in seconds (milliseconds on the wire)."""
    status = {"online": online, "good": online}
    return _meta(self_id, meta_event_type="heartbeat", status=status, interval=int(interval * 1000))


def _version() -> str:
    try:
        return importlib.metadata.version("plugin-host")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return "0"


def _meta(self_id: str, **fields: object) -> bytes:
    return _json({"time": int(time.time()), "self_id": _number(self_id), "post_type": "meta_event", **fields})


def _answer(status: str, retcode: int, data: bytes, echo: bytes, message: str) -> bytes:
    body: dict[str, object] = {"status": status, "retcode": retcode, "data": msgspec.Raw(data)}
    if message:
        body |= {"message": message, "wording": message}
    if echo:
        body["echo"] = msgspec.Raw(echo)
    return _json(body)


def _number(self_id: str) -> int | str:
    return int(self_id) if self_id.isascii() and self_id.isdigit() else self_id


def _json(body: object) -> bytes:
    return msgspec.json.encode(body)
