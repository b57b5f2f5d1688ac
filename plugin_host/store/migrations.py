"""Migrations: one table records (owner, number) for the host and for each plugin that keeps tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert, inspect, select, update

from plugin_host.errors import StoreError
from plugin_host.store.tables import migrations

HOST_MIGRATIONS: tuple[Callable[[Any], None], ...] = ()


def migrate(connection: Connection, owner: str, tables: Sequence[Table], steps: Sequence[Callable[[Any], None]]) -> int:
    """Bring ``owner`` to the newest number and return it.

    A new owner gets its ``tables`` as they are today; a known one runs the steps it has not seen, each with Alembic's
    operations. All of it is one transaction. Raises StoreError when the store is newer than the code.
    """
    steps = [*HOST_MIGRATIONS, *steps] if owner == "host" else list(steps)
    if not inspect(connection).has_table(migrations.name):
        migrations.create(connection)
    number = connection.execute(select(migrations.c.number).where(migrations.c.owner == owner)).scalar()
    if number is None:
        for table in tables:
            table.create(connection, checkfirst=True)
        connection.execute(insert(migrations).values(owner=owner, number=len(steps)))
    elif number > len(steps):
        raise StoreError(f"the store of {owner} has version {number}, this program knows {len(steps)}: it is newer")
    elif number < len(steps):
        _run(connection, steps[number:])
        connection.execute(update(migrations).where(migrations.c.owner == owner).values(number=len(steps)))
    return len(steps)


def _run(connection: Connection, steps: Sequence[Callable[[Any], None]]) -> None:
    # Imported only when a number differs: Alembic costs more than the rest of a cold start.
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext

    operations = Operations(MigrationContext.configure(connection))
    for step in steps:
        step(operations)
