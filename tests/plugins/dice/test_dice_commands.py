"""The dice commands and tools as people and the model meet them, in a host with the built-in plugins."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path

import pytest

from plugins.dice.chance import chance, exact, share
from tests.kit.host_room import HostRoom


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[HostRoom]:
    async with HostRoom(tmp_path, builtin=True, masters=["1001"]) as opened:
        yield opened


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (".r 4d6k3+2 力量", r"^由于力量，.* 掷出了 4d6k3\+2=\{\d\+\d\+\d\|\d\}\+2=\d+$"),
        (".r 3#d20+5", r"^.* 掷出了 3#d20\+5：\n1\. .*\n2\. .*\n3\. .*$"),
        (".r ３ｄ６＋２", r" 掷出了 3d6\+2="),
        (".r （1d6＋2）×2", r" 掷出了 \(1d6\+2\)\*2="),
        (".rd 攻击", r"^由于攻击，.* 掷出了 d100=\d+$"),
        (".rd20", r" 掷出了 d20=\d+$"),
        (".rd", r" 掷出了 d100=\d+$"),
        (".r 999999d6", r"^骰子太多"),
        (".r 1/0", r"^除数不能为零：1/0$"),
        (".r (((", r"^这里缺少一个数字或骰子$"),
        (".odds 3d6 >= 15", r"^3d6：3–18，平均 10\.50，标准差 2\.96\nP\(结果 >= 15\) = 9\.3%（5/54）\n"),
        (".odds 4d6k3", r"^4d6k3：3–18，平均 12\.24"),
        (".odds 3d6 原因", r"^看不懂表达式的这一部分：原因$"),
        (".odds 100d100k50", r"超出了计算量上限"),
        (".odds", r"\.odds 表达式 >= 点数"),
    ],
)
async def test_a_line_is_answered(room: HostRoom, line: str, answer: str) -> None:
    [said] = await room.say(line)
    assert re.search(answer, said)


async def test_a_hidden_roll_goes_to_the_roller_and_leaves_no_number_in_the_journal(room: HostRoom) -> None:
    notice, private = await room.say(".rh d1000000 潜行")
    assert "掷了一次暗骰（潜行）" in notice
    number = private.rpartition("=")[2]
    assert number not in notice + str(await room.journal())


async def test_odds_can_be_drawn(room: HostRoom) -> None:
    pytest.importorskip("matplotlib")
    await room.say(".odds 图 3d6")
    [segment] = room.channel.actions[-1].params["message"]
    assert segment["type"] == "image"
    assert base64.b64decode(segment["data"]["file"].removeprefix("base64://")).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("sign", "value"), [(">=", "5/54"), (">", "5/108"), ("<=", "103/108"), ("<", "49/54"), ("=", "5/108")]
)
def test_each_comparison_is_exact(sign: str, value: str) -> None:
    assert chance(exact("3d6"), sign, 15) == Fraction(value)


def test_a_fraction_is_shown_where_it_is_short() -> None:
    assert share(Fraction(1, 10_000)) == "<0.1%（1/10000）"
    assert share(Fraction(1, 10_001)) == "<0.1%"
    assert share(Fraction(1)) == "100%"


async def test_the_tools_of_the_model(room: HostRoom) -> None:
    rolled = await room.call("roll_dice", expression="2d6", rounds=2)
    assert rolled.ok
    assert len(rolled.structured["value"]) == 2
    odds = await room.call("dice_odds", expression="3d6", target=15)
    assert (odds.structured["mean"], odds.structured["at_least"]) == (10.5, "9.3%（5/54）")
    assert "取最高的 3 个" in (await room.call("dice_explain", expression="4d6k3")).text
    refused = await room.call("roll_dice", expression="2d6 原因")
    assert (refused.status, refused.error_code) == ("error", "dice_rest")
