"""One connection of the settings → a pydantic-ai model with an HTTP client of ours. Imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
from pydantic_ai.models import Model, create_async_httpx2_client
from pydantic_ai.settings import ModelSettings

from plugin_host.config.models import Connection

if TYPE_CHECKING:
    from google.genai.types import HttpOptions

CONNECT_SECONDS = 10.0
# Some SDKs refuse an empty key, and local endpoints have none.
NO_KEY = "unset"


class Opened:
    """A model and the HTTP client under it; ``settings`` go with every request."""

    def __init__(self, connection: Connection, name: str) -> None:
        # Reading is bounded by our own rolling limit, which also counts a stream of keep-alives as silence.
        timeout = httpx2.Timeout(connection.timeout + CONNECT_SECONDS, connect=CONNECT_SECONDS)
        self.http = create_async_httpx2_client(timeout=timeout)
        self.settings = ModelSettings()
        if connection.body and connection.provider != "google":
            self.settings["extra_body"] = dict(connection.body)
        self.model = PROVIDERS[connection.provider](connection, name, self.http)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()


def _openai(connection: Connection, name: str, http: httpx2.AsyncClient) -> Model:
    # Each SDK is imported only when a connection uses it: they cost 50 to 70 MB each.
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    client = AsyncOpenAI(
        api_key=connection.api_key.get_secret_value() or NO_KEY,
        base_url=connection.base_url or "https://api.openai.com/v1",
        http_client=http,
        default_headers=dict(connection.headers),
        max_retries=0,
        timeout=http.timeout,
    )
    if connection.base_url:
        return OpenAIChatModel(name, provider=OpenAICompatibleProvider(connection.name, openai_client=client))
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))


def _anthropic(connection: Connection, name: str, http: httpx2.AsyncClient) -> Model:
    # As above: only when used.
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=connection.api_key.get_secret_value() or NO_KEY,
        base_url=connection.base_url or "https://api.anthropic.com",
        http_client=http,
        default_headers=dict(connection.headers),
        max_retries=0,
        timeout=http.timeout,
    )
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


def _google(connection: Connection, name: str, http: httpx2.AsyncClient) -> Model:
    # As above: only when used.
    from google.genai import Client
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    client = Client(
        vertexai=False,
        api_key=connection.api_key.get_secret_value() or NO_KEY,
        http_options=_google_options(connection, http),
    )
    return GoogleModel(name, provider=GoogleProvider(client=client))


def _google_options(connection: Connection, http: httpx2.AsyncClient) -> HttpOptions:
    # As above: only when used.
    from google.genai.types import HttpOptions

    return HttpOptions(
        base_url=connection.base_url or None,
        headers=dict(connection.headers),
        extra_body=dict(connection.body) or None,
        httpx_async_client=http,
        timeout=int((connection.timeout + CONNECT_SECONDS) * 1000),
    )


PROVIDERS = {"openai": _openai, "anthropic": _anthropic, "google": _google}
