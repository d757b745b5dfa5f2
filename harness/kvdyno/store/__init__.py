"""The store: records on disk, append-only; what sweeps measured; an index of records; the sweeps' lock."""

from .index import RunIndex
from .lock import LOCK_FILE, SweepLock, machine_lock
from .runs import CorruptRecord, RunStore, make_folder
from .sweeps import SweepStore

__all__ = [
    "LOCK_FILE",
    "CorruptRecord",
    "RunIndex",
    "RunStore",
    "SweepLock",
    "SweepStore",
    "machine_lock",
    "make_folder",
]
