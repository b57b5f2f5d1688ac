"""The environment variables of the original bridge."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.environment import with_environment
from plugin_host.config.bridge import BridgeSettings
from plugin_host.errors import ConfigError
from tests.kit.protocol_end import ProtocolEnd


def test_without_variables_the_settings_stay_as_they_are() -> None:
    settings = BridgeSettings()
    assert with_environment(settings, {"PATH": "/bin", "AIPLUGIN4_BACKEND_PORT": ""}) is settings


@pytest.mark.parametrize(
    ("environ", "listen"),
    [
        ({"AIPLUGIN4_BACKEND_PORT": "1234"}, "127.0.0.1:1234"),
        ({"AIPLUGIN4_BACKEND_HOST": "0.0.0.0"}, "0.0.0.0:46880"),
        ({"AIPLUGIN4_BACKEND_HOST": "::1", "AIPLUGIN4_BACKEND_PORT": "1"}, "::1:1"),
    ],
)
def test_the_address_is_overridden_in_parts(environ: dict[str, str], listen: str) -> None:
    assert with_environment(BridgeSettings(), environ).listen == listen


def test_the_protocol_end_takes_the_first_place_and_keeps_what_is_not_named() -> None:
    settings = BridgeSettings.model_validate({"protocol": [{"url": "ws://a/", "token": "ta"}, {"url": "ws://b/"}]})
    changed = with_environment(settings, {"AIPLUGIN4_BRIDGE_PROTOCOL_URL": "ws://c/"})
    assert [end.url for end in changed.protocol] == ["ws://c/", "ws://b/"]
    assert changed.protocol[0].token.get_secret_value() == "ta"
    changed = with_environment(settings, {"AIPLUGIN4_BRIDGE_PROTOCOL_TOKEN": "tc"})
    assert (changed.protocol[0].url, changed.protocol[0].token.get_secret_value()) == ("ws://a/", "tc")
    assert with_environment(BridgeSettings(), {"AIPLUGIN4_BRIDGE_PROTOCOL_TOKEN": "t"}).protocol == ()


@pytest.mark.parametrize(
    "environ", [{"AIPLUGIN4_BACKEND_PORT": "99999"}, {"AIPLUGIN4_BRIDGE_PROTOCOL_URL": "http://x"}]
)
def test_a_bad_variable_is_an_error(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="AIPLUGIN4") as wrong:
        with_environment(BridgeSettings(), environ)
    assert wrong.value.problems[0].path.startswith("bridge")


async def test_a_running_bridge_obeys_them(rig: Any) -> None:
    async with ProtocolEnd(token="t") as end:
        environ = {
            "AIPLUGIN4_BRIDGE_PROTOCOL_URL": end.url,
            "AIPLUGIN4_BRIDGE_PROTOCOL_TOKEN": "t",
            "AIPLUGIN4_BRIDGE_CORE_TOKEN": "c",
        }
        async with rig(environ=environ) as r:
            await r.host.until(lambda: "QQ:10001" in r.host.channels)
            await r.core(Authorization="Bearer c")
