"""Strikes: what each plugin has cost the host — abandoned threads, interrupted loops — and when that is enough."""

from __future__ import annotations

from collections import Counter

STRIKE_LIMIT = 3


class Strikes:
    """Three abandoned calls of a plugin shut its plain functions, three interruptions switch it off; reload clears."""

    def __init__(self) -> None:
        self._abandoned: Counter[str] = Counter()
        self._interrupted: Counter[str] = Counter()

    def abandoned(self, plugin: str) -> None:
        """A call of the plugin did not end and was left behind."""
        self._abandoned[plugin] += 1

    def interrupted(self, plugin: str) -> bool:
        """The plugin held the event loop and was interrupted; True when it has to be switched off."""
        self._interrupted[plugin] += 1
        return self._interrupted[plugin] >= STRIKE_LIMIT

    def clear(self, plugin: str) -> None:
        """The plugin was loaded anew."""
        self._abandoned.pop(plugin, None)
        self._interrupted.pop(plugin, None)

    @property
    def shut(self) -> frozenset[str]:
        """Plugins whose plain functions are refused until they are loaded anew."""
        return frozenset(plugin for plugin, count in self._abandoned.items() if count >= STRIKE_LIMIT)
