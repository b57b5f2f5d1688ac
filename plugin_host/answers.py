"""What a handler returned (str, Reply, Private, a list of them, data), as replies and as a result's content."""

from __future__ import annotations

import json
from typing import Any

from plugin_host.calls import Part
from plugin_host.context import CallContext
from plugin_host.values import Private, Reply, ReplySource, Segment, side_of

PRIVATE_NOTE = "结果已私下发给对方，内容不公开。"


def replies_of(said: Any, ctx: CallContext, source: ReplySource) -> tuple[Reply, ...]:
    """The replies that a command's return value asks for."""
    if said is None or said == "":
        return ()
    if isinstance(said, Reply):
        return (said,)
    if isinstance(said, Private):
        return _private(said, ctx, source)
    if isinstance(said, list | tuple):
        return tuple(reply for one in said for reply in replies_of(one, ctx, source))
    return (text_reply(said if isinstance(said, str) else _json(said), ctx, source),)


def parts_of(said: Any) -> tuple[Part, ...]:
    """The content that a tool's return value gives the model; what was said privately is not part of it."""
    if said is None:
        return (Part("text", "完成"),)
    if isinstance(said, str):
        return (Part("text", said),)
    if isinstance(said, Reply):
        return (Part("text", PRIVATE_NOTE if said.hidden else said.text),)
    if isinstance(said, Private):
        return (Part("text", PRIVATE_NOTE),)
    if _speaks(said):
        return tuple(part for one in said for part in parts_of(one))
    return (Part("json", said),)


def spoken_by(said: Any, ctx: CallContext) -> tuple[Reply, ...]:
    """The replies that a tool's return value posts to the chat by itself (Reply and Private do, text does not)."""
    if _speaks(said):
        return tuple(reply for one in said for reply in spoken_by(one, ctx))
    return replies_of(said, ctx, "tool") if isinstance(said, Reply | Private) else ()


def _speaks(said: Any) -> bool:
    return isinstance(said, list | tuple) and any(isinstance(one, Reply | Private) for one in said)


def text_reply(text: str, ctx: CallContext, source: ReplySource) -> Reply:
    """A plain text reply into the context's session."""
    return Reply(ctx.session, (Segment.text(text),), to=side_of(ctx.session), user_id=_addressee(ctx), source=source)


def _private(said: Private, ctx: CallContext, source: ReplySource) -> tuple[Reply, ...]:
    notice = (text_reply(said.notice, ctx, source),) if said.notice and side_of(ctx.session) == "group" else ()
    hidden = Reply(
        ctx.session,
        (Segment.text(said.text),),
        to="private",
        user_id=ctx.user_id,
        hidden=True,
        source=source,
        on_failed=said.refused if side_of(ctx.session) == "group" else None,
    )
    return (*notice, hidden)


def _addressee(ctx: CallContext) -> str | None:
    return None if side_of(ctx.session) == "group" else ctx.user_id


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
