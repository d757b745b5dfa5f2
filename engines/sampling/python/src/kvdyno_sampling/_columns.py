"""Columns of numbers, as callers have them, become the arrays that the index takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: A row of samples and of live records.
RECORD = np.dtype([("key", np.uint64), ("value", np.uint64), ("weight", np.float64)])


def integers(name: str, data: ArrayLike) -> NDArray[np.uint64]:
    """One dimension of 64-bit numbers from 0. Raises ValueError for anything else."""
    column = _column(name, data)
    if column.size and column.dtype.kind not in "iu":
        raise ValueError(f"{name}: expected integers from 0 to 2^64 - 1, got {column.dtype}")
    if column.dtype.kind == "i" and column.size and column.min() < 0:
        raise ValueError(f"{name}: expected integers from 0 to 2^64 - 1, got {column.min()}")
    return np.ascontiguousarray(column, np.uint64)


def weights(data: ArrayLike) -> NDArray[np.float64]:
    """One dimension of doubles; the index checks their range. Raises ValueError for anything else."""
    column = _column("weights", data)
    if column.size and column.dtype.kind not in "iuf":
        raise ValueError(f"weights: expected numbers, got {column.dtype}")
    return np.ascontiguousarray(column, np.float64)


def _column(name: str, data: ArrayLike) -> NDArray[np.generic]:
    column = np.atleast_1d(np.asarray(data))
    if column.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got {column.ndim}")
    return column


def check_lengths(**columns: NDArray[np.generic]) -> None:
    """Raises ValueError unless all columns are equally long."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"columns: expected equal lengths, got {found}")
