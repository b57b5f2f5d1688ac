"""Owns the detail text of a roll: the expression with faces in place of dice and values in place of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from plugins.dice.engine.context import Trace
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.template import Slot, Template

HISTOGRAM_SIDES = 20
FOLDED_DETAIL = "{明细过长，已折叠}"


def detail_text(template: Template, trace: Sequence[Trace], limits: Limits) -> str:
    """The detail of one roll; one over the limit of bytes is folded to a remark."""
    rolled = {entry[0]: entry for entry in trace}
    literals = template.literals
    pieces = [literals[0]]
    for slot, literal in zip(template.slots, literals[1:], strict=True):
        pieces.append(_slot_text(template, slot, rolled, limits))
        pieces.append(literal)
    text = "".join(pieces)
    if len(text) * 4 <= limits.detail_bytes:
        return text  # short enough whatever its characters are
    return text if len(text.encode("utf-8", "replace")) <= limits.detail_bytes else FOLDED_DETAIL


def kept_mask(faces: Sequence[int], keep: int) -> tuple[bool, ...]:
    """Which faces count; of equal faces the earlier one is kept."""
    if keep == 0:
        return (True,) * len(faces)
    # A sort is stable, in reverse too: equal faces stay in roll order.
    chosen = set(sorted(range(len(faces)), key=faces.__getitem__, reverse=keep > 0)[: abs(keep)])
    return tuple(index in chosen for index in range(len(faces)))


def _slot_text(template: Template, slot: Slot, rolled: Mapping[int, Trace], limits: Limits) -> str:
    _, sides, faces, keep, value = rolled[slot.site]
    if slot.is_name:
        return str(value) if value >= 0 else f"({value})"
    if slot.inner:
        parts = [f"{len(faces)}d{sides}: {_faces_text(sides, faces, keep, limits)}"]
        parts += [_inner_text(template.labels[site], rolled[site], limits) for site in slot.inner]
        return "{" + "; ".join(parts) + "}"
    return str(faces[0]) if len(faces) == 1 else "{" + _faces_text(sides, faces, keep, limits) + "}"


def _inner_text(label: str, entry: Trace, limits: Limits) -> str:
    _, sides, faces, keep, value = entry
    return f"{label}: {_faces_text(sides, faces, keep, limits) if faces else value}"


def _faces_text(sides: int, faces: Sequence[int], keep: int, limits: Limits) -> str:
    if keep == 0:
        return _sum_text(faces, sides, len(faces), limits)
    mask = kept_mask(faces, keep)
    kept = [face for face, counts in zip(faces, mask, strict=True) if counts]
    dropped = [face for face, counts in zip(faces, mask, strict=True) if not counts]
    text = _sum_text(kept, sides, len(faces), limits)
    if not dropped:
        return text
    if len(faces) > limits.detail_faces:
        return f"{text}|弃{len(dropped)}个"
    return f"{text}|{'+'.join(map(str, dropped))}"


def _sum_text(faces: Sequence[int], sides: int, rolled: int, limits: Limits) -> str:
    """The faces written out; of a term with too many, how often each came up, or the first few of large dice."""
    shown = limits.detail_faces
    if rolled <= shown:
        return "+".join(map(str, faces))
    if sides <= HISTOGRAM_SIDES:
        counts = sorted(Counter(faces).items())
        return f"{len(faces)}个：" + " ".join(f"{face}×{times}" for face, times in counts)
    tail = f"+…共{len(faces)}个" if len(faces) > shown else ""
    return "+".join(map(str, faces[:shown])) + tail
