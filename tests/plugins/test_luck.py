"""今日人品: the same for one person on one day, and what everybody copies stays short."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from plugin_host.config.settings import PluginSettings
from plugin_host.loading.loader import Loader
from plugin_host.registry import Registry
from plugins import luck
from tests.kit.plugin_home import context


def number(user: str = "1001", sent_at: str = "2026-05-01T12:00:00.000Z", zone: str = "Asia/Shanghai") -> int:
    found = re.search(r"人品是 (-?\d+)$", luck.todays_luck(context(user_id=user, sent_at=sent_at, zone=zone)))
    assert found
    return int(found[1])


@given(st.text(max_size=20))
def test_the_number_is_between_1_and_100(user: str) -> None:
    assert 1 <= number(user) <= 100


def test_every_number_comes_up() -> None:
    assert {number(str(user)) for user in range(3000)} == set(range(1, 101))


def test_it_stays_the_same_all_day_and_changes_with_the_day_of_the_bot() -> None:
    # 2026-05-01 in Shanghai lasts from 16:00 UTC of the day before to 16:00 UTC.
    within = {
        number(sent_at=f"2026-{time}Z") for time in ("04-30T16:00:00.000", "05-01T03:00:00.000", "05-01T15:59:59.999")
    }
    assert len(within) == 1
    before = [number(str(user), "2026-04-30T15:59:59.999Z") for user in range(20)]
    after = [number(str(user), "2026-04-30T16:00:00.000Z") for user in range(20)]
    assert before != after


def test_two_people_have_their_own() -> None:
    assert len({number(str(user)) for user in range(20)}) > 5


def test_the_name_is_in_the_answer() -> None:
    assert luck.todays_luck(context()).startswith("小明今天的人品是 ")
    assert luck.todays_luck(context(name="")).startswith("你今天的人品是 ")


def test_it_answers_to_three_words_and_is_a_tool() -> None:
    registry = Registry()
    Loader(registry, PluginSettings()).load_all()
    for word in ("jrrp", "今日人品", "luck"):
        assert [match.command.source.id for match in registry.match(word)] == ["luck"]
    tool = registry.tool("todays_luck")
    assert tool is not None
    assert tool.input_schema["properties"] == {}
    assert tool.annotations.read_only


def test_what_everybody_copies_has_at_most_fifteen_lines_of_code() -> None:
    lines = Path(luck.__file__).read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 15
