"""A fake OneBot 11 protocol end: a real WebSocket server and reverse client with a vendor's habits.

It shares no code with the bridge. Use it as ``async with ProtocolEnd(profile="napcat") as end``.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.kit.answers import SENDING, Answers, Received
from tests.kit.frames import Message, message_event
from tests.kit.profiles import PROFILES


class ProtocolEnd:
    """One bot account. ``sent`` holds the sending actions in order of arrival, ``calls`` all of them."""

    def __init__(
        self,
        profile: str = "napcat",
        self_id: str = "10001",
        token: str = "",
        *,
        heartbeat: float | None = None,
        report_self: bool = False,
        lifecycle: bool = True,
    ) -> None:
        self.profile = PROFILES[profile]
        self.self_id = self_id
        self.token = token
        self.heartbeat = self.profile.heartbeat if heartbeat is None else heartbeat
        self.report_self = report_self
        self.lifecycle = lifecycle
        self.answers = Answers(self_id, self.profile.negative_ids)
        self.calls: list[Received] = []
        self.handshakes = 0
        self.refusals = 0
        self.connections: list[Connection] = []
        self.port = 0
        self.reverse_error: Exception | None = None
        self._server: Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()
        self._events: set[Connection] = set()

    # Life

    async def __aenter__(self) -> ProtocolEnd:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """Where to dial it."""
        return f"ws://127.0.0.1:{self.port}/"

    async def start(self) -> None:
        """Listen; after a ``stop`` on the same port as before."""
        self._server = await serve(
            self._accepted, "127.0.0.1", self.port, max_size=64 * 2**20, compression=None, close_timeout=1
        )
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def stop(self) -> None:
        """Vanish: links are cut, nothing listens any more."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if self._server is not None:
            self._server.close(close_connections=False)
        await self.drop()
        if self._server is not None:
            await self._server.wait_closed()
            self._server = None
        await asyncio.gather(*tasks, return_exceptions=True)

    async def drop(self) -> None:
        """Cut every link without a word, as a crash does."""
        for connection in list(self.connections):
            connection.transport.abort()
        async with asyncio.timeout(5), self._changed:
            await self._changed.wait_for(lambda: not self.connections)

    async def connect_reverse(
        self, url: str, token: str = "", *, role: str = "Universal", reconnect: float | None = None, **headers: str
    ) -> None:
        """Dial the bridge; returns once connected. ``reconnect``: seconds between tries after a loss.

        Raises what the handshake raised, when the first try fails and no reconnect is asked for.
        """
        self.reverse_error = None
        before = self.handshakes
        headers = {
            "Authorization": f"Bearer {token}",
            "X-Self-ID": self.self_id,
            "x-client-role": role,
            "User-Agent": self.profile.user_agent,
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        self._spawn(self._dial(url, headers, reconnect))
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: self.handshakes > before or self.reverse_error is not None)
        if self.reverse_error is not None and reconnect is None:
            raise self.reverse_error

    async def wait_connected(self, count: int = 1, timeout: float = 5.0) -> None:
        """Wait until this many links that take events are open."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: len(self._events) >= count)

    # What happens in QQ

    async def group_message(
        self,
        group_id: str | int,
        user_id: str | int,
        message: Message,
        *,
        role: str = "member",
        card: str = "",
        message_id: int | None = None,
        time: int | None = None,
        **fields: Any,
    ) -> int:
        """Somebody speaks in a group; returns the message id. Lost when nobody is connected, as in life."""
        sender = {"user_id": int(user_id), "nickname": f"用户{user_id}", "card": card, "role": role}
        where = {"message_type": "group", "sub_type": "normal", "group_id": int(group_id), "sender": sender}
        return await self._speak(user_id, message, message_id, time, {**where, **fields})

    async def private_message(
        self,
        user_id: str | int,
        message: Message,
        *,
        message_id: int | None = None,
        time: int | None = None,
        **fields: Any,
    ) -> int:
        """Somebody writes to the bot; returns the message id."""
        sender = {"user_id": int(user_id), "nickname": f"用户{user_id}"}
        where = {"message_type": "private", "sub_type": "friend", "sender": sender}
        return await self._speak(user_id, message, message_id, time, {**where, **fields})

    async def notice(self, notice_type: str, **fields: Any) -> None:
        """A notice event."""
        await self.event({"post_type": "notice", "notice_type": notice_type, **fields})

    async def request(self, request_type: str, **fields: Any) -> None:
        """A request event."""
        await self.event({"post_type": "request", "request_type": request_type, **fields})

    async def event(self, event: dict[str, Any]) -> None:
        """Any event; ``time`` and ``self_id`` are filled in when absent."""
        filled = {"time": int(time.time()), "self_id": int(self.self_id), **event}
        await self.frame(json.dumps(filled, ensure_ascii=False))

    async def frame(self, frame: str | bytes) -> None:
        """Raw frames: str as text, bytes as binary, to every link that takes events."""
        for connection in list(self._events):
            with suppress(ConnectionClosed):
                await connection.send(frame)

    # How it answers

    def refuse(self, action: str, retcode: int = 1200, message: str = "消息发送失败") -> None:
        """Answer this action with a failure from now on."""
        self.answers.refused[action] = (retcode, message)

    def mute_answers(self, *actions: str) -> None:
        """Never answer these actions (all when none is named)."""
        self.answers.muted |= set(actions or ("*",))

    def unmute_answers(self) -> None:
        """Answer everything again."""
        self.answers.muted.clear()

    def delay_answers(self, seconds: float, action: str = "*") -> None:
        """Answer this action later."""
        self.answers.delays[action] = seconds

    # What arrived

    @property
    def sent(self) -> list[Received]:
        """Everything that would be visible in QQ, in the order of arrival."""
        return [call for call in self.calls if call.action.startswith(SENDING)]

    async def wait_sent(
        self, count: int = 1, *, predicate: Callable[[Received], bool] = lambda _: True, timeout: float = 5.0
    ) -> list[Received]:
        """Wait until ``count`` sending actions fit; returns those that do. Raises TimeoutError."""
        return await self._wait(lambda: [call for call in self.sent if predicate(call)], count, timeout)

    async def wait_calls(self, action: str, count: int = 1, timeout: float = 5.0) -> list[Received]:
        """Wait until this action arrived ``count`` times; returns those calls. Raises TimeoutError."""
        return await self._wait(lambda: [call for call in self.calls if call.action == action], count, timeout)

    # Inside

    async def _wait(self, found: Callable[[], list[Received]], count: int, timeout: float) -> list[Received]:
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: len(found()) >= count)
        return found()

    async def _speak(
        self, user_id: str | int, message: Message, message_id: int | None, at: int | None, fields: dict[str, Any]
    ) -> int:
        number = self.answers.next_id() if message_id is None else message_id
        base = message_event(self.self_id, str(user_id), message, message_id=number, message_seq=number)
        await self.event({**base, "time": int(time.time()) if at is None else at, **fields})
        return number

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accepted(self, connection: ServerConnection) -> None:
        request = connection.request
        assert request is not None
        parts = urlsplit(request.path)
        if self.token and self._presented(request.headers, parts.query) != self.token:
            self.refusals += 1
            await self._note(handshakes=1)
            failure = {"status": "failed", "retcode": 1403, "data": None, "message": "token验证失败", "echo": None}
            await connection.send(json.dumps(failure, ensure_ascii=False))
            await connection.close(self.profile.refusal_code)
            return
        path = parts.path.rstrip("/") or "/"
        silent = self.profile.silent_paths and path not in ("/", "/api", "/event")
        await self._serve(connection, events=not silent and path != "/api", silent=silent)

    def _presented(self, headers: Any, query: str) -> str:
        header = str(headers.get("Authorization", "")).removeprefix("Bearer ").strip()
        asked = next(iter(parse_qs(query).get("access_token", [])), "")
        return (header or asked) if self.profile.header_wins else (asked or header)

    async def _dial(self, url: str, headers: dict[str, str], reconnect: float | None) -> None:
        agent = headers.pop("User-Agent")
        while True:
            try:
                async with connect(
                    url, additional_headers=headers, user_agent_header=agent, proxy=None, compression=None,
                    max_size=64 * 2**20, close_timeout=1,
                ) as connection:  # fmt: skip
                    role = headers["x-client-role"].lower()
                    await self._serve(connection, events=role != "api", silent=False)
            except (OSError, InvalidHandshake) as error:
                self.reverse_error = error
                await self._note()
            if reconnect is None:
                return
            await asyncio.sleep(reconnect)

    async def _serve(self, connection: ServerConnection | ClientConnection, *, events: bool, silent: bool) -> None:
        self.connections.append(connection)
        if events:
            self._events.add(connection)
        beat = asyncio.create_task(self._beat(connection)) if events and self.heartbeat else None
        try:
            if events and self.lifecycle:
                await self._meta(connection, meta_event_type="lifecycle", sub_type="connect")
            await self._note(handshakes=1)
            async for frame in connection:
                if not silent:
                    await self._called(connection, frame)
        except ConnectionClosed:
            pass
        finally:
            if beat is not None:
                beat.cancel()
            self._events.discard(connection)
            self.connections.remove(connection)
            await self._note()

    async def _note(self, handshakes: int = 0) -> None:
        async with self._changed:
            self.handshakes += handshakes
            self._changed.notify_all()

    async def _called(self, connection: Connection, frame: str | bytes) -> None:
        call = json.loads(frame)
        received = Received(call["action"], call.get("params") or {}, time.monotonic(), call.get("echo"))
        answer = self.answers.answer(received)
        self.calls.append(received)
        await self._note()
        if received.message_id is not None and self.report_self:
            await self._report(received)
        if self.answers.is_muted(received.action):
            return
        delay = self.answers.delay(received.action)
        if delay:
            self._spawn(self._answer_later(connection, call, answer, delay))
        else:
            await self._answer(connection, call, answer)

    async def _answer_later(self, connection: Connection, call: Any, answer: Any, delay: float) -> None:
        await asyncio.sleep(delay)
        with suppress(ConnectionClosed):
            await self._answer(connection, call, answer)

    async def _answer(self, connection: Connection, call: dict[str, Any], answer: dict[str, Any]) -> None:
        body = {**dict(self.profile.extra_answer), **answer}
        if body["status"] == "failed":
            body["wording"] = body["message"]
        if call.get("echo") is not None:
            body["echo"] = call["echo"]
        elif self.profile.echo_missing == "empty":
            body["echo"] = ""
        await connection.send(json.dumps(body, ensure_ascii=False))

    async def _report(self, received: Received) -> None:
        params = received.params
        group = params.get("group_id")
        where = {"message_type": "group", "group_id": group} if group else {"message_type": "private"}
        target = group or params.get("user_id")
        event = message_event(self.self_id, self.self_id, params.get("message", ""), message_id=received.message_id)
        extra = dict.fromkeys(self.profile.self_extra, target)
        await self.event({**event, **where, **extra, "post_type": "message_sent", "sub_type": "normal"})

    async def _beat(self, connection: Connection) -> None:
        while True:
            await asyncio.sleep(self.heartbeat)
            status = {"online": True, "good": True}
            interval = int(self.heartbeat * 1000)
            with suppress(ConnectionClosed):
                await self._meta(connection, meta_event_type="heartbeat", status=status, interval=interval)

    async def _meta(self, connection: Connection, **fields: Any) -> None:
        base = {"time": int(time.time()), "self_id": int(self.self_id), "post_type": "meta_event"}
        await connection.send(json.dumps({**base, **fields}, ensure_ascii=False))


def texts(calls: Iterable[Received]) -> list[str]:
    """The texts of sent messages."""
    return [call.text for call in calls]
