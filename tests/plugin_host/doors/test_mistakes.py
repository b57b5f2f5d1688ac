"""Mistakes at the command line: one sentence that says where, what was expected and what came."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plugin_host.doors.checkup import check
from plugin_host.doors.terminal import Speaker
from plugin_host.errors import HostError
from tests.kit.bot import cli


@pytest.mark.parametrize("session", ["group:100", "private:1001", "discord/group:abc-1", "group:" + "1" * 64])
def test_sessions_that_can_be_meant(session: str) -> None:
    assert Speaker(session, "1001", "member").session == session


@pytest.mark.parametrize(
    "session", ["", "foo", "group:", "group:1\n2", "group:1\n", "group:../../x", "group:" + "1" * 65]
)
def test_a_session_that_cannot_be_meant_is_refused(session: str) -> None:
    with pytest.raises(HostError, match="--session 应写成 group:群号"):
        Speaker(session, "1001", "member")


@pytest.mark.parametrize("user", ["", "a b", "1\n", "1" * 65])
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


@pytest.mark.parametrize(
    "command", [["check"], ["tools"], ["journal"], ["new-plugin", "mine"], ["say", ".r d6"], ["chat"], ["run"]],
    ids=lambda command: command[0],
)  # fmt: skip
async def test_a_home_that_is_a_file_is_one_sentence_for_every_command(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    code, _, err = await cli(tmp_path / "file", *command)
    assert (code, err) == (1, f"{tmp_path / 'file'} 不是目录；请检查 --home\n")


@pytest.mark.parametrize("command", ["check", "tools", "journal"])
async def test_what_only_reads_needs_a_home_that_is_there(tmp_path: Path, command: str) -> None:
    code, out, err = await cli(tmp_path / "none", command)
    assert (code, out, err) == (1, "", f"目录 {tmp_path / 'none'} 不存在；请检查 --home\n")
    assert os.listdir(tmp_path) == []


async def test_a_home_is_made_when_its_parent_is_there(tmp_path: Path) -> None:
    code, out, _ = await cli(tmp_path / "new", "say", ".r d6")
    assert (code, "掷出了" in out) == (0, True)
    assert (tmp_path / "new" / "data").is_dir()


@pytest.mark.parametrize("blocked", ["data", "data/lock", "data/lock.holder"])
async def test_a_data_path_that_cannot_be_used_is_one_sentence(tmp_path: Path, blocked: str) -> None:
    if blocked == "data":
        (tmp_path / "data").write_text("x", encoding="utf-8")
    else:
        (tmp_path / blocked).mkdir(parents=True)
    code, out, err = await cli(tmp_path, "say", ".r d6")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"不能在 {tmp_path / 'data'} 存放数据（")
    assert "paths.data" in err


async def test_a_plugin_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "plugins").write_text("x", encoding="utf-8")
    code, out, err = await cli(tmp_path, "new-plugin", "mine")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"不能写到 {tmp_path / 'plugins'}（")


async def test_a_wrong_session_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    for command in (["say", "hi"], ["chat"]):
        code, out, err = await cli(tmp_path / "new", *command, "--session", "foo")
        assert (code, out, err) == (1, "", "--session 应写成 group:群号 或 private:号码，实际是 'foo'\n")
    assert os.listdir(tmp_path) == []
    code, _, err = await cli(tmp_path, "journal", "--session", "foo")
    assert (code, err.startswith("--session 应写成")) == (1, True)


async def test_what_a_plugin_posts_while_it_starts_is_printed_by_say(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "greeter.py").write_text(
        "from plugin_host import hookimpl\n@hookimpl\nasync def startup(host):\n"
        "    await host.post('group:100', '我来了')\n",
        encoding="utf-8",
    )
    code, out, _ = await cli(tmp_path, "say", ".r d6")
    assert (code, out.splitlines()[0]) == (0, "我来了")


def test_the_tools_of_a_plugin_that_is_off_are_known_names(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "plugins: {disabled: [dice]}\ntools: {blocked: [roll_dice, roll_dise]}\n", encoding="utf-8"
    )
    found = {finding.name: finding.fix for finding in check(tmp_path) if not finding.ok}
    assert found == {"tools.blocked.roll_dise": "是不是 roll_dice？"}


def test_a_name_that_a_plugin_of_the_home_which_does_not_run_may_have_is_a_warning_only(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "mine.py").write_text("1 / 0\n", encoding="utf-8")
    (tmp_path / "config.yaml").write_text("plugins: {disabled: [mine]}\ntools: {blocked: [my_tool]}\n", "utf-8")
    [finding] = [finding for finding in check(tmp_path) if finding.name == "tools.blocked.my_tool"]
    assert (finding.ok, "关着或没加载的插件" in finding.message) == (True, True)


def test_names_that_mean_nothing_are_told_in_english(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("language: en\nplugins: {disabled: [dize]}\n", encoding="utf-8")
    [finding] = [finding for finding in check(tmp_path) if not finding.ok]
    assert (finding.message, finding.fix) == (
        "dize in plugins.disabled names no plugin and has no effect", "did you mean dice?",
    )  # fmt: skip
