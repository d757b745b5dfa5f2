"""The store: records on disk, append-only; an index made from them; the lock that keeps sweeps apart."""

from .index import RunIndex
from .lock import SweepLock
from .runs import CorruptRecord, RunStore

__all__ = ["CorruptRecord", "RunIndex", "RunStore", "SweepLock"]
