"""The history of a session: in order, whole messages, the newest 400."""

from __future__ import annotations

from pathlib import Path

from plugin_host.calls import ToolCall
from plugin_host.conversation import Message
from plugin_host.store import Database
from plugin_host.store.history import KEEP, add_messages, last_messages, trim_history


async def add(store: Database, count: int, session: str = "group:1", first: int = 0) -> None:
    messages = [Message("user", str(number)) for number in range(first, first + count)]
    await store.unit(lambda tx: add_messages(tx, session, "event", messages, 1.0))


async def texts(store: Database, limit: int, session: str = "group:1") -> list[str]:
    return [message.text for message in await store.read(lambda tx: last_messages(tx, session, limit))]


async def trim(store: Database, session: str = "group:1") -> None:
    await store.unit(lambda tx: trim_history(tx, session))


async def test_messages_come_back_whole_and_in_order(path: Path) -> None:
    call = ToolCall("c1", "roll", {"expression": "d20"}, '{"expression": "d20"}', "native")
    said = [
        Message("user", "骰一个"),
        Message("assistant", "", (call,)),
        Message("tool", "20", call_id="c1", name="roll"),
        Message("assistant", "是 20"),
    ]
    first = Database(path).open()
    await first.unit(lambda tx: add_messages(tx, "group:1", "event", said, 1.0))
    first.close()
    second = Database(path).open()
    assert await second.read(lambda tx: last_messages(tx, "group:1", 10)) == said
    second.close()


async def test_the_newest_are_read_oldest_first(store: Database) -> None:
    await add(store, 5)
    assert await texts(store, 3) == ["2", "3", "4"]
    assert await texts(store, 5) == await texts(store, 6) == ["0", "1", "2", "3", "4"]
    assert await texts(store, 0) == []


async def test_nothing_added_is_nothing_kept(store: Database) -> None:
    await add(store, 0)
    await trim(store)
    assert await texts(store, 10) == []


async def test_400_messages_stay_and_of_401_the_oldest_goes(store: Database) -> None:
    assert KEEP == 400
    await add(store, 400)
    await trim(store)
    assert await texts(store, 1000) == [str(number) for number in range(400)]
    await add(store, 1, first=400)
    await trim(store)
    assert await texts(store, 1000) == [str(number) for number in range(1, 401)]
    await add(store, 900, first=401)
    await trim(store)
    assert await texts(store, 2000) == [str(number) for number in range(901, 1301)]


async def test_trimming_one_session_leaves_the_others(store: Database) -> None:
    await add(store, 401, "group:2")
    await add(store, 401)
    await trim(store)
    assert len(await texts(store, 1000)) == 400
    assert len(await texts(store, 1000, "group:2")) == 401
