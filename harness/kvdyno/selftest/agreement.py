"""Does the driver agree with other tools that load the same engine? `db_bench`, and an upstream `ycsb`.

Both sides run the same three steps on the same build of the engine, uncapped, with one client thread and
uniform keys, each in turn: fill in key order, overwrite, get. Between steps both wait for background work,
outside of what is timed. Rates are of the steps alone.

What makes gets comparable: both read in a process of their own (a process that has just written gets slower,
by a third here), and draw keys anew (gets that repeat the overwrites' keys in their order find them in
fewer tables).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import EngineError, HostError
from kvdyno.model.record import Outcome

STEPS = ("fill", "overwrite", "get")
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
_GETS_SEED = 2
_DB_BENCH_STEPS = {"fillseq": "fill", "overwrite": "overwrite", "readrandom": "get"}
_DB_BENCH_LINE = re.compile(r"^(\w+)\s*:\s*[\d.]+ micros/op (\d+) ops/sec", re.MULTILINE)
_DB_BENCH_VERSION = re.compile(r"RocksDB:\s+version (\d+\.\d+(?:\.\d+)?)")
_YCSB_LINE = re.compile(r"^(Load|Run) throughput\(ops/sec\): ([\d.eE+]+)", re.MULTILINE)


@dataclass(frozen=True)
class Rates:
    """One execution of one tool: step to operations a second; `version` of the engine, "" if not told."""

    tool: str
    version: str
    operations_per_second: Mapping[str, float]


def db_bench(program: Path, *, store: Path, records: int = RECORDS) -> Rates:
    """Run RocksDB's own benchmark in an empty folder, which is emptied again."""
    options = [f"--{name}={value}" for name, value in {**_OPTIONS, **_AS_ROCKSDB}.items()]
    words = [
        f"--db={store}",
        f"--num={records}",
        f"--key_size={KEY_BYTES}",
        f"--value_size={VALUE_BYTES}",
        "--threads=1",
        "--compression_type=none",
        *options,
    ]
    puts = "fillseq,flush,waitforcompaction,overwrite,flush,waitforcompaction"
    said = _run([str(program), f"--benchmarks={puts}", *words])
    said += _run([str(program), "--benchmarks=readrandom", "--use_existing_db=1", *words])
    _empty(store)
    lines = _DB_BENCH_LINE.findall(said)
    found = {_DB_BENCH_STEPS[name]: float(rate) for name, rate in lines if name in _DB_BENCH_STEPS}
    version = _DB_BENCH_VERSION.search(said)
    return _whole(Rates("db_bench", version.group(1) if version else "", found), where=str(program))


def driver(binary: Path, *, engine: str, store: Path, output: Path, records: int = RECORDS) -> Rates:
    """Run this project's driver through the same steps, in an empty folder, which is emptied again."""
    common = {
        "recordcount": records,
        "operationcount": records,
        "data.dir": store,
        "output.dir": output,
        **_record_shape(),
        **_plain(engine),
    }
    puts = {"readproportion": 0, "updateproportion": 1}
    gets = {"readproportion": 1, "updateproportion": 0, "mix.seed": _GETS_SEED}
    first = _drive(binary, ["-load", "-run"], {**common, **puts}, output=output)
    second = _drive(binary, ["-run"], {**common, **gets}, output=output)
    _empty(store)
    timed = {"fill": (first, "load"), "overwrite": (first, "measure"), "get": (second, "measure")}
    rates = {step: _rate(outcome, phase) for step, (outcome, phase) in timed.items()}
    return Rates("kvdyno", first.engine.version, rates)


def upstream_ycsb(program: Path, *, engine: str, store: Path, records: int = RECORDS) -> Rates:
    """Run an upstream YCSB-cpp on fill and get; its update reads first, so that it has no overwrite."""
    common = {
        "recordcount": records,
        "operationcount": records,
        **_record_shape(),
        "readproportion": 1,
        "updateproportion": 0,
        f"{engine}.dbname": store,
        f"{engine}.destroy": "false",
    }
    said = _run([str(program), "-load", "-run", "-db", engine, "-threads", "1", *_pairs(common)])
    _empty(store)
    steps = {"Load": "fill", "Run": "get"}
    found = {steps[name]: float(rate) for name, rate in _YCSB_LINE.findall(said)}
    return _whole(Rates("ycsb", "", found), where=str(program), steps=("fill", "get"))


def same_version(one: Rates, other: Rates) -> bool:
    """Whether both loaded the same version of the engine, as far as they tell."""
    short = min(one.version.count("."), other.version.count(".")) + 1
    parts = [".".join(each.version.split(".")[:short]) for each in (one, other)]
    return not all(parts) or parts[0] == parts[1]


def _record_shape() -> Mapping[str, object]:
    """Keys of 14 bytes ("user" and 10 digits), values of 800, uniform."""
    return {
        "fieldcount": 1,
        "fieldlength": VALUE_BYTES,
        "zeropadding": KEY_BYTES - len("user"),
        "requestdistribution": "uniform",
    }


def _plain(engine: str) -> Mapping[str, str]:
    """The engine's options: those of both tools, and nothing that watches."""
    plain = {**_OPTIONS, "compression": "no", "statistics": "false", "telemetry": "false"}
    return {f"{engine}.{name}": value for name, value in plain.items()}


def _drive(binary: Path, flags: Sequence[str], properties: Mapping[str, object], *, output: Path) -> Outcome:
    _run([str(binary), *flags, *_pairs(properties)])
    return Outcome.model_validate_json((output / "outcome.json").read_text("utf-8"))


def _pairs(properties: Mapping[str, object]) -> list[str]:
    return [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]


def _rate(outcome: Outcome, phase: str) -> float:
    return next(each.metrics["throughput"].value for each in outcome.phases if each.name == phase)


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


def _whole(rates: Rates, *, where: str, steps: Sequence[str] = STEPS) -> Rates:
    """The rates, if no step is missing."""
    missing = [step for step in steps if step not in rates.operations_per_second]
    if missing:
        raise EngineError(f"expected a rate of each step, found none of {', '.join(missing)}", where=where)
    return rates


def _empty(store: Path) -> None:
    shutil.rmtree(store)
    store.mkdir()
