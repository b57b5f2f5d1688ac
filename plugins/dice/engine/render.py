"""Owns the forms of a roll: its detail text (faces in place of dice), short, detailed, JSON, for a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plugins.dice.engine.context import Story, Trace
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.story import story_text
from plugins.dice.engine.template import Slot, Template
from plugins.dice.engine.terms import kept_mask
from plugins.dice.engine.values import kind_of, shown

if TYPE_CHECKING:  # result imports this module
    from plugins.dice.engine.result import RollResult, Term

HISTOGRAM_SIDES = 20
DETAILED_FACES = 50
MODEL_FACES = 20
BYTE_FACES = 256
DIGITS = tuple(map(str, range(BYTE_FACES)))
FOLDED_DETAIL = "{明细过长，已折叠}"


def detail_text(template: Template, trace: Sequence[Trace], limits: Limits) -> str:
    """The detail of one roll; one over the limit of bytes is folded to a remark."""
    literals = template.literals
    text = literals[0]
    if len(trace) == template.plain:
        at = 1
        for _, sides, faces, keep, _ in trace:
            if len(faces) == 1 and keep.__class__ is int:
                text += DIGITS[faces[0]] if faces[0] < BYTE_FACES else str(faces[0])
            else:
                text += "{" + _faces_text(sides, faces, keep, limits) + "}"
            text += literals[at]
            at += 1
    else:
        rolled = {entry[0]: entry for entry in trace}
        for slot, literal in zip(template.slots, literals[1:], strict=True):
            text += _slot_text(template, slot, rolled, limits) + literal
    if len(text) * 4 <= limits.detail_bytes:
        return text  # short enough whatever its characters are
    return text if len(text.encode("utf-8", "replace")) <= limits.detail_bytes else FOLDED_DETAIL


def term_faces(faces: Sequence[int], keep: int | Story) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """The number each face counts as, and whether it counts."""
    if isinstance(keep, Story):
        return keep.values, keep.kept
    return tuple(faces), kept_mask(faces, keep)


def _slot_text(template: Template, slot: Slot, rolled: Mapping[int, Trace], limits: Limits) -> str:
    if slot.site not in rolled:
        return template.labels[slot.site]  # the branch of a choice that was not taken, or a computed expression
    _, sides, faces, keep, value = rolled[slot.site]
    if slot.is_name:
        return f"({shown(value)})" if isinstance(value, int | float) and value < 0 else shown(value)
    if slot.inner:
        parts = [f"{len(faces)}d{sides}: {_faces_text(sides, faces, keep, limits)}"]
        parts += [_inner_text(template.labels[site], rolled[site], limits) for site in slot.inner if site in rolled]
        return "{" + "; ".join(parts) + "}"
    if len(faces) == 1 and not isinstance(keep, Story):
        return str(faces[0])
    return "{" + _faces_text(sides, faces, keep, limits) + "}"


def _inner_text(label: str, entry: Trace, limits: Limits) -> str:
    _, sides, faces, keep, value = entry
    return f"{label}: {_faces_text(sides, faces, keep, limits) if faces else shown(value)}"


def _faces_text(sides: int, faces: Sequence[int], keep: int | Story, limits: Limits) -> str:
    if isinstance(keep, Story):
        return story_text(faces, keep, limits)
    shown_faces = limits.detail_faces
    if keep == 0:
        if len(faces) <= shown_faces:
            return _joined(faces)
        return _sum_text(faces, sides, limits)
    kept, dropped = _split(faces, keep)
    text = _joined(kept) if len(faces) <= shown_faces else _sum_text(kept, sides, limits)
    if not dropped:
        return text
    return f"{text}|{_joined(dropped)}" if len(faces) <= shown_faces else f"{text}|弃{len(dropped)}个"


def _joined(faces: Sequence[int]) -> str:
    # Faces of bytes are 0..255: a look-up takes a third of the time of str.
    return "+".join(map(DIGITS.__getitem__ if faces.__class__ is bytes else str, faces))


def _split(faces: Sequence[int], keep: int) -> tuple[Sequence[int], Sequence[int]]:
    """The faces that count and those that do not, as `kept_mask` tells them, in roll order."""
    if keep in (1, -1):
        at = faces.index(max(faces) if keep > 0 else min(faces))
        # Slices of bytes and of tuples both join with their own kind.
        return faces[at : at + 1], faces[:at] + faces[at + 1 :]  # type: ignore[operator]
    ordered = sorted(faces, reverse=keep > 0)
    line = ordered[abs(keep) - 1]
    ties = ordered[: abs(keep)].count(line)
    kept: list[int] = []
    dropped: list[int] = []
    for face in faces:
        if face == line:
            ties -= 1
            (kept if ties >= 0 else dropped).append(face)
        else:
            (kept if (face > line) == (keep > 0) else dropped).append(face)
    return kept, dropped


def _sum_text(faces: Sequence[int], sides: int, limits: Limits) -> str:
    """The faces of a term that rolled too many to write out: how often each came up, or the first few."""
    if sides <= HISTOGRAM_SIDES:
        counts = sorted(Counter(faces).items())
        return f"{len(faces)}个：" + " ".join(f"{face}×{times}" for face, times in counts)
    tail = f"+…共{len(faces)}个" if len(faces) > limits.detail_faces else ""
    return _joined(faces[: limits.detail_faces]) + tail


def short(result: RollResult) -> str:
    """简短: the value of the roll, or of each round."""
    values = result.value if len(result.rounds) > 1 and isinstance(result.value, list) else [result.value]
    return f"{result.expression}={'、'.join(map(shown, values))}"


def detailed(result: RollResult) -> str:
    """详细: the text, then one line per dice term with every face and what it counted as."""
    return "\n".join([result.text, *(f"· {_term_line(term)}" for term in result.detail)])


def _term_line(term: Term) -> str:
    faces = []
    for face, shows, counts in zip(term.faces, term.originals, term.kept, strict=True):
        text = str(face) if face == shows else f"{shows}→{face}"
        faces.append(text if counts else f"({text})")
    written = " ".join(faces[:DETAILED_FACES])
    more = f" …共{len(faces)}个" if len(faces) > DETAILED_FACES else ""
    return f"{term.text}：{written}{more} 得 {term.subtotal}"


def as_json(result: RollResult) -> dict[str, Any]:
    """Everything a program may want to know of a roll, in values that JSON can hold."""
    return {
        "roll_id": result.roll_id,
        "expression": result.expression,
        "value": result.value,
        "type": kind_of(result.value),
        "reason": result.reason,
        "used": result.used,
        "rounds": [{"value": one.value, "terms": [_term(term) for term in one.detail]} for one in result.rounds],
    }


def _term(term: Term) -> dict[str, Any]:
    return {
        "text": term.text,
        "span": list(term.span),
        "sides": term.sides,
        "faces": list(term.faces),
        "originals": list(term.originals),
        "kept": list(term.kept),
        "subtotal": term.subtotal,
    }


def for_model(result: RollResult) -> dict[str, Any]:
    """What a language model is told: identifier, expression, value, reason, and the faces if they are few."""
    told: dict[str, Any] = {"roll_id": result.roll_id, "expression": result.expression, "value": result.value}
    if result.reason:
        told["reason"] = result.reason
    if len(result.dice) <= MODEL_FACES:
        told["dice"] = [
            {"term": term.text, "faces": list(term.faces), "total": term.subtotal} for term in result.detail
        ]
    return told
