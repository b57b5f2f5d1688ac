"""The state of the bridge as plain data for /healthz and for people; no secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridge.account import Account, Upstream
from bridge.core import Core
from bridge.dial import Dial
from bridge.hub import Hub
from bridge.relay import Relay


def describe(hub: Hub, relay: Relay, dials: Sequence[Dial]) -> dict[str, Any]:
    """``ok`` says that the bridge runs (liveness); whether a protocol end is there is told per link and account."""
    return {
        "ok": True,
        "upstream": [_upstream(link) for link in hub.upstreams],
        "cores": [_core(core) for core in relay.cores],
        "dials": [_dial(dial) for dial in dials],
        "accounts": [_account(account) for account in relay.accounts],
        "pending": len(relay.pending),
        "counts": dict(relay.counts),
    }


def _upstream(link: Upstream) -> dict[str, Any]:
    self_id = link.account.self_id if link.account else None
    acting = link.account is not None and link.account.actor() is link
    return {
        **_traffic(link),
        "self_id": self_id,
        "direction": link.direction,
        "role": link.role,
        "state": "acting" if acting else "standby",
    }


def _core(core: Core) -> dict[str, Any]:
    self_id = core.account.self_id if core.account else None
    return {**_traffic(core), "self_id": self_id, "role": core.role, "guarded": core.guarded}


def _traffic(link: Upstream | Core) -> dict[str, Any]:
    return {
        "name": link.name,
        "received": link.received,
        "sent": link.sent,
        "dropped": link.dropped,
        "binary_ignored": link.wire.ignored,
    }


def _dial(dial: Dial) -> dict[str, Any]:
    return {"name": dial.name, "state": dial.state, "dials": dial.dials, "message": dial.message}


def _account(account: Account) -> dict[str, Any]:
    usable = account.actor() is not None
    return {"self_id": account.self_id, "usable": usable, "online": usable and account.online}
