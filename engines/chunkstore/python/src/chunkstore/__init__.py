"""A durable, ordered key-value store, partitioned by key range.

Keys and values are bytes. A store is a mapping and a context manager:

    import chunkstore

    with chunkstore.open("data") as store:
        store[b"apple"] = b"red"
        for key, value in store.scan(b"a", b"b"):
            print(key, value)

Every call may come from any thread, and releases the interpreter's lock while it works in the store.
"""

from ._native import SharedBudget, version
from ._store import Batch, Check, Durability, Recovery, Snapshot, Store, destroy, open, repair
from .errors import (
    BusyError,
    CorruptionError,
    DiskError,
    Error,
    InternalError,
    InvalidArgumentError,
    NoSpaceError,
    ReadOnlyError,
    UnsupportedError,
)

__version__ = version()
__all__ = [
    "Batch",
    "BusyError",
    "Check",
    "CorruptionError",
    "DiskError",
    "Durability",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "NoSpaceError",
    "ReadOnlyError",
    "Recovery",
    "SharedBudget",
    "Snapshot",
    "Store",
    "UnsupportedError",
    "destroy",
    "open",
    "repair",
]
