"""What survives a restart: one writer thread with group commit, a read pool, one repository per noun."""

from plugin_host.store.database import Database
from plugin_host.store.tx import Append, Prepared, Tx

__all__ = ["Append", "Database", "Prepared", "Tx"]
