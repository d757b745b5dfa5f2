"""What a store and a snapshot of it have in common: reading, as a mapping from bytes to bytes."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from itertools import islice

from . import _native

_FIRST_ROWS, _MOST_ROWS = 16, 1024


class Reads(Mapping[bytes, bytes]):
    """Rows in key order. Iterators, views and `len` see one moment: that of their first step.

    Threads may share it; each iterator belongs to one thread at a time. Calls release the
    interpreter's lock.
    """

    _store: _native.Store
    _moment: _native.Snapshot | None = None

    def __getitem__(self, key: bytes) -> bytes:
        """The value. Raises KeyError without one."""
        value = self._store.get(key, self._moment, True)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        """Whether the key has a value."""
        return isinstance(key, bytes) and self._store.get(key, self._moment, True) is not None

    def multi_get(self, keys: Iterable[bytes], *, fill_cache: bool = True) -> list[bytes | None]:
        """The values in the keys' order, all of one moment; None where there is none."""
        return self._store.multi_get(list(keys), self._moment, fill_cache)

    def scan(
        self,
        start: bytes | None = None,
        end: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
        fill_cache: bool = True,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows from `start` (inclusive) to `end` (exclusive), at most `limit`, at one moment.

        `reverse` begins at the end of the range. `fill_cache=False`: a long scan leaves the caches as
        they are.
        """
        rows = self._rows(start, end, reverse=reverse, fill_cache=fill_cache)
        return rows if limit is None else islice(rows, limit)

    def _rows(
        self, start: bytes | None, end: bytes | None, *, reverse: bool, fill_cache: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        cursor = self._store.cursor(self._moment, start, end, reverse, fill_cache)
        most = _FIRST_ROWS
        while rows := cursor.next_rows(most):
            yield from rows
            most = min(2 * most, _MOST_ROWS)

    def __iter__(self) -> Iterator[bytes]:
        """All keys in order."""
        return (key for key, _ in self.scan())

    def __reversed__(self) -> Iterator[bytes]:
        """All keys, the last one first."""
        return (key for key, _ in self.scan(reverse=True))

    def __len__(self) -> int:
        """How many rows there are. Reads all of them."""
        return sum(1 for _ in self.scan(fill_cache=False))

    def __bool__(self) -> bool:
        """Whether there is any row."""
        return next(self.scan(limit=1), None) is not None

    def items(self) -> ItemsView[bytes, bytes]:
        """All rows, read by one scan."""
        return _Items(self)

    def values(self) -> ValuesView[bytes]:
        """All values, read by one scan."""
        return _Values(self)


class _Items(ItemsView[bytes, bytes]):
    _mapping: Reads

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self._mapping.scan()

    def __reversed__(self) -> Iterator[tuple[bytes, bytes]]:
        return self._mapping.scan(reverse=True)


class _Values(ValuesView[bytes]):
    _mapping: Reads

    def __iter__(self) -> Iterator[bytes]:
        return (value for _, value in self._mapping.scan())

    def __reversed__(self) -> Iterator[bytes]:
        return (value for _, value in self._mapping.scan(reverse=True))
