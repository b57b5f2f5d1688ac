"""Kill -9 while the store writes: what was acknowledged is there, what was not is there whole or not at all."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from plugin_host.store import Database
from plugin_host.store.journal import read_lines
from plugin_host.store.sessions import read_session

CHILD = Path(__file__).with_name("crash_child.py")
ROOT = Path(__file__).parents[3]
CHANGES = 1_000
KILLS = 5


def write_and_kill(path: Path, kind: str, first: int, count: int, kill_after: int | None) -> set[int]:
    """Start the child, kill it once it has acknowledged ``kill_after`` writes; the numbers that it acknowledged."""
    command = [sys.executable, str(CHILD), str(path), kind, str(first), str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        told: list[str] = []
        for line in child.stdout:
            told.append(line)
            if len(told) == kill_after:
                child.send_signal(signal.SIGKILL)
        errors = child.stderr.read()
        code = child.wait(timeout=20)
    assert code == (0 if kill_after is None else -signal.SIGKILL), errors
    # A last line without its end was cut off: not acknowledged.
    return {int(line) for line in told if line.endswith("\n")}


def acknowledged_over_kills(path: Path, kind: str, seed: int) -> set[int]:
    """Write CHANGES numbers with KILLS kills in between, each after a random number of acknowledgements."""
    dice = random.Random(seed)
    told: set[int] = set()
    first = 0
    for _ in range(KILLS):
        told |= write_and_kill(path, kind, first, CHANGES, dice.randint(20, CHANGES // (KILLS + 1)))
        # Numbers in flight at the kill may be there or not: the next child starts behind them.
        first = max(told) + 100
    return told | write_and_kill(path, kind, first, CHANGES - len(told), None)


def test_every_acknowledged_switch_change_survives_kill_9(path: Path) -> None:
    told = acknowledged_over_kills(path, "switches", 1)
    assert len(told) >= CHANGES
    database = Database(path).open()
    flags: dict[str, int] = {}
    switches: dict[str, bool] = {}
    for session in range(7):
        found = database.read_now(lambda tx, name=f"group:{session}": read_session(tx, name))
        flags |= found[0]
        switches |= found[1]
    database.close()
    assert {number for number in told if f"t{number}" not in switches} == set()
    assert {name: on for name, on in switches.items() if on != (int(name[1:]) % 2 == 0)} == {}
    # A unit is there whole or not at all.
    assert {name[1:] for name in flags} == {name[1:] for name in switches}
    assert len(switches) <= len(told) + 10 * KILLS


def test_every_acknowledged_journal_line_survives_kill_9_once(path: Path) -> None:
    told = acknowledged_over_kills(path, "journal", 2)
    assert len(told) >= CHANGES
    database = Database(path).open()
    names = [int(line.entry.name) for line in database.read_now(lambda tx: read_lines(tx, limit=0))]
    database.close()
    assert told - set(names) == set()
    assert len(names) == len(set(names))
    assert len(names) <= len(told) + 10 * KILLS
