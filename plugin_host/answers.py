"""What a handler returned (str, Reply, Private, a list of them, data), as replies and as a result's content."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from plugin_host.calls import Part
from plugin_host.context import CallContext
from plugin_host.errors import CallError
from plugin_host.values import Private, Reply, ReplySource, Segment, side_of

ANSWER_LIMIT = 100
DEPTH_LIMIT = 100
PRIVATE_NOTE = "结果已私下发给对方，内容不公开。"


def replies_of(said: Any, ctx: CallContext, source: ReplySource) -> tuple[Reply, ...]:
    """The replies that a command's return value asks for."""
    if said is None or said == "":
        return ()
    if isinstance(said, Reply):
        return (said,)
    if isinstance(said, Private):
        return _private(said, ctx, source)
    if _is_answers(said):
        return tuple(reply for one in said[:ANSWER_LIMIT] for reply in replies_of(one, ctx, source))
    text = said if isinstance(said, str) else json.dumps(plain_data(said), ensure_ascii=False)
    return (text_reply(text, ctx, source),)


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
    return (Part("json", plain_data(said)),)


def plain_data(value: Any) -> Any:
    """A returned value as JSON data: models, dataclasses, enums, dates become what they stand for.

    Raises CallError for what is no data (bytes that are no text, generators, plain objects) and for a Reply or Private
    inside of data, where its text would be taken for public.
    """
    if _holds_reply(value):
        raise CallError("Reply 和 Private 要直接返回，不能放在数据里面", code="bad_result")
    try:
        return from_json(to_json(value, inf_nan_mode="null"))
    except (PydanticSerializationError, UnicodeDecodeError, ValueError, RecursionError) as error:
        kind = type(value).__name__
        raise CallError(f"返回值应为文本、Reply 或 JSON 数据，实际是 {kind}", code="bad_result") from error


def spoken_by(said: Any, ctx: CallContext) -> tuple[Reply, ...]:
    """The replies that a tool's return value posts to the chat by itself (Reply and Private do, text does not)."""
    if _speaks(said):
        return tuple(reply for one in said for reply in spoken_by(one, ctx))
    return replies_of(said, ctx, "tool") if isinstance(said, Reply | Private) else ()


def _speaks(said: Any) -> bool:
    return isinstance(said, list | tuple) and any(isinstance(one, Reply | Private) for one in said[:ANSWER_LIMIT])


def _is_answers(said: Any) -> bool:
    """A list of things to say, as against a list that is data."""
    spoken = (str, Reply, Private)
    return isinstance(said, list | tuple) and (not said or any(isinstance(one, spoken) for one in said[:ANSWER_LIMIT]))


def _holds_reply(value: Any, depth: int = 0) -> bool:
    if isinstance(value, Reply | Private):
        return True
    if depth > DEPTH_LIMIT or not isinstance(value, dict | list | tuple):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return any(_holds_reply(one, depth + 1) for one in inner)


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
