"""Owns the state of one evaluation: the dice left, where faces and names come from, and the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plugins.dice.engine.names import Resolver
from plugins.dice.engine.rng import Source

# site, sides, faces, keep, value. `site` indexes Program.sites; `keep` is 0 for all faces, n for the n
# highest, -n for the n lowest; a name has 0 sides and no faces. A plain tuple: it is made for every term.
Trace = tuple[int, int, Sequence[int], int, int]


class Context:
    """What the closures of a program work on; one context serves all rounds of a message."""

    __slots__ = ("budget", "faces", "resolver", "trace")

    def __init__(self, budget: int, source: Source, resolver: Resolver) -> None:
        self.budget = budget
        self.faces: Callable[[int, int], Sequence[int]] = source.faces
        self.resolver = resolver
        self.trace: list[Trace] = []
