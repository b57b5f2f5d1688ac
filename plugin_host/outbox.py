"""Outbox: a Reply becomes rows, one per OneBot action; the sender alters nothing afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from plugin_host.errors import CallError
from plugin_host.store.outgoing import Outgoing
from plugin_host.values import Action, Reply, Segment, side_of

TEXT_LIMIT = 4_000
CUT_MARK = "……（过长，已截断）"


def rows_of(
    replies: list[Reply], *, session: str, event: str, step: int, door: str, now: float, segments: int = 10
) -> list[Outgoing]:
    """Split replies into rows with the keys ``<event>:<step>:<n>``; at most ``segments`` rows in all.

    Raises CallError for a reply to another session than ``session``, a private reply out of a group that names nobody,
    and a hidden reply that everybody would see.
    """
    parts = [part for reply in replies for part in _parts(_checked(reply, session), segments)]
    if len(parts) > segments:
        left = Segment.text(f"（还有 {len(parts) - segments + 1} 条没有发出：一次最多 {segments} 条）")
        note = Reply(session, (left,), side_of(session), source=parts[-1].source)
        parts = [*parts[: segments - 1], note]
    return [_row(part, f"{event}:{step}:{number}", event, door, now) for number, part in enumerate(parts)]


def _checked(reply: Reply, session: str) -> Reply:
    if reply.session != session:
        raise CallError(f"回复只能发到当前会话 {session}；发到别处用 host.post", code="other_session")
    if reply.hidden and reply.to == "group":
        raise CallError("隐藏的回复只能私下发送", code="hidden_in_group")
    return reply


def _parts(reply: Reply, limit: int) -> list[Reply]:
    if len(reply.text) <= TEXT_LIMIT or any(segment.type != "text" for segment in reply.segments):
        return [reply]
    pieces = list(_pieces(reply.text))
    if len(pieces) > limit:
        pieces = [*pieces[: limit - 1], pieces[limit - 1][: TEXT_LIMIT - len(CUT_MARK)] + CUT_MARK]
    first = replace(reply, segments=(Segment.text(pieces[0]),))
    return [first, *(replace(reply, segments=(Segment.text(piece),), quote=None) for piece in pieces[1:])]


def _pieces(text: str) -> Iterator[str]:
    while len(text) > TEXT_LIMIT:
        cut = text.rfind("\n", TEXT_LIMIT // 2, TEXT_LIMIT)
        cut = cut if cut > 0 else TEXT_LIMIT
        yield text[:cut]
        text = text[cut:].removeprefix("\n")
    if text.strip():
        yield text


def _row(reply: Reply, key: str, event: str, door: str, now: float) -> Outgoing:
    name, params = _action(reply)
    action = Action(key, reply.session, door, name, params, reply.hidden, reply.source)
    return Outgoing(action, event, now, user_id=reply.user_id, on_failed=reply.on_failed)


def _action(reply: Reply) -> tuple[str, dict[str, Any]]:
    message: list[dict[str, Any]] = [_segment(segment) for segment in reply.segments]
    if reply.quote:
        message.insert(0, {"type": "reply", "data": {"id": reply.quote}})
    group = session_peer(reply.session) if side_of(reply.session) == "group" else None
    if reply.to == "group" and group is not None:
        return "send_group_msg", {"group_id": group, "message": message}
    if group is not None and reply.user_id is None:
        # The group's own number is also some person's number: nobody may get this by accident.
        raise CallError("私聊回复没有收件人", code="no_addressee")
    params: dict[str, Any] = {"user_id": reply.user_id or session_peer(reply.session), "message": message}
    if group is not None:
        params["group_id"] = group
    return "send_private_msg", params


def _segment(segment: Segment) -> dict[str, Any]:
    data = dict(segment.data)
    if segment.type == "text":
        # A model's stream may be cut inside a surrogate pair: halves that meet are joined, one alone cannot be sent.
        data["text"] = str(data.get("text", "")).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return {"type": segment.type, "data": data}


def session_peer(session: str) -> str:
    """The group's or the person's id of a session id."""
    return session.rpartition(":")[2]
