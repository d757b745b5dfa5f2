"""What an axis of a grid means to an engine, and the driver properties that experiment keys stand for.

Seven axes have words of their own; every other axis is an option of the engine or a property of its driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .engine import Engine, OptionDescription

WORKLOAD, DISTRIBUTION, DATASET, THREADS = "workload", "distribution", "dataset", "threads"
DEVICE, AGE, VOLUME = "device", "age", "volume"
NAMED_AXES = (WORKLOAD, DISTRIBUTION, DATASET, THREADS, DEVICE, AGE, VOLUME)

# The least volume that can be asked for: less is a slip of the keyboard.
VOLUME_MIN = 0.001

# The one device that needs no definition: the disk as it is.
FULL_SPEED = "full-speed"

# The published evaluation's name for scattered Zipf keys, and the skew that it uses throughout.
ZIPF_SIMPLE = "zipf-simple"
PUBLISHED_THETA = "0.8"

# Driver properties behind experiment keys.
RECORDS = "recordcount"
OPERATIONS = "operationcount"
THREAD_COUNT = "threadcount"
KEY_DISTRIBUTION = "requestdistribution"
THETA = "zipfian_const"
LOAD_SECONDS = "load.seconds"
MEASURE_SECONDS = "measure.seconds"
MEASURE_BYTES = "measure.bytes"
WARMUP_SECONDS = "warmup.seconds"
DRAIN = "drain"
CAP = "memory.cap"
SEED = "seed"
MIX_SEED = "mix.seed"
SERIES_INTERVAL = "series.interval"
KILL_OPERATIONS = "kill.operations"
KILL_SECONDS = "kill.seconds"
REOPEN_FROM = "reopen.from"

# The phase in which an engine finishes its work: without it, aged data would be half-finished.
SETTLE = "settle"

# A workload file that sets dotransaction=false measures the load itself: YCSB's names for its flags.
RUNS_OPERATIONS = "dotransaction"
FLAG_PROPERTIES = frozenset({"doload", RUNS_OPERATIONS})

# Properties that an experiment cannot set by name, and the key that sets them.
OWNED_PROPERTIES: Mapping[str, str] = {
    WORKLOAD: "grid.workload",
    RECORDS: "grid.dataset",
    OPERATIONS: "phases.measure.operations",
    MEASURE_SECONDS: "phases.measure.seconds",
    MEASURE_BYTES: "phases.measure.bytes",
    WARMUP_SECONDS: "phases.warmup",
    DRAIN: "phases.drain",
    THREAD_COUNT: "grid.threads",
    KEY_DISTRIBUTION: "grid.distribution",
    CAP: "cap",
    AGE: "age",
    SEED: "loads",
    MIX_SEED: "repetitions",
    **dict.fromkeys(sorted(FLAG_PROPERTIES), "a workload file"),
    KILL_OPERATIONS: "phases.recovery",
    KILL_SECONDS: "phases.recovery",
    REOPEN_FROM: "phases.recovery",
    "data.dir": "the harness",
    "data.destroy": "the harness",
    "output.dir": "the harness",
    "progress.fd": "the harness",
}


def axis_of(engine: Engine, name: str) -> OptionDescription | None:
    """How to read this axis's values for the engine; None when the axis means nothing to it."""
    prop = engine.description.property
    match name:
        case "workload":  # a property of that name is YCSB's, a Java class
            return _axis(name) if prop(OPERATIONS) else None
        case "device":  # the harness holds the disk, whatever runs on it
            return _axis(name)
        case "dataset":
            return _axis(name, type="bytes", min=1, scales=True) if prop(RECORDS) else None
        case "age":
            return _axis(name, type="real", min=0) if prop(AGE) else None
        case "volume":
            counted = prop(RECORDS) and prop(OPERATIONS)
            return _axis(name, type="real", min=VOLUME_MIN) if counted else None
        case "threads":
            threads = prop(THREAD_COUNT)
            return threads and threads.model_copy(update={"name": name, "min": max(1, threads.min or 1)})
        case "distribution":
            drawn = prop(KEY_DISTRIBUTION)
            return drawn and _axis(name, type="choice", choices=_with_zipf_simple(drawn.choices))
        case _:
            return engine.description.option(name) or (None if name in OWNED_PROPERTIES else prop(name))


def axis_words(engines: Iterable[Engine]) -> tuple[str, ...]:
    """Every axis that at least one of the engines understands."""
    words: dict[str, None] = {}
    for engine in engines:
        described = (*engine.description.options, *engine.description.properties)
        for name in (*NAMED_AXES, *(item.name for item in described)):
            if axis_of(engine, name) is not None:
                words[name] = None
    return tuple(words)


def _axis(name: str, **fields: object) -> OptionDescription:
    return OptionDescription.model_validate(
        {"name": name, "type": "text", "default": "", "effect": "", **fields}
    )


def _with_zipf_simple(choices: tuple[str, ...]) -> tuple[str, ...]:
    extra = (ZIPF_SIMPLE,) if "zipfian" in choices and ZIPF_SIMPLE not in choices else ()
    return (*extra, *choices)
