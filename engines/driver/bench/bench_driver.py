"""What the driver itself costs, beside what the engines cost: CPU time per get and per put, one thread.

The noop engine does nothing, so that all of its time is the driver's: choosing a key, spelling it,
making an 800-byte value, timing, booking. Engines are interleaved within a repetition, so that a
slow spell of the machine hits all of them; only numbers of one invocation may be compared.
CPU time is getrusage's, of all threads, the engine's own included, until its work is done.
Exit status: 0 when the noop engine stays within the limits, 1 when not, 2 when a run failed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

REPETITIONS = 5
RECORDS = 100_000
LIMITS_NS: Mapping[str, float] = {"get": 120, "put": 300}
MIXES: Mapping[str, Mapping[str, object]] = {
    "get": {"readproportion": 1, "updateproportion": 0},
    "put": {"readproportion": 0, "updateproportion": 1},
}
# Enough for a tenth of a second of CPU and more; the driver alone is far quicker than any engine.
OPERATIONS: Mapping[str, int] = {"noop": 5_000_000}
OPERATIONS_OF_A_STORE = 300_000


class RunError(Exception):
    """A driver did not end with exit status 0."""


def drive(binary: Path, *, folder: Path, flags: list[str], properties: Mapping[str, object]) -> None:
    """Runs a driver to its end; its data and output stay in `folder`."""
    places = {"data.dir": folder / "data", "output.dir": folder / "output"}
    command = [str(binary), *flags]
    for name, value in {**places, **properties}.items():
        command += ["-p", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")


def cpu_ns_per_operation(folder: Path) -> float:
    """CPU time of the last run's span `run`: the measured phase and the work that it left behind."""
    outcome = json.loads((folder / "output" / "outcome.json").read_text())
    run = next(phase for phase in outcome["phases"] if phase["name"] == "run")
    return float(run["metrics"]["cpu.per_operation"]["value"])


@contextmanager
def loaded_stores(binaries: Mapping[str, Path], *, place: Path | None) -> Iterator[dict[str, Path]]:
    """A folder per engine, holding a loaded store."""
    with tempfile.TemporaryDirectory(prefix="kvdyno-bench-", dir=place) as root:
        folders = {engine: Path(root) / engine for engine in binaries}
        for engine, folder in folders.items():
            folder.mkdir()
            drive(binaries[engine], folder=folder, flags=["-load"], properties={"recordcount": RECORDS})
        yield folders


def measure(
    binaries: Mapping[str, Path], folders: Mapping[str, Path], *, repetitions: int
) -> dict[tuple[str, str], list[float]]:
    """(engine, operation) to nanoseconds of CPU per operation, one number per repetition."""
    costs: dict[tuple[str, str], list[float]] = {(e, o): [] for e in binaries for o in MIXES}
    for _ in range(repetitions):
        for operation, mix in MIXES.items():
            for engine, binary in binaries.items():
                properties = {
                    **mix,
                    "recordcount": RECORDS,
                    "operationcount": OPERATIONS.get(engine, OPERATIONS_OF_A_STORE),
                    "requestdistribution": "zipfian",
                    "zipfian_const": 0.8,
                }
                drive(binary, folder=folders[engine], flags=["-run"], properties=properties)
                costs[engine, operation].append(cpu_ns_per_operation(folders[engine]))
    return costs


def table(costs: Mapping[tuple[str, str], list[float]]) -> str:
    """Medians, and the range of all repetitions (of 5: a 94 % interval for the median)."""
    lines = [f"{'engine':<12} {'CPU ns per get':>28} {'CPU ns per 800-byte put':>28}"]
    for engine in dict.fromkeys(engine for engine, _ in costs):
        cells = []
        for operation in MIXES:
            values = costs[engine, operation]
            cells.append(f"{statistics.median(values):.0f} [{min(values):.0f} .. {max(values):.0f}]")
        lines.append(f"{engine:<12} {cells[0]:>28} {cells[1]:>28}")
    return "\n".join(lines)


def verdicts(costs: Mapping[tuple[str, str], list[float]]) -> list[tuple[bool, str]]:
    """Whether the driver stays within its limits, and a sentence for each."""
    results = []
    for operation, limit in LIMITS_NS.items():
        median = statistics.median(costs["noop", operation])
        passed = median <= limit
        word = "pass" if passed else "FAIL"
        results.append((passed, f"{word}: noop {operation} {median:.0f} ns, limit {limit:.0f} ns"))
    return results


def main() -> int:
    """Measures every engine that is built, and prints the table and the verdicts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binaries", type=Path, default=Path("build/bin"), help="folder of kvdyno-<engine>")
    parser.add_argument("--engines", default="noop,memory,rocksdb,leveldb,chunkstore", help="in this order")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--place", type=Path, help="folder for the stores (default: the temporary folder)")
    arguments = parser.parse_args()

    wanted = {name: arguments.binaries / f"kvdyno-{name}" for name in arguments.engines.split(",")}
    built = {name: path for name, path in wanted.items() if path.is_file()}
    for name in wanted.keys() - built.keys():
        sys.stderr.write(f"{name}: left out, {wanted[name]} is not built\n")
    if "noop" not in built:
        sys.stderr.write("expected at least kvdyno-noop; run make build\n")
        return 2
    try:
        with loaded_stores(built, place=arguments.place) as folders:
            costs = measure(built, folders, repetitions=arguments.repetitions)
    except RunError as failure:
        sys.stderr.write(f"{failure}\n")
        return 2
    results = verdicts(costs)
    sys.stdout.write(
        f"median [lowest .. highest] of {arguments.repetitions}, one thread\n\n{table(costs)}\n\n"
    )
    sys.stdout.write("\n".join(sentence for _, sentence in results) + "\n")
    return 0 if all(passed for passed, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
