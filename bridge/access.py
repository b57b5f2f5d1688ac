"""Who may connect: tokens in every form peers send them, and the Origin of web pages."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiohttp import web

from plugin_host.config.bridge import BridgeSettings, CoreEntry

SCHEMES = ("bearer", "token")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a handshake is refused: an HTTP status and a sentence without any secret."""

    status: int
    reason: str


def presented_tokens(headers: Mapping[str, str], query: Mapping[str, str]) -> tuple[str, ...]:
    """Every token a peer may have meant: the raw header, the header without its scheme, the query parameter."""
    header = headers.get("Authorization", "").strip()
    scheme, _, rest = header.partition(" ")
    found = [query.get("access_token", "").strip()]
    if scheme.lower() in SCHEMES:
        found.append(rest.strip())
    found.append("" if header.lower() in SCHEMES else header)
    return tuple(token for token in found if token)


def fits(expected: str, presented: Iterable[str]) -> bool:
    """Constant-time comparison over bytes; an empty expected token is met by anything."""
    if not expected:
        return True
    wanted = expected.encode()
    # All are compared before any is looked at: stopping at a match would tell by time which form was right.
    matches = [hmac.compare_digest(token.encode("utf-8", "surrogateescape"), wanted) for token in presented]
    return any(matches)


def refusal(expected: str, presented: tuple[str, ...]) -> Refusal | None:
    """None when the token fits; 401 when none was sent, 403 when it is wrong."""
    if fits(expected, presented):
        return None
    return Refusal(403, "wrong token") if presented else Refusal(401, "token missing")


def origin_refusal(request: web.Request, allowed: Iterable[str]) -> Refusal | None:
    """Refuse web pages: a handshake with an Origin header that is not listed."""
    origin = request.headers.get("Origin")
    if origin is None or origin in allowed:
        return None
    return Refusal(403, "origin not allowed")


def core_entry(settings: BridgeSettings, presented: tuple[str, ...], name: str | None) -> CoreEntry | Refusal:
    """Which core a link belongs to: by its own token, else by ``?core=NAME``, else the first entry."""
    for entry in settings.cores:
        if entry.token.get_secret_value() and fits(entry.token.get_secret_value(), presented):
            return entry
    candidates = [entry for entry in settings.cores if entry.name == name] or [*settings.cores, CoreEntry()]
    entry = candidates[0]
    common = settings.tokens.core.get_secret_value()
    expected = common or entry.token.get_secret_value()
    return refusal(expected, presented) or entry


def is_loopback(host: str) -> bool:
    """True for addresses that only this machine can reach."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def open_endpoints(settings: BridgeSettings) -> tuple[str, ...]:
    """The setting paths of endpoints that anybody may use."""
    paths = []
    cores_closed = bool(settings.cores) and all(entry.token.get_secret_value() for entry in settings.cores)
    if not settings.tokens.core.get_secret_value() and not cores_closed:
        paths.append("bridge.tokens.core")
    if not settings.tokens.ob11.get_secret_value():
        paths.append("bridge.tokens.ob11")
    return tuple(paths)
