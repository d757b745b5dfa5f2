"""The store: records on disk, append-only; what sweeps measured; an index of records; the sweeps' lock."""

from .index import RunIndex
from .lock import SweepLock
from .runs import CorruptRecord, RunStore
from .sweeps import SweepStore

__all__ = ["CorruptRecord", "RunIndex", "RunStore", "SweepLock", "SweepStore"]
