"""The store: records on disk, append-only; what sweeps measured; an index of records; the sweeps' lock."""

from .bundles import bundled, take_bundle, write_bundle
from .delivery import deliver, finished
from .history import HistoryStore
from .index import RunIndex
from .lock import LOCK_FILE, SweepLock, machine_lock
from .metrics import read_metrics, write_metrics
from .remote import fetch, is_url, send
from .runs import CorruptRecord, RunStore, make_folder
from .sweeps import SweepStore
from .syncing import Synced, bring

__all__ = [
    "LOCK_FILE",
    "CorruptRecord",
    "HistoryStore",
    "RunIndex",
    "RunStore",
    "SweepLock",
    "SweepStore",
    "Synced",
    "bring",
    "bundled",
    "deliver",
    "fetch",
    "finished",
    "is_url",
    "machine_lock",
    "make_folder",
    "read_metrics",
    "send",
    "take_bundle",
    "write_bundle",
    "write_metrics",
]
