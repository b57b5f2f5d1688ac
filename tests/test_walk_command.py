"""A command over real sockets, and what a home survives: broken plugins, a plugin that kills the process."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

from tests.kit.bot import Bot, cli, cli_json
from tests.kit.protocol_end import ProtocolEnd, texts

BROKEN = Path(__file__).parent / "broken_plugins"

KILLER = '''
"""会让程序退出的插件。"""
import os

from plugin_host import CallContext, hookimpl


async def die(ctx: CallContext) -> str:
    """退出。"""
    os._exit(3)


@hookimpl
def register_commands(register):
    register(die, words=("die",))
'''


def config(end: ProtocolEnd, **more: Any) -> dict[str, Any]:
    return {"masters": ["9001"], "bridge": {"listen": "127.0.0.1:0", "protocol": [{"url": end.url}]}, **more}


async def test_a_command_travels_from_frame_to_frame(tmp_path: Path) -> None:
    async with ProtocolEnd(profile="llbot") as end, Bot(tmp_path / "home", config(end)) as bot:
        await end.wait_connected()
        await end.group_message("500", "1001", ".r 3d6+2 力量", card="阿强")
        (sent,) = await end.wait_sent(1)
        assert (sent.action, sent.params["group_id"]) == ("send_group_msg", 500)
        assert sent.text.startswith("由于力量，阿强 掷出了 3d6+2=")
        await end.private_message("1001", ".r d20")
        sent = (await end.wait_sent(2))[-1]
        assert (sent.action, sent.params["user_id"]) == ("send_private_msg", 1001)
        assert await bot.stop() == 0


async def test_a_hidden_roll_that_cannot_be_delivered_is_told_in_the_group(tmp_path: Path) -> None:
    async with ProtocolEnd() as end, Bot(tmp_path / "home", config(end)) as bot:
        await end.wait_connected()
        end.refuse("send_private_msg")
        await end.group_message("500", "1001", ".rh d100 潜行")
        sent = await end.wait_sent(3)
        assert [call.action for call in sent] == ["send_group_msg", "send_private_msg", "send_group_msg"]
        assert "没能私聊送达" in sent[2].text
        assert sent[1].text.split("=")[-1] not in sent[0].text + sent[2].text
        await bot.stop()
        journal = await cli_json(bot.home, "journal", "--limit", "0")
        failed = [line["payload"] for line in journal if line["type"] == "send.failed"]
        assert [(line["hidden"], line["source"]) for line in failed] == [(True, "command")]
        assert bot.rows("select count(*) from outbox where hidden = 1 and params is not null") == [(0,)]


async def test_six_broken_plugins_hurt_nobody_else(tmp_path: Path) -> None:
    """The home still answers; `check` exits 1 and names each file, line and reason."""
    home = tmp_path / "home"
    shutil.copytree(BROKEN, home / "plugins", ignore=shutil.ignore_patterns("__pycache__", "ruff.toml"))
    (home / "config.yaml").write_text(json.dumps({"plugins": {"import_limit": 1.0}}), encoding="utf-8")
    files = sorted(path.name for path in (home / "plugins").glob("*.py"))
    assert len(files) == 6
    code, out, err = await cli(home, "say", ".r d6")
    assert (code, "掷出了 d6=" in out) == (0, True)
    assert "Traceback" not in out + err
    code, out, _ = await cli(home, "check", "--json")
    found = [finding for finding in json.loads(out) if not finding["ok"]]
    assert code == 1
    assert sorted(Path(finding["file"]).name for finding in found) == files
    assert all(finding["line"] and finding["message"] for finding in found)


async def test_an_event_that_kills_the_process_is_tried_twice_then_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "plugins").mkdir(parents=True)
    (home / "plugins" / "killer.py").write_text(KILLER, encoding="utf-8")
    async with ProtocolEnd() as end:
        bot = Bot(home, config(end))
        await bot.start()
        await end.wait_connected()
        await end.group_message("500", "1001", ".die")
        async with asyncio.timeout(10):
            assert await bot.ended() == 3
        await bot.start(dies=True)
        async with asyncio.timeout(10):
            assert await bot.ended() == 3
        assert bot.rows("select attempts, state from events") == [(2, "open")]
        await bot.start()
        sent = await end.wait_sent(2, timeout=10)
        assert {call.action for call in sent} == {"send_group_msg", "send_private_msg"}
        assert any("两次意外退出" in text for text in texts(sent))
        assert any(call.params.get("user_id") == 9001 and "两次使程序退出" in call.text for call in sent)
        await end.group_message("500", "1001", ".r d6")
        assert "d6=" in (await end.wait_sent(3))[-1].text
        assert bot.rows("select state from events where attempts = 2") == [("failed",)]
        await bot.stop()


async def test_say_beside_a_running_bot_says_so_and_sends_nothing(tmp_path: Path) -> None:
    async with ProtocolEnd() as end, Bot(tmp_path / "home", config(end)) as bot:
        await end.wait_connected()
        code, out, err = await cli(bot.home, "say", ".r d6")
        assert (code, out) == (1, "")
        assert "plugin-host run 正在使用这个目录" in err
        assert end.sent == []
        assert bot.rows("select count(*) from events") == [(0,)]


async def test_two_says_on_one_home_wait_for_each_other(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    results = await asyncio.gather(*(cli(home, "say", ".r d6") for _ in range(3)))
    assert [code for code, _, _ in results] == [0, 0, 0]


async def test_five_mistakes_are_one_message_with_five_lines(tmp_path: Path) -> None:
    text = """\
bot:
  prefix: ["."]
send:
  timeout: soon
masters: [abc]
timezone: Mars/Base
bridge:
  allow_opne: true
"""
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    code, out, err = await cli(tmp_path, "say", ".r d6")
    lines = [line for line in err.splitlines() if "第 " in line]
    assert (code, out) == (1, "")
    assert "Traceback" not in err
    mistakes = {"bot.prefix": 2, "send.timeout": 4, "masters": 5, "timezone": 6, "bridge.allow_opne": 8}
    for path, line in mistakes.items():
        assert any(path in found and f"第 {line} 行" in found for found in lines), (path, err)
    assert len(lines) == 5
