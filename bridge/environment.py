"""The environment variables of the original bridge, honoured as overrides of the settings."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr, ValidationError

from plugin_host.config.bridge import BridgeSettings, ProtocolEnd
from plugin_host.errors import ConfigError, Problem

HOST = "AIPLUGIN4_BACKEND_HOST"
PORT = "AIPLUGIN4_BACKEND_PORT"
URL = "AIPLUGIN4_BRIDGE_PROTOCOL_URL"
URL_TOKEN = "AIPLUGIN4_BRIDGE_PROTOCOL_TOKEN"
CORE_TOKEN = "AIPLUGIN4_BRIDGE_CORE_TOKEN"


def with_environment(settings: BridgeSettings, environ: Mapping[str, str]) -> BridgeSettings:
    """The settings with what the environment says on top; raises ConfigError for a bad value."""
    try:
        return _overridden(settings, environ)
    except ValidationError as error:
        # the chain is cut: pydantic's own message would print the value, which may be a secret
        found = error.errors(include_input=False, include_url=False)
        problems = tuple(Problem(".".join(map(str, ("bridge", *item["loc"]))), item["msg"]) for item in found)
        raise ConfigError("环境变量 AIPLUGIN4_*", problems) from None


def _overridden(settings: BridgeSettings, environ: Mapping[str, str]) -> BridgeSettings:
    changes: dict[str, object] = {}
    if environ.get(HOST) or environ.get(PORT):
        host, _, port = settings.listen.rpartition(":")
        changes["listen"] = f"{environ.get(HOST) or host}:{environ.get(PORT) or port}"
    if environ.get(URL) or environ.get(URL_TOKEN):
        changes["protocol"] = _protocol(settings, environ)
    if environ.get(CORE_TOKEN):
        changes["tokens"] = settings.tokens.model_copy(update={"core": SecretStr(environ[CORE_TOKEN])})
    if not changes:
        return settings
    return BridgeSettings.model_validate({**dict(settings), **changes})


def _protocol(settings: BridgeSettings, environ: Mapping[str, str]) -> tuple[ProtocolEnd, ...]:
    """The original knows one protocol end: it takes the place of the first entry."""
    first = settings.protocol[0] if settings.protocol else None
    url = environ.get(URL) or (first.url if first else "")
    token = environ.get(URL_TOKEN) or (first.token.get_secret_value() if first else "")
    if not url:
        return settings.protocol
    return (ProtocolEnd(url=url, token=SecretStr(token)), *settings.protocol[1:])
