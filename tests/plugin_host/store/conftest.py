"""A store in a real file, opened for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plugin_host.store import Database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "bot.db"


@pytest.fixture
def store(path: Path) -> Iterator[Database]:
    # A slow machine must not make an honest unit look like one that hangs.
    database = Database(path, unit_limit=5.0).open()
    yield database
    database.close()


@pytest.fixture
def hasty(path: Path) -> Iterator[Database]:
    """A store whose units may hold the writer for 0.1 s only."""
    database = Database(path, unit_limit=0.1).open()
    yield database
    database.close()
