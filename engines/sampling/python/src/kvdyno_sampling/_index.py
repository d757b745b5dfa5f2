"""The index."""

from __future__ import annotations

import os
from typing import Any, Literal, TypedDict, TypeVar, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._columns import RECORD, check_lengths, integers
from ._columns import weights as doubles

Kind = Literal["weighted-set", "uniform-range", "weighted-range"]

_KINDS = get_args(Kind)
_LAST = 2**64 - 1
T = TypeVar("T", bound=np.generic)


class Options(TypedDict, total=False):
    """Members of the C++ library's `Options` (options.h has range, default and effect of each)."""

    scale_factor: int
    buffer_records: int
    max_deleted: float
    filter_false_positives: float
    background: bool
    #: With a directory alone: the cap of all that the index holds in memory, and the levels that stay there.
    memory_bytes: int
    memory_levels: int


class Index:
    """A set of weighted records; each live one is drawn with probability weight / sum of weights.

    Pairs of key and value identify records. The caller keeps them unique: an insert does not search
    for a live record of the same pair. Errors of input are ValueErrors and leave the index as it was.

    External mode (`directory`) keeps lower levels in files, and all that is in memory under `memory_bytes`.
    Each call may then raise an OSError: a full disk, or a page that is not what was written, with its place.
    """

    def __init__(
        self,
        *,
        kind: Kind = "weighted-set",
        layout: Literal["tiering", "leveling"] = "tiering",
        deletes: Literal["tagging", "tombstones"] = "tagging",
        directory: str | os.PathLike[str] | None = None,
        **options: Unpack[Options],
    ) -> None:
        """An empty index. `uniform-range` ignores weights. Raises ValueError for options out of range.

        `directory` chooses external mode: scratch space of this index alone, created where it is missing,
        whose files go with the index. `memory_bytes` and `memory_levels` need it. Raises ValueError for a cap
        that the other options exceed, OSError for a directory that another index has or that cannot be made.
        """
        _choose("kind", kind, _KINDS)
        _choose("layout", layout, ("tiering", "leveling"))
        _choose("deletes", deletes, ("tagging", "tombstones"))
        for name in ("scale_factor", "buffer_records", "memory_bytes", "memory_levels"):
            if name in options:
                _number(name, options[name], 0)
        if directory is None and (extra := {"memory_bytes", "memory_levels"} & set(options)):
            raise ValueError(f"{', '.join(sorted(extra))}: expected a directory beside it, got none")
        place = "" if directory is None else _path(directory)
        self._weighted = kind != "uniform-range"
        self._index = _native.Index(
            kind, layout == "tiering", deletes == "tombstones", directory=place, **options
        )
        self._random = np.random.default_rng()

    def insert(self, keys: ArrayLike, values: ArrayLike = 0, weights: ArrayLike = 1.0) -> None:
        """Adds records, from scalars or arrays. A scalar value or weight is that of every key.

        Raises ValueError, before anything is inserted, for columns of unequal lengths and for a weight
        that is negative, NaN or above 1e290. Raises OSError, naming the row that did not fit, for more than
        2^32 - 1 entries, a full disk, and an index beyond `memory_bytes` (rows before it are inserted).
        """
        key = integers("keys", keys)
        value = _repeat(integers("values", values), values, len(key))
        weight = _repeat(doubles(weights), weights, len(key))
        check_lengths(keys=key, values=value, weights=weight)
        self._index.insert(key, value, weight)

    def delete(self, keys: ArrayLike, values: ArrayLike = 0) -> NDArray[np.bool_]:
        """Deletes records, from scalars or arrays. Returns for each whether it was live."""
        key = integers("keys", keys)
        value = _repeat(integers("values", values), values, len(key))
        check_lengths(keys=key, values=value)
        return self._index.delete(key, value)

    def sample(
        self,
        k: int,
        *,
        seed: int | np.random.Generator | None = None,
        first: int = 0,
        last: int = _LAST,
    ) -> NDArray[Any]:
        """`k` independent draws, with replacement: an array of dtype `RECORD`.

        Draws among keys from `first` to `last`, both included. An integer `seed` gives the same draws from
        the same index; a generator gives a seed of its own to each call. Raises ValueError for k = 0, a k
        beyond memory, a range whose end precedes its begin, and when no record with a weight is in it.
        """
        if seed is None:
            seed = self._random
        if isinstance(seed, np.random.Generator):
            seed = int(seed.integers(_LAST, dtype=np.uint64, endpoint=True))
        k, seed = _number("k", k, 1), _number("seed", seed, 0)
        first, last = _number("first", first, 0), _number("last", last, 0)
        return self._index.sample(k, seed, first, last).view(RECORD)

    def live(self, *, first: int = 0, last: int = _LAST) -> NDArray[Any]:
        """The live records of a range of keys, sorted by key and value: an array of dtype `RECORD`."""
        return self._index.live(_number("first", first, 0), _number("last", last, 0)).view(RECORD)

    def __len__(self) -> int:
        """How many records are live."""
        return self._index.statistics()["records"]

    @property
    def total_weight(self) -> float:
        """The sum of the live records' weights; their number for `uniform-range`. Reads every record."""
        return float(self.live()["weight"].sum()) if self._weighted else float(len(self))

    def statistics(self) -> dict[str, int]:
        """The index's own numbers, by the names of the C++ library's `Statistics` (sampler.h)."""
        return self._index.statistics()

    def settle(self) -> None:
        """Waits until no merge is due."""
        self._index.settle()

    def verify(self) -> None:
        """Checks every shard. Raises RuntimeError, naming level and shard, for a defect of the index."""
        self._index.verify()


def _choose(name: str, found: object, choices: tuple[str, ...]) -> None:
    if found not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {found!r}")


def _path(directory: str | os.PathLike[str]) -> str:
    path = os.fspath(directory)
    if not path:
        raise ValueError("directory: expected a path, got an empty one")
    return path


def _number(name: str, found: object, least: int) -> int:
    if not isinstance(found, int | np.integer) or not least <= found <= _LAST:
        raise ValueError(f"{name}: expected an integer from {least} to 2^64 - 1, got {found!r}")
    return int(found)


def _repeat(column: NDArray[T], given: ArrayLike, length: int) -> NDArray[T]:
    """A scalar, repeated."""
    return np.repeat(column, length) if np.ndim(given) == 0 else column
