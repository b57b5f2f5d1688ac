"""Owns the text of dice that do more than keep: changed faces, successes, rounds, tens."""

from __future__ import annotations

from collections.abc import Sequence

from plugins.dice.engine.context import Story
from plugins.dice.engine.limits import Limits


def story_text(faces: Sequence[int], story: Story, limits: Limits) -> str:
    """The dice of one term: `6+3→5|1`, `8*+3+10*`, `10,4;7`, `43|十位2 7`."""
    if len(faces) > limits.detail_faces:
        return f"共{len(faces)}个，计{sum(story.kept)}个"
    if story.layout == "tens":
        return f"{faces[0]}|十位{' '.join(str(face % 10) for face in faces[1:])}"
    if story.layout == "fate":
        return " ".join("-0+"[face - 1] for face in faces)
    if story.layout == "sum":
        return _sum(faces, story)
    shown = [f"{face}*" if counts else str(face) for face, counts in zip(story.values, story.kept, strict=True)]
    rounds = []
    start = 0
    for count in story.rounds or (len(shown),):
        rounds.append("+".join(shown[start : start + count]))
        start += count
    return ";".join(rounds)


def _sum(faces: Sequence[int], story: Story) -> str:
    """Faces that count, then those that do not; a changed face with what the die showed."""
    kept: list[str] = []
    dropped: list[str] = []
    for face, value, counts in zip(faces, story.values, story.kept, strict=True):
        text = str(value) if value == face else f"{face}→{value}"
        (kept if counts else dropped).append(text)
    return "+".join(kept) + ("|" + "+".join(dropped) if dropped else "")
