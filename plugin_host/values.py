"""The frozen values that cross the program: Event, Segment, Reply, Change, Action, Outcome, and the ports.

Every id is a string inside the host; JSON integers exist on the OneBot 11 wire only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from plugin_host.store.tx import Tx

EventKind = Literal["message", "notice", "request", "meta", "timer", "internal"]
Role = Literal["member", "admin", "owner"]
ReplySource = Literal["command", "ai", "tool", "timer", "notice"]
Surface = Literal["group", "private", "command", "scheduled", "test"]
Side = Literal["group", "private"]


def side_of(session: str) -> Side:
    """Whether a session id (``group:1``, ``private:2``, ``discord/group:3``) names a group or a private chat."""
    return "group" if session.rpartition("/")[2].startswith("group:") else "private"


@dataclass(frozen=True, slots=True)
class Segment:
    """One OneBot 11 message segment; ``data`` values are strings (``node`` content may nest)."""

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def text(cls, text: str) -> Segment:
        """A plain text segment; the only form in which text of people, tools and models leaves."""
        return cls("text", {"text": text})


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote a message: nickname, group card, role in the group, special title."""

    name: str = ""
    card: str = ""
    role: Role = "member"
    title: str = ""

    @property
    def shown(self) -> str:
        """The name people see in the chat."""
        return self.card or self.name


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a session.

    ``session`` is ``group:<id>`` or ``private:<id>``; ``door`` is where it came in and where replies leave:
    ``<platform>:<self_id>`` for an account, ``terminal:<random>`` for a terminal; ``time`` is unix seconds (UTC).
    """

    key: str
    kind: EventKind
    session: str
    platform: str = "QQ"
    self_id: str = ""
    user_id: str | None = None
    sender: Sender = Sender()
    message_id: str | None = None
    segments: tuple[Segment, ...] = ()
    text: str = ""
    time: float = 0.0
    addressed: bool = False
    raw: bytes | None = None
    door: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_group(self) -> bool:
        """True when the session is a group."""
        return side_of(self.session) == "group"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer before it is split into actions. ``to`` private needs ``user_id``; ``hidden`` never enters a model."""

    session: str
    segments: tuple[Segment, ...]
    to: Side = "group"
    user_id: str | None = None
    quote: str | None = None
    hidden: bool = False
    source: ReplySource = "command"
    on_failed: str | None = None

    def __repr__(self) -> str:
        """Of a hidden reply only the addressee: a log or a careless tool must not show its text."""
        said = "<hidden>" if self.hidden else self.text
        return f"Reply({self.session!r}, {said!r}, to={self.to!r}, user_id={self.user_id!r}, source={self.source!r})"

    @property
    def text(self) -> str:
        """The text segments joined; other segments shown as ``[type]``."""
        return "".join(str(s.data.get("text", "")) if s.type == "text" else f"[{s.type}]" for s in self.segments)


@dataclass(frozen=True, slots=True)
class Private:
    """What a command returns to answer its asker privately.

    ``text`` goes to the person only and is hidden from the group, the model and every log; ``notice`` is said in the
    group; ``refused`` is said in the group when the private message could not be delivered.
    """

    text: str = field(repr=False)
    notice: str | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change that commits with its reply in one savepoint.

    ``work(tx)`` runs SQL and arithmetic on the writer thread (no await, no network, no sleep); ``words(value)`` turns
    its value into what a handler may return (str, Reply, Private or None).
    """

    work: Callable[[Tx], Any]
    words: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Action:
    """One OneBot 11 action on its way out; ``key`` is ``<event>:<step>:<n>`` and unique."""

    key: str
    session: str
    door: str
    action: str
    params: Mapping[str, Any]
    hidden: bool = False
    source: ReplySource = "command"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a sent action. ``unknown``: it was written and no answer came."""

    status: Literal["sent", "failed", "unknown"]
    message_id: str | None = None
    retcode: int = 0
    error: str = ""
    data: Any = None


class Channel(Protocol):
    """The way out of one door. ``send`` never raises for what the peer does: it returns an Outcome."""

    @property
    def door(self) -> str:
        """The door's name as events and rows carry it."""
        ...

    async def send(self, action: Action, timeout: float) -> Outcome:
        """Write the action once and wait at most ``timeout`` seconds for its answer."""
        ...


class CorePort(Protocol):
    """How the host reaches the protocol end for actions that send nothing."""

    async def call(self, self_id: str, action: str, params: Mapping[str, Any]) -> Any:
        """Return the action's ``data``; raises ActionFailedError, OutcomeUnknownError or BridgeError."""
        ...
