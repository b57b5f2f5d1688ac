"""Mistakes at the command line: one sentence that says where, what was expected and what came."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugin_host.doors.checkup import check
from plugin_host.doors.terminal import Speaker
from plugin_host.errors import HostError
from tests.kit.bot import cli


@pytest.mark.parametrize("session", ["group:100", "private:1001", "discord/group:abc-1", "group:" + "1" * 64])
def test_sessions_that_can_be_meant(session: str) -> None:
    assert Speaker(session, "1001", "member").session == session


@pytest.mark.parametrize("session", ["", "foo", "group:", "group:1\n2", "group:../../x", "group:" + "1" * 65])
def test_a_session_that_cannot_be_meant_is_refused(session: str) -> None:
    with pytest.raises(HostError, match="--session 应写成 group:群号"):
        Speaker(session, "1001", "member")


@pytest.mark.parametrize("user", ["", "a b", "1" * 65])
def test_a_user_that_cannot_be_meant_is_refused(user: str) -> None:
    with pytest.raises(HostError, match="--user 应为号码"):
        Speaker("group:1", user, "member")


async def test_a_home_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    code, out, err = await cli(tmp_path / "file", "say", ".r d6")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "请检查 --home" in err
    code, _, err = await cli(tmp_path / "no" / "such", "say", ".r d6")
    assert (code, "上级目录也不存在" in err) == (1, True)
    assert not (tmp_path / "no").exists()


async def test_a_damaged_store_is_one_sentence_without_sql(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "host.db").write_bytes(b"no database " * 100)
    for command in (["say", ".r d6"], ["journal"]):
        code, _, err = await cli(tmp_path, *command)
        assert (code, err.count("\n")) == (1, 1)
        assert err.startswith("打不开数据库 host.db")


async def test_an_empty_message_is_refused_in_words(tmp_path: Path) -> None:
    code, out, err = await cli(tmp_path, "say", " ")
    assert (code, out, "有一条消息是空的" in err) == (1, "", True)


def test_names_that_mean_nothing_are_found_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "tools: {blocked: [roll_dise, roll_dice], default_off: [nope], privilege: {nope2: 50}}\n"
        "plugins: {disabled: [dize], nosuch2: {x: 1}}\n",
        encoding="utf-8",
    )
    found = {finding.name: finding.fix for finding in check(tmp_path) if not finding.ok}
    assert found == {
        "tools.blocked.roll_dise": "是不是 roll_dice？",
        "tools.default_off.nope": "",
        "tools.privilege.nope2": "",
        "plugins.disabled.dize": "是不是 dice？",
        "plugins.nosuch2": "",
    }
