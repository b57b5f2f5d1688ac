"""Non-interference: two runs that differ only in what a hidden roll showed send the same to the model and the group."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.kit.bot import Bot
from tests.kit.frames import at, text
from tests.kit.model_server import Answer, ModelServer
from tests.kit.protocol_end import ProtocolEnd

GROUP, KEEPER = "500", "2001"
CLOCK = re.compile(r"当前时间：\S+ \S+")


async def run(home: Path) -> tuple[str, list[str], str]:
    """(what the roller got privately, what the group saw, every byte that the model was sent but the clock)."""
    async with ProtocolEnd() as end, ModelServer() as model:
        hidden = Answer(calls=[("roll_dice", {"expression": "d1000000", "hidden": True})], ids=["call_1"])
        model.script([hidden, Answer(text="已经暗骰。"), Answer(text="不能说。")])
        config: dict[str, Any] = {
            "masters": ["9001"],
            "ai": {"open_groups": "all"},
            "bridge": {"listen": "127.0.0.1:0", "protocol": [{"url": end.url}]},
            "models": {
                "connections": [{"name": "local", "base_url": model.base_url, "api_key": "k"}],
                "uses": {"chat": ["local:scripted"]},
            },
        }
        async with Bot(home, config) as bot:
            await end.wait_connected()
            await end.group_message(GROUP, KEEPER, ".ai on", role="admin", message_id=1, time=1)
            await end.wait_sent(1)
            await end.group_message(GROUP, KEEPER, ".rh d1000000 潜行", message_id=2, time=2)
            await end.wait_sent(3)
            await end.group_message(GROUP, KEEPER, [at(end.self_id), text(" 暗骰一次")], message_id=3, time=3)
            await end.wait_sent(1, predicate=lambda call: call.text == "已经暗骰。", timeout=10)
            await end.group_message(GROUP, KEEPER, [at(end.self_id), text(" 刚才暗骰多少")], message_id=4, time=4)
            await end.wait_sent(1, predicate=lambda call: call.text == "不能说。", timeout=10)
            await bot.stop()
    private = " ".join(call.text for call in end.sent if call.action == "send_private_msg")
    group = [call.text for call in end.sent if call.action == "send_group_msg"]
    return private, group, CLOCK.sub("", str(model.requests))


async def test_two_runs_that_differ_in_a_hidden_roll_only_look_the_same(tmp_path: Path) -> None:
    first_secret, first_group, first_model = await run(tmp_path / "one")
    second_secret, second_group, second_model = await run(tmp_path / "two")
    numbers = re.findall(r"=(\d+)", first_secret)
    assert len(numbers) == 2
    assert first_secret != second_secret
    assert first_group == second_group
    assert first_model == second_model
    assert not any(number in first_model + str(first_group) for number in numbers if len(number) > 3)
