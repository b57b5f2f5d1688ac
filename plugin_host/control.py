"""Control: one publisher for what changes while the host runs — settings, plugins, cancellation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from loguru import logger

from plugin_host.config.settings import Settings

Topic = Literal["settings", "plugin", "cancel"]

RESTART_KEYS = ("bot", "bridge", "models", "plugins", "paths", "log", "language")


class Control:
    """Holds the settings in force and tells whoever subscribed about a change."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._subscribers: dict[Topic, list[Callable[[Any], None]]] = {}

    @property
    def settings(self) -> Settings:
        """The settings in force now."""
        return self._settings

    def subscribe(self, topic: Topic, subscriber: Callable[[Any], None]) -> None:
        """Call ``subscriber`` with what is published under ``topic``."""
        self._subscribers.setdefault(topic, []).append(subscriber)

    def publish(self, topic: Topic, value: Any) -> None:
        """Tell the subscribers, in the order in which they came; one that fails is logged and hurts no other."""
        for subscriber in self._subscribers.get(topic, []):
            try:
                subscriber(value)
            except Exception:
                logger.exception("a subscriber of {} failed", topic)

    def change(self, settings: Settings) -> tuple[str, ...]:
        """Put new settings in force; returns the top-level keys that changed but need a restart."""
        late = tuple(key for key in RESTART_KEYS if getattr(settings, key) != getattr(self._settings, key))
        kept = {key: getattr(self._settings, key) for key in late}
        self._settings = settings.model_copy(update=kept)
        self.publish("settings", self._settings)
        return late
