"""The tables of the host. Rows hold no absolute path, host name or process id; times are UTC unix seconds."""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, Integer, LargeBinary, MetaData, String, Table, Text, UniqueConstraint

metadata = MetaData()

migrations = Table(
    "migrations",
    metadata,
    Column("owner", String(128), primary_key=True),
    Column("number", Integer, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("key", String(255), nullable=False, unique=True),
    Column("session", String(128), nullable=False),
    Column("door", String(128), nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("body", LargeBinary),
    Column("accepted", Float, nullable=False),
    Column("ended", Float),
    Index("events_state", "state"),
    Index("events_accepted", "accepted"),
    Index("events_session", "session", "seq"),
    sqlite_autoincrement=True,
)

outbox = Table(
    "outbox",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("key", String(300), nullable=False, unique=True),
    Column("event", String(255), nullable=False, index=True),
    Column("session", String(128), nullable=False),
    Column("door", String(128), nullable=False),
    Column("source", String(16), nullable=False),
    Column("action", String(64), nullable=False),
    Column("params", LargeBinary),
    Column("hidden", Integer, nullable=False),
    Column("user_id", String(64)),
    Column("on_failed", Text),
    Column("state", String(16), nullable=False),
    Column("created", Float, nullable=False),
    Column("ended", Float),
    Column("error", Text),
    Index("outbox_state", "state"),
    sqlite_autoincrement=True,
)

journal = Table(
    "journal",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("time", Float, nullable=False),
    Column("session", String(128), nullable=False),
    Column("turn", String(255), nullable=False),
    Column("call", String(128), nullable=False),
    Column("type", String(48), nullable=False),
    Column("name", String(128), nullable=False),
    Column("payload", Text, nullable=False),
    Column("ms", Float),
    Index("journal_session", "session", "seq"),
    Index("journal_turn", "turn"),
    Index("journal_time", "time"),
    sqlite_autoincrement=True,
)

switches = Table(
    "switches",
    metadata,
    Column("session", String(128), primary_key=True),
    Column("tool", String(128), primary_key=True),
    Column("state", Integer, nullable=False),
)

flags = Table(
    "flags",
    metadata,
    Column("session", String(128), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

kept = Table(
    "kept",
    metadata,
    Column("plugin", String(128), primary_key=True),
    Column("scope", String(16), primary_key=True),
    Column("owner", String(128), primary_key=True),
    Column("name", String(128), primary_key=True),
    Column("value", Text, nullable=False),
)

history = Table(
    "history",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("session", String(128), nullable=False),
    Column("event", String(255), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("time", Float, nullable=False),
    UniqueConstraint("session", "seq", name="history_session"),
    sqlite_autoincrement=True,
)

raw_text = Table(
    "raw_text",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("session", String(128), nullable=False, index=True),
    Column("kind", String(16), nullable=False),
    Column("name", String(128), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("time", Float, nullable=False),
)
