"""A real core (NoneBot2 with a dice plugin) behind the bridge, and what happens when either side dies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.kit.frames import at, text
from tests.kit.nonebot_core import NoneBotCore
from tests.kit.protocol_end import ProtocolEnd, Received

START_LIMIT = 30.0


async def core_attached(r: Any, core: NoneBotCore) -> None:
    try:
        await r.until(lambda health: len(health["cores"]) == 1, START_LIMIT)
    except TimeoutError:
        raise AssertionError(core.output) from None


async def roll(end: ProtocolEnd, core: NoneBotCore) -> Received:
    """Say ``.r 1d20+3`` in the group and return the answer to it."""
    before = len(end.sent)
    await end.group_message(100, 2001, ".r 1d20+3")
    try:
        answers = await end.wait_sent(before + 1, timeout=15)
    except TimeoutError:
        raise AssertionError(core.output) from None
    return answers[before]


async def test_a_relayed_roll_is_answered_and_both_sides_recover_without_a_storm(rig: Any, tmp_path: Path) -> None:
    async with ProtocolEnd() as end, rig(protocol=[{"url": end.url}], tokens={"core": "s3cret"}) as r:
        await end.wait_connected()
        async with NoneBotCore(r.url("/core"), tmp_path / "core", token="s3cret") as core:
            await core_attached(r, core)
            await end.group_message(100, 3001, [at(10001), text(" .bot on")], role="owner")
            await end.wait_sent(timeout=15)

            answer = await roll(end, core)
            assert (answer.action, answer.params["group_id"]) == ("send_msg", 100)
            assert re.search(r"1d20.*3", answer.text, re.IGNORECASE)

            await end.stop()
            await r.until(lambda health: not health["upstream"])
            await end.start()
            await end.wait_connected()
            assert await roll(end, core)

            await core.kill()
            await r.until(lambda health: not health["cores"])
            await core.start()
            await core_attached(r, core)
            assert await roll(end, core)

            health = r.bridge.health()
            assert health["dials"][0]["dials"] <= 6
            assert len(health["upstream"]) == len(end.connections) == 1
            assert len(health["cores"]) == 1
            assert "timeout" not in core.output.lower()
            await r.until(lambda health: health["pending"] == 0)
