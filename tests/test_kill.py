"""Kill -9 at random points while group messages arrive: nothing accepted is lost, nothing is answered twice."""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import time
from collections import Counter
from pathlib import Path

from tests.kit.bot import Bot, cli_json
from tests.kit.protocol_end import ProtocolEnd

MESSAGES = 2_000
GROUPS = 20
KILLS = 20
PER_SECOND = 200
MARK = re.compile(r"由于n(\d+)，")


async def test_twenty_kills_lose_nothing_and_answer_nothing_twice(tmp_path: Path) -> None:
    """Each accepted key has one answer at the end's own record or a ``send.unknown`` line; order holds per group."""
    dice = random.Random(20)
    async with ProtocolEnd(profile="napcat") as end:
        bot = Bot(tmp_path / "home", {"bridge": {"listen": "127.0.0.1:0", "protocol": [{"url": end.url}]}})
        await bot.start()
        in_flight = 0
        sending = asyncio.create_task(_arrivals(end, dice))
        for _ in range(KILLS):
            await asyncio.sleep(dice.uniform(0.05, 0.5))
            await bot.kill()
            in_flight += bot.rows("select count(*) from outbox where state = 'sending'")[0][0]
            await bot.start()
        async with asyncio.timeout(60):
            await sending
            await _until(lambda: not bot.rows("select 1 from events where state = 'open' limit 1"))
            await _until(lambda: not bot.rows("select 1 from outbox where state in ('waiting', 'sending') limit 1"))
        assert await bot.stop() == 0
        _judge(bot, end, in_flight, await cli_json(bot.home, "journal", "--limit", "0"))


async def _arrivals(end: ProtocolEnd, dice: random.Random) -> None:
    """2,000 numbered messages over 20 groups at about 200/s, while somebody is connected; some come twice."""
    for number in range(MESSAGES):
        await end.wait_connected(timeout=20)
        group, at = 500 + number % GROUPS, int(time.time())
        message = {"message_id": 10_000 + number, "time": at}
        await end.group_message(group, 1001, f".r d6 n{number}", **message)
        if dice.random() < 0.1:
            await end.group_message(group, 1001, f".r d6 n{number}", **message)
        await asyncio.sleep(1 / PER_SECOND)


async def _until(condition) -> None:
    while not condition():  # noqa: ASYNC110 - another process makes it true, nothing here could tell us
        await asyncio.sleep(0.05)


def _judge(bot: Bot, end: ProtocolEnd, in_flight: int, journal: list[dict]) -> None:
    accepted = {key: (session, seq) for key, session, seq in bot.rows("select key, session, seq from events")}
    states = Counter(state for (state,) in bot.rows("select state from events"))
    unknown = {line["turn"] for line in journal if line["type"] == "send.unknown"}
    told = {line["payload"]["key"] for line in journal if line["type"] == "event.accepted"}
    answers = Counter()
    order: dict[str, list[int]] = {}
    for call in end.sent:
        if found := MARK.search(call.text):
            answers[int(found.group(1))] += 1
            order.setdefault(str(call.params["group_id"]), []).append(int(found.group(1)))
    numbers = {int(key.split(":")[4]) - 10_000: key for key in accepted if key.startswith("QQ:")}
    assert len(numbers) > MESSAGES / 2
    assert states == {"done": len(accepted)}
    assert set(accepted) == told
    assert [number for number, count in answers.items() if count > 1] == []
    assert [number for number, key in numbers.items() if number not in answers and key not in unknown] == []
    assert len(unknown) <= in_flight
    for numbers_of_group in order.values():
        assert numbers_of_group == sorted(numbers_of_group)


async def test_frame_to_answer_at_two_hundred_a_second(tmp_path: Path, capsys) -> None:
    """Prints p50 and p99 from frame to answer; every message is answered."""
    count = 600
    async with ProtocolEnd(profile="napcat") as end:
        config = {"bridge": {"listen": "127.0.0.1:0", "protocol": [{"url": end.url}]}, "log": {"level": "WARNING"}}
        async with Bot(tmp_path / "home", {**config, "log": {"level": "INFO"}}):
            await end.wait_connected()
            started: dict[int, float] = {}
            begun = time.monotonic()
            for number in range(count):
                await asyncio.sleep(max(0.0, begun + number / PER_SECOND - time.monotonic()))
                started[number] = time.monotonic()
                await end.group_message(500 + number % GROUPS, 1001, f".r d6 n{number}", message_id=10_000 + number)
            sent = await end.wait_sent(count, timeout=20)
    took = sorted(
        (call.time - started[int(found.group(1))]) * 1000 for call in sent if (found := MARK.search(call.text))
    )
    assert len(took) == count
    with capsys.disabled():
        p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
        print(f"\nframe to answer at {PER_SECOND}/s: p50 {p50:.1f} ms, p99 {p99:.1f} ms")  # noqa: T201 - asked for
