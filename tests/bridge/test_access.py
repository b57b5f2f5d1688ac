"""Tokens in every shape, web pages, and addresses that must not be open."""

from __future__ import annotations

from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from bridge.access import CoreEntry, Refusal, core_entry, fits, is_loopback, presented_tokens
from bridge.bridge import Bridge
from plugin_host.config.bridge import BridgeSettings
from plugin_host.config.settings import BotSettings
from plugin_host.errors import ConfigError

PATHS = ["/core", "/core/", "/core/ws", "/core/api", "/core/event", "/core/10001", "/ob11", "/ob11/", "/ob11/ws"]
TOKENS = {"tokens": {"core": "t/o+k&n=", "ob11": "t/o+k&n="}}


@pytest.mark.parametrize(
    ("header", "query", "accepted"),
    [
        ("t", "", True),
        ("Bearer t", "", True),
        ("bearer  t ", "", True),
        ("Token t", "", True),
        ("", "t", True),
        ("", " t\n", True),
        ("Bearer wrong", "t", True),
        ("Bearer t", "wrong", True),
        ("Bearer", "", False),
        ("Basic t", "", False),
        ("Bearer tt", "", False),
        ("", "T", False),
    ],
)
def test_a_token_is_known_in_every_shape_that_peers_send(header: str, query: str, accepted: bool) -> None:
    assert fits("t", presented_tokens({"Authorization": header}, {"access_token": query})) is accepted


def test_an_empty_bearer_counts_as_no_token() -> None:
    assert presented_tokens({"Authorization": "Bearer "}, {}) == ()


def test_a_token_that_begins_like_a_scheme_fits_raw() -> None:
    assert fits("Token x", presented_tokens({"Authorization": "Token x"}, {}))


def test_bytes_that_are_no_text_are_compared_and_refused() -> None:
    assert not fits("秘密", ("\udce7\udca7",))
    assert fits("秘密", ("秘密",))


@pytest.mark.parametrize("path", PATHS)
async def test_a_missing_token_is_401_and_a_wrong_one_403_in_the_handshake(rig: Any, path: str) -> None:
    async with rig(**TOKENS) as r:
        for headers, status in (({}, 401), ({"Authorization": "Bearer wrong"}, 403)):
            with pytest.raises(InvalidStatus) as refused:
                await r.core(path, **headers)
            assert refused.value.response.status_code == status
        await r.core(path + "?access_token=t%2Fo%2Bk%26n%3D", greeted=False)
        await r.core(path, greeted=False, Authorization="t/o+k&n=")


async def test_a_web_page_is_refused_unless_its_origin_is_listed(rig: Any) -> None:
    async with rig(origins=["http://ui.local"]) as r:
        for path in PATHS:
            with pytest.raises(InvalidStatus) as refused:
                await r.core(path, Origin="http://evil.example")
            assert refused.value.response.status_code == 403
            async with connect(r.url(path), origin="http://ui.local", proxy=None):
                pass


async def test_an_unknown_path_is_refused_in_the_handshake(rig: Any) -> None:
    async with rig() as r:
        for path in ("/", "/core/x", "/ob11/x", "/event"):
            with pytest.raises(InvalidStatus) as refused:
                await r.core(path)
            assert refused.value.response.status_code == 404


def test_a_core_is_known_by_its_token_then_by_name_then_is_the_first() -> None:
    cores = [{"name": "a", "token": "ta"}, {"name": "b", "token": "tb"}, {"name": "c"}]
    settings = BridgeSettings.model_validate({"cores": cores})
    assert _name(settings, ("tb",), None) == "b"
    assert _name(settings, ("ta",), "b") == "a"
    assert _name(settings, (), "c") == "c"
    assert _name(settings, (), "a") == "401"
    assert _name(settings, (), None) == "401"
    common = BridgeSettings.model_validate({"cores": cores, "tokens": {"core": "all"}})
    assert _name(common, ("all",), "b") == "b"
    assert _name(common, ("all",), "nobody") == "a"
    assert _name(common, ("no",), "b") == "403"
    assert _name(BridgeSettings(), (), None) == "core"


def _name(settings: BridgeSettings, presented: tuple[str, ...], name: str | None) -> str:
    found = core_entry(settings, presented, name)
    assert isinstance(found, CoreEntry | Refusal)
    return found.name if isinstance(found, CoreEntry) else str(found.status)


def test_loopback_is_told_from_the_rest() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.2", "127.example.com", "example.com"))


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        ({}, ["bridge.tokens.core", "bridge.tokens.ob11"]),
        ({"tokens": {"core": "x"}}, ["bridge.tokens.ob11"]),
        ({"tokens": {"ob11": "x"}, "cores": [{"token": "y"}, {}]}, ["bridge.tokens.core"]),
    ],
)
async def test_an_address_open_to_others_without_token_is_a_config_error(settings: Any, paths: list[str]) -> None:
    bridge = Bridge(BridgeSettings.model_validate({"listen": "0.0.0.0:0", **settings}), BotSettings(), environ={})
    with pytest.raises(ConfigError) as wrong:
        await bridge.start()
    assert [problem.path for problem in wrong.value.problems] == paths


@pytest.mark.parametrize(
    "settings",
    [
        {"allow_open": True},
        {"tokens": {"ob11": "x"}, "cores": [{"token": "y"}]},
        {"tokens": {"core": "x", "ob11": "x"}},
    ],
)
async def test_an_address_open_to_others_is_allowed_with_tokens_or_on_purpose(settings: Any) -> None:
    bridge = Bridge(BridgeSettings.model_validate({"listen": "0.0.0.0:0", **settings}), BotSettings(), environ={})
    await bridge.start()
    assert bridge.port > 0
    await bridge.stop()
