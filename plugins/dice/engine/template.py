"""Owns the template of a program's texts: its literal pieces, and the sites that stand between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plugins.dice.engine.errors import Span


@dataclass(frozen=True, slots=True)
class Site:
    """A place whose value is known only after rolling: a dice term, or a name (`local`: assigned in the text)."""

    span: Span
    name: str | None
    local: bool = False


@dataclass(frozen=True, slots=True)
class Slot:
    """A site that stands in no other one: `inner` are those inside it (a rolled count or side count)."""

    site: int
    is_name: bool
    inner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """`labels` are the sites' own texts; `literals` (one more than `slots`) is what stands around the slots.

    `plain` is the number of slots if all are dice terms with nothing inside, else -1: such a trace of that
    length has its entries in the order of the slots.
    """

    expression: str
    labels: tuple[str, ...]
    literals: tuple[str, ...]
    slots: tuple[Slot, ...]
    plain: int


def template_of(text: str, end: int, sites: Sequence[Site], marks: Sequence[int], default_sides: int) -> Template:
    """The template of folded `text` up to `end`; texts lose their spaces and get default sides written out."""

    def written(start: int, end: int) -> str:
        pieces = []
        for mark in marks:
            if start < mark <= end:
                pieces += [text[start:mark], str(default_sides)]
                start = mark
        return "".join("".join([*pieces, text[start:end]]).split())

    slots = _slots(sites)
    edges = [0, *(edge for slot in slots for edge in sites[slot.site].span), end]
    literals = tuple("".join(text[edges[at] : edges[at + 1]].split()) for at in range(0, len(edges), 2))
    plain = len(slots) if len(slots) == len(sites) and all(site.name is None for site in sites) else -1
    return Template(written(0, end), tuple(written(*site.span) for site in sites), literals, slots, plain)


def _slots(sites: Sequence[Site]) -> tuple[Slot, ...]:
    """The outermost sites in text order, each with the sites inside it."""
    outer: list[tuple[int, list[int]]] = []
    reached = -1
    # Of two sites with one start (a term and the term that is its count) the longer is the outer one.
    for index in sorted(range(len(sites)), key=lambda index: (sites[index].span[0], -sites[index].span[1])):
        start, end = sites[index].span
        if start >= reached:
            outer.append((index, []))
            reached = end
        else:
            outer[-1][1].append(index)
    return tuple(Slot(index, sites[index].name is not None, tuple(inner)) for index, inner in outer)
