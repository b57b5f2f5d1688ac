"""Registry: look-up by name, collisions whatever the order, drop and return of owners."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin_host.errors import HostError
from plugin_host.registry import Collision, Contribution, Registry
from plugin_host.tools import Source
from tests.kit.toolroom import tool


def nothing() -> None: ...


def offer(
    owner: str, *tools: str, kind: Any = "plugin", words: tuple[str, ...] = (), service: str = ""
) -> Contribution:
    """What one owner registers: tools by name, one command with these words, one service."""
    contribution = Contribution(Source(kind, owner))
    for name in tools:
        contribution.tool(tool(name, kind=kind, source=owner))
    if words:
        contribution.command(nothing, words)
    if service:
        contribution.service(service, owner)
    return contribution


def registry_of(*contributions: Contribution) -> Registry:
    registry = Registry()
    for contribution in contributions:
        registry.install(contribution)
    return registry


def seen(registry: Registry) -> Any:
    """All that can be looked up, in a form that two registries can be compared by."""
    tools = [(one.name, one.source.id) for one in registry.tools]
    commands = [(one.name, one.words, one.source.id) for one in registry.commands]
    lines = [[match.command.source.id for match in registry.match(word)] for word in ("a", "b", "c")]
    aliases = [getattr(registry.tool(name), "name", None) for name in ("a", "b", "x.y", "x__y")]
    services = [registry.service(name) for name in ("a", "b")]
    return tools, commands, lines, aliases, services, registry.collisions


def test_tools_are_found_by_name_and_alias_and_listed_by_name() -> None:
    registry = registry_of(offer("one", "web.fetch", "b"), offer("two", "a"))
    assert [one.name for one in registry.tools] == ["a", "b", "web.fetch"]
    assert registry.tool("web__fetch") is registry.tool("web.fetch")
    assert registry.tool("web") is None
    assert registry.tool("") is None


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_two_external_owners_of_a_name_both_lose_it(order: tuple[int, ...]) -> None:
    both = [offer("one", "same", "mine"), offer("two", "same")]
    registry = registry_of(*(both[i] for i in order))
    assert registry.tool("same") is None
    assert registry.tool("mine") is not None
    assert registry.collisions == (Collision("tool", "same", ("one", "two")),)
    assert str(registry.collisions[0]) == "工具名 same 重复：one、two 都想用"


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_built_in_wins_over_every_other(order: tuple[int, ...]) -> None:
    three = [offer("house", "same", kind="builtin"), offer("one", "same"), offer("two", "same")]
    registry = registry_of(*(three[i] for i in order))
    assert registry.tool("same") is three[0].tools[0]
    assert registry.collisions == (Collision("tool", "same", ("house", "one", "two")),)


def test_a_built_in_name_stays_reserved_when_its_plugin_is_off() -> None:
    registry = registry_of(offer("house", "same", kind="builtin"))
    registry.drop("house")
    registry.install(offer("one", "same"))
    assert registry.tool("same") is None
    assert registry.collisions == (Collision("tool", "same", ("house", "one")),)


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_an_alias_that_two_external_names_share_is_refused_for_both(order: tuple[int, ...]) -> None:
    both = [offer("one", "x.y"), offer("two", "x__y")]
    registry = registry_of(*(both[i] for i in order))
    assert (registry.tool("x.y"), registry.tool("x__y")) == (None, None)
    assert [(found.kind, found.name) for found in registry.collisions] == [("alias", "x__y")]


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_a_built_in_keeps_its_alias(order: tuple[int, ...]) -> None:
    both = [offer("house", "x.y", kind="builtin"), offer("two", "x__y")]
    registry = registry_of(*(both[i] for i in order))
    assert [one.name for one in registry.tools] == ["x.y"]
    assert registry.tool("x__y") is registry.tool("x.y")
    assert [(found.kind, found.name) for found in registry.collisions] == [("alias", "x__y")]


@pytest.mark.parametrize(("length", "shared"), [(63, False), (64, True)])
def test_names_that_agree_in_64_characters_share_an_alias(length: int, shared: bool) -> None:
    registry = registry_of(offer("one", "a" * length + "b", "a" * length + "c"))
    assert bool(registry.collisions) is shared
    assert len(registry.tools) == (0 if shared else 2)


def test_a_command_word_of_two_external_owners_reaches_neither() -> None:
    registry = registry_of(offer("one", words=("a", "b")), offer("two", words=("b", "c")))
    reached = {word: [match.command.source.id for match in registry.match(word)] for word in "abc"}
    assert reached == {"a": ["one"], "b": [], "c": ["two"]}


def test_a_match_carries_what_follows_the_word() -> None:
    registry = registry_of(offer("one", words=("jrrp", "今日人品")))
    (match,) = registry.match("JRRP  明天 ")
    assert (match.args.word, match.args.rest) == ("jrrp", "明天")


def test_dropping_an_owner_frees_external_names() -> None:
    registry = registry_of(offer("one", "same"), offer("two", "same"))
    registry.drop("one")
    registry.drop("nobody")
    assert registry.tool("same") is not None
    assert registry.collisions == ()


def test_a_new_contribution_takes_the_place_of_the_former() -> None:
    registry = registry_of(offer("one", "old", words=("old",), service="s"))
    registry.install(offer("one", "new"))
    assert [one.name for one in registry.tools] == ["new"]
    assert list(registry.match("old")) == []
    assert registry.service("s") is None


def test_collisions_with_tells_before_anything_is_installed() -> None:
    registry = registry_of(offer("one", "same"))
    assert registry.collisions_with(offer("two", "same", "free")) == (Collision("tool", "same", ("one", "two")),)
    assert registry.collisions_with(offer("one", "same")) == ()
    assert [one.source.id for one in registry.tools] == ["one"]


def test_a_contribution_that_repeats_itself_is_refused_and_changes_nothing() -> None:
    registry = registry_of(offer("one", "kept"))
    with pytest.raises(HostError, match="tool twice registered twice by one"):
        registry.install(offer("one", "twice", "twice"))
    with pytest.raises(HostError, match="command word a registered twice by one"):
        registry.install(offer("one", words=("a", "A")))
    with pytest.raises(HostError, match="'s' is offered twice"):
        offer("one", service="s").service("s", 1)
    assert [one.name for one in registry.tools] == ["kept"]


owners = st.fixed_dictionaries(
    {
        "tools": st.lists(st.sampled_from(["a", "b", "x.y", "x__y"]), unique=True, max_size=3),
        "words": st.lists(st.sampled_from(["a", "b", "c"]), unique=True, max_size=2),
        "service": st.sampled_from(["", "a", "b"]),
        "kind": st.sampled_from(["builtin", "plugin"]),
    }
)


@given(st.lists(owners, min_size=2, max_size=4), st.data())
def test_nothing_depends_on_the_order_of_registration(listed: list[dict[str, Any]], data: st.DataObject) -> None:
    made = [
        offer(f"owner{n}", *one["tools"], kind=one["kind"], words=tuple(one["words"]), service=one["service"])
        for n, one in enumerate(listed)
    ]
    shuffled = data.draw(st.permutations(made))
    assert seen(registry_of(*made)) == seen(registry_of(*shuffled))
