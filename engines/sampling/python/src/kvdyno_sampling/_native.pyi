"""The extension module; see src/native.cc."""

import numpy as np
from numpy.typing import NDArray

class Index:
    def __init__(
        self,
        kind: str,
        tiering: bool,
        tombstones: bool,
        scale_factor: int = ...,
        buffer_records: int = ...,
        max_deleted: float = ...,
        filter_false_positives: float = ...,
        background: bool = ...,
        directory: str = ...,
        memory_bytes: int = ...,
        memory_levels: int = ...,
    ) -> None: ...
    def insert(
        self, keys: NDArray[np.uint64], values: NDArray[np.uint64], weights: NDArray[np.float64]
    ) -> None: ...
    def delete(self, keys: NDArray[np.uint64], values: NDArray[np.uint64]) -> NDArray[np.bool_]: ...
    def sample(self, k: int, seed: int, first: int, last: int) -> NDArray[np.uint8]: ...
    def live(self, first: int, last: int) -> NDArray[np.uint8]: ...
    def settle(self) -> None: ...
    def verify(self) -> None: ...
    def statistics(self) -> dict[str, int]: ...
