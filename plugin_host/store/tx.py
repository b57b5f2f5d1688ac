"""Tx: the store as a unit of work sees it; Prepared: a statement compiled once for the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, Protocol

from sqlalchemy import Column, ColumnElement, Connection, CursorResult, Executable, delete, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

PURGE_LIMIT = 5_000


class Prepared:
    """A Core statement compiled once; run with positional parameters straight on the driver.

    Building and compiling a statement per transition is what costs: 334 against 2,960 events/s when it was measured.
    """

    __slots__ = ("_pick", "defaults", "names", "sql")

    def __init__(self, statement: ClauseElement) -> None:
        compiled = statement.compile(dialect=sqlite.dialect(paramstyle="qmark"))
        self.sql = str(compiled)
        self.names: tuple[str, ...] = tuple(getattr(compiled, "positiontup", None) or ())
        self.defaults: dict[str, Any] = {k: v for k, v in compiled.params.items() if v is not None}
        # One call in C where every parameter comes from the caller: binding is much of what a row costs.
        plain = len(self.names) > 1 and not self.defaults
        self._pick: Callable[[Any], tuple[Any, ...]] | None = itemgetter(*self.names) if plain else None

    def bind(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """The parameters in the driver's order; a name without a value takes the statement's own constant or None."""
        if self._pick is not None:
            try:
                return self._pick(values)
            except KeyError:
                pass
        return tuple(values[name] if name in values else self.defaults.get(name) for name in self.names)


class Tx:
    """One open transaction. Use it inside the call that received it only."""

    __slots__ = ("_connection", "_cursor")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cursor: Any = connection.connection.cursor()

    def run(self, prepared: Prepared, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run a prepared statement and return its rows (none for a plain write)."""
        self._cursor.execute(prepared.sql, prepared.bind(values or {}))
        return self._cursor.fetchall() if self._cursor.description else []

    def run_many(self, prepared: Prepared, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a prepared write once per row, as one executemany."""
        self._cursor.executemany(prepared.sql, [prepared.bind(row) for row in rows])

    def count(self, prepared: Prepared, values: Mapping[str, Any]) -> int:
        """Run a prepared write and return how many rows it touched."""
        self._cursor.execute(prepared.sql, prepared.bind(values))
        return int(self._cursor.rowcount)

    def execute(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        """Run any SQLAlchemy Core statement; for plugins' own tables and for what is rare."""
        return self._connection.execute(statement, parameters)

    @property
    def open(self) -> bool:
        """False once the driver has ended the transaction by itself."""
        driver: Any = self._connection.connection.driver_connection
        return bool(driver.in_transaction)

    def driver(self, sql: str) -> None:
        """Run a parameterless driver statement (savepoints, pragmas)."""
        self._cursor.execute(sql)


def purge(key: Column[Any], *conditions: ColumnElement[bool]) -> Prepared:
    """Delete a bounded number of a table's rows; a unit that deleted all at once might hold the writer too long."""
    return Prepared(delete(key.table).where(key.in_(select(key).where(*conditions).limit(PURGE_LIMIT))))


class Append(Protocol):
    """A kind of write that is grouped: all waiting rows of one kind go into one call per commit."""

    def apply(self, tx: Tx, rows: list[Any]) -> list[Any]:
        """Write the rows and return one value for each."""
        ...
