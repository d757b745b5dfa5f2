"""The store: records on disk, append-only; an index made from them; the lock that keeps sweeps apart."""

from .index import RunIndex
from .lock import LOCK_FILE, SweepLock, machine_lock
from .runs import CorruptRecord, RunStore, make_folder

__all__ = ["LOCK_FILE", "CorruptRecord", "RunIndex", "RunStore", "SweepLock", "machine_lock", "make_folder"]
