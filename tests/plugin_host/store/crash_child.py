"""A process that writes until it is killed: prints the number of each write that the store has acknowledged.

python crash_child.py FILE switches|journal FIRST COUNT
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from plugin_host.store import Database, Tx
from plugin_host.store.journal import AppendEntries, Entry
from plugin_host.store.sessions import write_session

PRODUCERS = 10
APPEND = AppendEntries()


async def change_switch(database: Database, number: int) -> None:
    def work(tx: Tx) -> None:
        write_session(tx, f"group:{number % 7}", {f"n{number}": number}, {f"t{number}": number % 2 == 0})

    await database.unit(work)


async def append_line(database: Database, number: int) -> None:
    await database.append(APPEND, Entry(float(number), "group:1", "event", "note", name=str(number)))


async def main(path: str, kind: str, first: int, count: int) -> None:
    database = Database(Path(path)).open()
    write = change_switch if kind == "switches" else append_line

    async def produce(start: int) -> None:
        for number in range(start, first + count, PRODUCERS):
            await write(database, number)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()

    await asyncio.gather(*(produce(first + number) for number in range(PRODUCERS)))
    database.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
