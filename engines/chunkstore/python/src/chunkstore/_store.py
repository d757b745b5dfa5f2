"""The store, its snapshots and batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from . import _native
from ._native import SharedBudget
from ._reads import Reads

#: What a write promises once it has returned: `none`, it is in memory; `async`, it survives the process's
#: death; `sync`, it survives a power loss.
Durability = Literal["none", "async", "sync"]
Option = str | int | float | bool

_DURABILITIES: Mapping[Durability | None, int | None] = {None: None, "none": 0, "async": 1, "sync": 2}


@dataclass(frozen=True)
class Recovery:
    """What opening found: whether the last process closed the store, what was read back from the staging
    ring, and what of it was lost to a power failure.
    """

    clean: bool
    recovered_records: int
    recovered_bytes: int
    dropped_bytes: int
    dropped_reason: str
    seconds: float


@dataclass(frozen=True)
class Check:
    """What was checked, and a line for each problem, with file and offset."""

    files: int
    blocks: int
    entries: int
    problems: list[str]


class Batch:
    """Writes that happen together: all of them or none, to every reader and after every crash.

    A later write of a key wins over an earlier one. One thread at a time.
    """

    def __init__(self) -> None:
        self._batch = _native.Batch()

    def put(self, key: bytes, value: bytes) -> None:
        """Adds a write."""
        self._batch.put(key, value)

    def delete(self, key: bytes) -> None:
        """Adds a deletion; of a key that is not there it does nothing."""
        self._batch.delete(key)

    def clear(self) -> None:
        """Forgets everything added."""
        self._batch.clear()

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        self.delete(key)

    def __len__(self) -> int:
        """How many writes were added."""
        return len(self._batch)


class Snapshot(Reads):
    """The store as it was at one moment. What it sees stays on disk until it is released."""

    def __init__(self, store: _native.Store) -> None:
        self._store = store
        self._moment: _native.Snapshot = store.snapshot()

    @property
    def version(self) -> int:
        """Grows with every write."""
        return self._moment.version

    def release(self) -> None:
        """Ends it; reads then raise InvalidArgumentError. Doing so twice does nothing."""
        self._moment.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Store(Reads, MutableMapping[bytes, bytes]):
    """An open store, from `chunkstore.open`. A context manager that closes it, and a mapping."""

    def __init__(self, store: _native.Store) -> None:
        self._store = store

    # --- writes

    def put(self, key: bytes, value: bytes, *, durability: Durability | None = None) -> None:
        """Writes a row. `durability` None: as the store was opened."""
        self._store.put(key, value, _DURABILITIES[durability])

    def delete(self, key: bytes, *, durability: Durability | None = None) -> None:
        """Deletes a key; one that is not there is no error."""
        self._store.delete(key, _DURABILITIES[durability])

    def write(self, batch: Batch, *, durability: Durability | None = None) -> None:
        """Writes a batch, which may be written again."""
        self._store.write(batch._batch, _DURABILITIES[durability])

    @contextmanager
    def batch(self, *, durability: Durability | None = None) -> Iterator[Batch]:
        """A batch that is written at the end of the block, or not at all if the block raises."""
        batch = Batch()
        yield batch
        self.write(batch, durability=durability)

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        """Raises KeyError for a key that is not there. `delete` does not look."""
        if key not in self:
            raise KeyError(key)
        self.delete(key)

    def update(  # type: ignore[override]  # keys are bytes: none can be keywords
        self, rows: Mapping[bytes, bytes] | Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        """Writes all rows together, as one batch."""
        with self.batch() as batch:
            for key, value in rows.items() if isinstance(rows, Mapping) else rows:
                batch.put(key, value)

    # --- moments

    def snapshot(self) -> Snapshot:
        """The store as it is now."""
        return Snapshot(self._store)

    # --- upkeep

    def checkpoint(self) -> None:
        """Everything written before survives a power loss."""
        self._store.checkpoint()

    def flush(self) -> None:
        """Writes the staging ring into the chunks and waits until no background work is left."""
        self._store.flush()

    def pay_debt(self, log_bytes_max: int) -> None:
        """Flushes, and reorganises chunks until all logs together hold at most so many bytes."""
        self._store.pay_debt(log_bytes_max)

    def compact(self) -> None:
        """Reorganises every chunk: no logs are left, nothing superseded stays."""
        self._store.compact()

    def backup(self, directory: str | os.PathLike[str]) -> None:
        """Makes a store of its own in a directory that is empty or not there; reads and writes go on."""
        self._store.backup(os.fspath(directory))

    def verify(self) -> Check:
        """Reads every block and compares it with its checksum."""
        return Check(**self._store.verify())

    @property
    def recovery(self) -> Recovery:
        """What opening found."""
        return Recovery(**self._store.recovery())

    def statistics(self) -> dict[str, float]:
        """The store's own numbers, by name; docs/chunkstore.md lists them with their units."""
        return self._store.statistics()

    def close(self, *, reorganise: bool = True) -> None:
        """Waits for calls in other threads, flushes, releases; closing again does nothing.

        `reorganise=False`: quicker, chunks that are due for reorganisation wait for the next open.
        """
        self._store.close(reorganise)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open(
    directory: str | os.PathLike[str],
    *,
    durability: Durability = "async",
    budget: SharedBudget | None = None,
    **options: Option,
) -> Store:
    """Opens the store in a directory, or makes one there.

    `options` are members of the C++ library's `Options` by name: `memory_budget="64MiB"`, `read_only=True`.
    `budget`: memory that several stores share. Raises BusyError if another process has the store open,
    CorruptionError for damage (`repair` may help), InvalidArgumentError for an option that does not exist.
    """
    texts = _texts({"durability": durability, **options})
    return Store(_native.open(os.fspath(directory), texts, budget))


def repair(directory: str | os.PathLike[str], **options: Option) -> Check:
    """Salvages what is readable of a store that does not open, and leaves one that does."""
    return Check(**_native.repair(os.fspath(directory), _texts(options)))


def destroy(directory: str | os.PathLike[str]) -> None:
    """Removes a store and nothing else; raises InvalidArgumentError if foreign files are there."""
    _native.destroy(os.fspath(directory))


def _texts(options: Mapping[str, Option]) -> list[tuple[str, str]]:
    return [
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in options.items()
    ]
