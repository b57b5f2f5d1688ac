"""Owns how names get values: the resolver protocol, its form over a mapping, and computed attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Computed:
    """An attribute that is an expression, evaluated anew each time its name is used."""

    text: str


Held = int | float | str | Sequence[int | float | str] | Computed


class Resolver(Protocol):
    """Where the values of names come from, asked while a roll is made (never cached)."""

    def resolve(self, name: str) -> Held | None:
        """The value of `name`; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class MappingResolver:
    """The resolver over a plain mapping."""

    values: Mapping[str, Held]

    def resolve(self, name: str) -> Held | None:
        return self.values.get(name)


@dataclass(frozen=True, slots=True)
class NoNames:
    """The resolver that knows no name."""

    def resolve(self, name: str) -> Held | None:
        return None


NO_NAMES = NoNames()

Variables = Mapping[str, Held] | Mapping[str, int] | Resolver


def resolver_of(variables: Variables | None) -> Resolver:
    """`variables` as a resolver."""
    if variables is None:
        return NO_NAMES
    return MappingResolver(variables) if isinstance(variables, Mapping) else variables
