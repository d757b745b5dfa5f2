"""Does the driver agree with other tools that load the same engine? `db_bench`, and an upstream `ycsb`.

Both sides run the same three steps on the same build of the engine, uncapped, with one client thread and
uniform keys: fill in key order, get, overwrite. They take turns step by step, so that both meet the same
weather. After a fill both wait for background work, outside of what is timed.

Each step is a process of its own: one that has just written gets slower, by a third here. Gets come before
overwrites, because overwrites leave now none and now three tables in level 0, and gets then differ threefold.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kvdyno.errors import EngineError, HostError
from kvdyno.model.record import Outcome

STEPS = ("fill", "get", "overwrite")
KEY_BYTES, VALUE_BYTES = 14, 800
RECORDS = 1_000_000
_TIMEOUT_SECONDS = 900

#: RocksDB's settings in which the two tools' own defaults differ, or differ between versions; both tools
#: spell them alike.
_OPTIONS: Mapping[str, str] = {
    "cache_size": str(32 << 20),
    "write_buffer_size": str(64 << 20),
    "max_bytes_for_level_base": str(256 << 20),
    "target_file_size_base": str(64 << 20),
    "level_compaction_dynamic_level_bytes": "true",
    "compaction_readahead_size": str(2 << 20),
}
#: Settings in which db_bench's defaults differ from RocksDB's own; the driver keeps RocksDB's.
_AS_ROCKSDB: Mapping[str, str] = {
    "enable_pipelined_write": "false",
    "delayed_write_rate": str(16 << 20),
    "table_cache_numshardbits": "6",
}
_DB_BENCH_STEPS = {"fill": "fillseq", "get": "readrandom", "overwrite": "overwrite"}
_DB_BENCH_LINE = re.compile(r"^(\w+)\s*:\s*[\d.]+ micros/op (\d+) ops/sec", re.MULTILINE)
_DB_BENCH_VERSION = re.compile(r"RocksDB:\s+version (\d+\.\d+(?:\.\d+)?)")
_YCSB_LINE = re.compile(r"^(Load|Run) throughput\(ops/sec\): ([\d.eE+]+)", re.MULTILINE)


class Side(Protocol):
    """A tool with an engine and an empty folder for its store, on which it does one step after the other.

    `version` is the engine's; empty until the tool has reported it.
    """

    version: str

    @property
    def tool(self) -> str:
        """Its name."""
        ...

    @property
    def steps(self) -> Sequence[str]:
        """What it can do, in this order."""
        ...

    def rate(self, step: str) -> float:
        """Do a step: operations a second. Raises EngineError when the tool fails, HostError without it."""
        ...


class DbBench:
    """RocksDB's own benchmark."""

    tool = "db_bench"
    steps = STEPS
    version = ""

    def __init__(self, program: Path, *, store: Path, records: int = RECORDS) -> None:
        self._program = program
        options = {**_OPTIONS, **_AS_ROCKSDB, "db": store, "num": records, "threads": 1}
        shape = {"key_size": KEY_BYTES, "value_size": VALUE_BYTES, "compression_type": "none"}
        self._words = [f"--{name}={value}" for name, value in {**options, **shape}.items()]

    def rate(self, step: str) -> float:
        """See Side."""
        benchmark = _DB_BENCH_STEPS[step]
        fills = step == "fill"
        benchmarks = f"{benchmark},flush,waitforcompaction" if fills else benchmark
        existing = f"--use_existing_db={int(not fills)}"
        said = _run([str(self._program), f"--benchmarks={benchmarks}", existing, *self._words])
        version = _DB_BENCH_VERSION.search(said)
        self.version = version.group(1) if version else ""
        rates = dict(_DB_BENCH_LINE.findall(said))
        return _found(rates.get(benchmark), step, where=self._program)


class Driver:
    """This project's driver."""

    tool = "kvdyno"
    steps = STEPS
    version = ""

    def __init__(
        self, binary: Path, *, engine: str, store: Path, output: Path, records: int = RECORDS
    ) -> None:
        self._binary, self._output = binary, output
        places = {"data.dir": store, "output.dir": output}
        self._properties = {**places, **_record_shape(records), **_plain(engine)}

    def rate(self, step: str) -> float:
        """See Side."""
        puts = step == "overwrite"
        mix = {"readproportion": int(not puts), "updateproportion": int(puts)}
        flag, phase = ("-load", "load") if step == "fill" else ("-run", "measure")
        _run([str(self._binary), flag, *_pairs({**self._properties, **mix})])
        outcome = Outcome.model_validate_json((self._output / "outcome.json").read_text("utf-8"))
        self.version = outcome.engine.version
        timed = [each.metrics["throughput"].value for each in outcome.phases if each.name == phase]
        return _found(timed[0] if timed else None, step, where=self._binary)


class UpstreamYcsb:
    """An upstream YCSB-cpp. It has no overwrite: its update reads first."""

    tool = "ycsb"
    steps = ("fill", "get")
    version = ""

    def __init__(self, program: Path, *, engine: str, store: Path, records: int = RECORDS) -> None:
        self._program = program
        gets = {"readproportion": 1, "updateproportion": 0}
        place = {f"{engine}.dbname": store, f"{engine}.destroy": "false"}
        pairs = _pairs({**_record_shape(records), **gets, **place})
        self._words = ["-db", engine, "-threads", "1", *pairs]

    def rate(self, step: str) -> float:
        """See Side."""
        flag, line = ("-load", "Load") if step == "fill" else ("-run", "Run")
        rates = dict(_YCSB_LINE.findall(_run([str(self._program), flag, *self._words])))
        return _found(rates.get(line), step, where=self._program)


def same_version(one: str, other: str) -> bool:
    """Whether both loaded the same version of the engine, as far as they report it."""
    short = min(one.count("."), other.count(".")) + 1
    parts = [".".join(each.split(".")[:short]) for each in (one, other)]
    return not all(parts) or parts[0] == parts[1]


def _record_shape(records: int) -> Mapping[str, object]:
    """Keys of 14 bytes ("user" and 10 digits), values of 800, uniform."""
    return {
        "recordcount": records,
        "operationcount": records,
        "fieldcount": 1,
        "fieldlength": VALUE_BYTES,
        "zeropadding": KEY_BYTES - len("user"),
        "requestdistribution": "uniform",
    }


def _plain(engine: str) -> Mapping[str, str]:
    """The engine's options: those of both tools, and nothing that watches."""
    plain = {**_OPTIONS, "compression": "no", "statistics": "false", "telemetry": "false"}
    return {f"{engine}.{name}": value for name, value in plain.items()}


def _pairs(properties: Mapping[str, object]) -> list[str]:
    return [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]


def _run(command: Sequence[str]) -> str:
    """What the tool prints. Raises EngineError when it fails, HostError when it cannot be started."""
    try:
        done = subprocess.run(
            list(command),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as failure:
        raise HostError(f"cannot be run: {failure.strerror}", where=command[0]) from failure
    except subprocess.TimeoutExpired:
        raise EngineError(f"did not end within {_TIMEOUT_SECONDS} s", where=command[0]) from None
    if done.returncode != 0:
        said = " | ".join(done.stderr.strip().splitlines()[-3:])
        raise EngineError(f"ended with status {done.returncode}: {said}", where=command[0])
    return done.stdout + done.stderr


def _found(rate: str | float | None, step: str, *, where: Path) -> float:
    if rate is None:
        raise EngineError(f"expected the rate of {step}, found none", where=str(where))
    return float(rate)
