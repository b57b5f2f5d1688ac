"""The plugins' key-value rows: apart by plugin, scope and owner; JSON only, at most 64 KiB."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_host.errors import InvalidArgumentsError
from plugin_host.store import Database
from plugin_host.store.kept import VALUE_LIMIT, encode, get_kept, kept_names, set_kept

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


async def put(store: Database, name: str, value: Any, plugin: str = "p", scope: str = "bot", owner: str = "") -> None:
    await store.unit(lambda tx: set_kept(tx, plugin, scope, owner, name, value))


async def get(store: Database, name: str, plugin: str = "p", scope: str = "bot", owner: str = "") -> Any:
    return await store.read(lambda tx: get_kept(tx, plugin, scope, owner, name))


async def test_a_value_is_replaced_and_forgotten(store: Database) -> None:
    assert await get(store, "n") is None
    await put(store, "n", {"a": [1, 2.5, "三", None, True]})
    assert await get(store, "n") == {"a": [1, 2.5, "三", None, True]}
    await put(store, "n", 0)
    assert await get(store, "n") == 0
    await put(store, "n", None)
    assert await get(store, "n") is None
    assert await store.read(lambda tx: kept_names(tx, "p", "bot", "")) == []


async def test_plugins_scopes_and_owners_do_not_meet(store: Database) -> None:
    places = [("p", "bot", ""), ("q", "bot", ""), ("p", "person", "1"), ("p", "person", "2"), ("p", "session", "1")]
    for number, place in enumerate(places):
        await put(store, "n", number, *place)
    assert [await get(store, "n", *place) for place in places] == [0, 1, 2, 3, 4]
    await put(store, "n", None, "p", "person", "1")
    assert [await get(store, "n", *place) for place in places] == [0, 1, None, 3, 4]


async def test_names_are_sorted(store: Database) -> None:
    for name in ("b", "a", "c"):
        await put(store, name, 1)
    assert await store.read(lambda tx: kept_names(tx, "p", "bot", "")) == ["a", "b", "c"]


@pytest.mark.parametrize("letter", ["x", "é", "骰", "🎲"])
async def test_a_value_may_have_64_kib_of_utf8_and_no_byte_more(store: Database, letter: str) -> None:
    width = len(letter.encode())
    filler = "x" * ((VALUE_LIMIT - 2) % width)
    fits = letter * ((VALUE_LIMIT - 2) // width) + filler
    assert VALUE_LIMIT == 64 * 1024
    assert len(encode("n", fits).encode()) == VALUE_LIMIT
    await put(store, "n", fits)
    with pytest.raises(InvalidArgumentsError, match=f"n 超过 {VALUE_LIMIT} 字节"):
        await put(store, "n", fits + "x")
    assert await get(store, "n") == fits


@pytest.mark.parametrize("value", [{1, 2}, math.nan, math.inf, object(), b"bytes"])
async def test_what_is_no_json_is_refused_by_name(store: Database, value: Any) -> None:
    with pytest.raises(InvalidArgumentsError, match="存储值 luck 不是 JSON"):
        await put(store, "luck", value)
    assert await get(store, "luck") is None


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(InvalidArgumentsError, match="不是 JSON"):
        encode("n", ring)


def test_a_value_nested_too_deeply_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidArgumentsError, match="不是 JSON"):
        encode("n", deep)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidArgumentsError, match="不是 JSON"):
        encode("n", "\ud83c")


@given(JSON.filter(lambda value: value is not None))
def test_json_survives(value: Any) -> None:
    try:
        text = encode("n", value)
    except InvalidArgumentsError:
        return
    assert json.loads(text) == value
