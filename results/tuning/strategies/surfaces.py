"""Measured response surfaces that searches are simulated on.

`leveldb` is the sweep in ../surface: throughput at combinations of four options, and between them by
multilinear interpolation of its logarithm. `rocksdb` has thirteen options, of which no grid can be measured:
a forest of randomised trees (Geurts et al., "Extremely randomized trees", Machine Learning 63, 2006), fitted
to all tries of the published searches, stands for the engine (Eggensperger et al., "Efficient benchmarking of
hyperparameter optimizers via surrogates", AAAI 2015). A Gaussian process may favour `gp`, which is one. So
may tries that `gp` proposed: `rocksdb-others` is fitted to those of `sweep` and `random` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import KFold, cross_val_predict

from kvdyno.model.search import Dimension, Options, Space

Values = NDArray[np.float64]

TUNING = Path(__file__).parent.parent
MIB, GIB = 1 << 20, 1 << 30
CAP = 16 * GIB
BOTH = ("false", "true")


@dataclass(frozen=True)
class Surface:
    """How much better than the default's a candidate's throughput is (a logarithm), over a space.

    `noise` are differences of one repetition's gain from the mean. A search begins with `given`. `explained`
    is the share of the variance between candidates that the surface predicts of those left out.
    """

    space: Space
    start: Options
    gain: Callable[[Options], float]
    noise: Values
    given: Sequence[Options] = ()
    explained: float | None = None

    def measured(self, options: Options, rng: np.random.Generator) -> float:
        """The gain that one repetition beside the default shows."""
        return self.gain(options) + float(rng.choice(self.noise))


def surfaces() -> Mapping[str, Surface]:
    """All of them by name."""
    return {
        "leveldb": _leveldb(),
        "rocksdb": _rocksdb(BY_GP + BY_OTHERS),
        "rocksdb-others": _rocksdb(BY_OTHERS),
    }


def _space(dimensions: Sequence[Dimension]) -> Space:
    """A strategy looks at dimensions and memory, and never at the engine."""
    return Space(cast(Any, None), tuple(dimensions), 0.6 * CAP)


LEVELDB = (
    Dimension("write_buffer_size", low=64 * MIB, high=GIB, log=True, memory=2),
    Dimension("cache_size", low=128 * MIB, high=8 * GIB, log=True, memory=1),
    Dimension("filter_bits", low=0, high=20),
    Dimension("block_size", low=1024, high=65536, log=True),
)
#: LevelDB's own defaults in that space.
LEVELDB_START = dict(
    zip([each.name for each in LEVELDB], (str(512 * MIB), str(GIB), "0", "4096"), strict=True)
)
#: Options that scale are this much larger at paper scale, where the space has its ranges, than in the sweep.
SCALE = 128
SCALED = ("write_buffer_size", "cache_size")


def _leveldb() -> Surface:
    frame = pd.read_parquet(TUNING / "surface" / "metrics.parquet")
    rows = frame[(frame["metric"] == "throughput") & (frame["phase"] == "run")].copy()
    for name in SCALED:
        rows[name] *= SCALE
    rows["log"] = np.log(rows["value"])
    points = rows.groupby([each.name for each in LEVELDB])["log"]
    means, n = points.mean(), points.transform("count")
    shape = [len(values) for values in means.index.levels]
    places = [
        [each.place(float(value)) for value in values]
        for each, values in zip(LEVELDB, means.index.levels, strict=True)
    ]
    log = RegularGridInterpolator(places, means.to_numpy().reshape(shape))
    residuals = ((rows["log"] - points.transform("mean")) * np.sqrt(n / (n - 1))).to_numpy()

    def gain(options: Options) -> float:
        mine = [[each.place(float(its[each.name])) for each in LEVELDB] for its in (options, LEVELDB_START)]
        candidate, default = log(mine)
        return float(candidate - default)

    return Surface(_space(LEVELDB), LEVELDB_START, gain, np.subtract.outer(residuals, residuals).ravel())


ROCKSDB = (
    Dimension("write_buffer_size", low=32 * MIB, high=GIB, log=True, memory=4),
    Dimension("max_write_buffer_number", low=2, high=4),
    Dimension("target_file_size_base", low=32 * MIB, high=GIB, log=True),
    Dimension("max_bytes_for_level_base", low=128 * MIB, high=8 * GIB, log=True),
    Dimension("level_compaction_dynamic_level_bytes", values=BOTH),
    Dimension("level0_file_num_compaction_trigger", low=2, high=16),
    Dimension("max_background_jobs", low=1, high=8),
    Dimension("cache_size", low=128 * MIB, high=8 * GIB, log=True, memory=1),
    Dimension("cache_index_and_filter_blocks", values=BOTH),
    Dimension(
        "pin_l0_filter_and_index_blocks_in_cache",
        values=BOTH,
        only_if={"cache_index_and_filter_blocks": frozenset({"true"})},
    ),
    Dimension("bloom_bits", low=0, high=20, whole=False),
    Dimension("block_size", low=1024, high=65536, log=True),
    Dimension("use_direct_reads", values=BOTH),
)
#: RocksDB's own defaults in that space at the profile `quick`.
ROCKSDB_START = {
    "write_buffer_size": str(64 * MIB), "max_write_buffer_number": "2",
    "target_file_size_base": str(64 * MIB), "max_bytes_for_level_base": str(256 * MIB),
    "level_compaction_dynamic_level_bytes": "true",
    "level0_file_num_compaction_trigger": "4", "max_background_jobs": "2", "cache_size": str(4 * GIB),
    "cache_index_and_filter_blocks": "false", "bloom_bits": "0", "block_size": "4096",
    "use_direct_reads": "false",
}  # fmt: skip
BY_GP = ("search-rocksdb-gp", "rocksdb")
BY_OTHERS = ("search-rocksdb-sweep", "search-rocksdb-random")


@dataclass(frozen=True)
class _Seen:
    """A try of a published search: what proposed it, its options, and the gain of each repetition."""

    origin: str
    options: Options
    gains: Values


def _rocksdb(searches: Sequence[str]) -> Surface:
    seen = [one for search in searches for one in _tries(search)]
    places = np.array([_places(one.options) for one in seen])
    means, n = np.array([one.gains.mean() for one in seen]), np.array([len(one.gains) for one in seen])
    forest = ExtraTreesRegressor(300, min_samples_leaf=2, max_features=0.6, random_state=1)
    apart = cross_val_predict(forest, places, means, cv=KFold(10, shuffle=True, random_state=1))
    explained = 1 - float(np.mean((apart - means) ** 2) / means.var())
    forest.fit(places, means, sample_weight=n)
    default = float(forest.predict([_places(ROCKSDB_START)])[0])

    def gain(options: Options) -> float:
        return float(forest.predict([_places(options)])[0]) - default

    repeated = [one.gains for one in seen if len(one.gains) > 1]
    noise = [(gains - gains.mean()) * np.sqrt(len(gains) / (len(gains) - 1)) for gains in repeated]
    given = list({str(one.options): one.options for one in seen if one.origin.startswith("preset")}.values())
    return Surface(_space(ROCKSDB), ROCKSDB_START, gain, np.concatenate(noise), given, explained)


def _tries(search: str) -> Iterator[_Seen]:
    runs = pd.read_parquet(TUNING / search / "runs.parquet")
    tried = runs["experiment"].str.extract(r"-(\d+)$")[0]
    mine = (runs["metric"] == "throughput") & (runs["phase"] == "run") & (runs["workload"] == "a")
    rows = runs[mine & tried.notna()].assign(number=tried.astype(float))
    values = rows.pivot_table(index=["number", "repetition"], columns="label", values="value").dropna()
    gains = np.log(values["candidate"] / values["default"])
    trail = pd.read_csv(TUNING / search / "trail.csv", dtype=str).set_index("try")
    for number, its in gains.groupby("number"):
        row = trail.loc[str(int(number))]
        options = {each.name: row[each.name] for each in ROCKSDB if isinstance(row[each.name], str)}
        yield _Seen(row["origin"], options, its.to_numpy())


def _places(options: Options) -> Sequence[float]:
    return [_place(each, options.get(each.name)) for each in ROCKSDB]


def _place(dimension: Dimension, text: str | None) -> float:
    if text is None:
        return 0.5
    return float(text == "true") if dimension.values else dimension.place(float(text))
