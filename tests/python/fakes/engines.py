"""Engines that exist only as descriptions, with a key-value driver like the real one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kvdyno.model.engine import (
    BuildIdentity,
    DriverIdentity,
    Engine,
    EngineDescription,
    EngineIdentity,
    OptionDescription,
    OptionType,
    Preset,
)

DISTRIBUTIONS = ("uniform", "zipfian", "zipf-composite", "latest")


def option(
    name: str,
    kind: OptionType,
    default: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    shapes_data: bool = False,
    shapes_aged_data: bool = False,
    scales: bool = False,
) -> OptionDescription:
    return OptionDescription(
        name=name,
        type=kind,
        default=default,
        effect=f"Sets {name}.",
        min=least,
        max=most,
        choices=choices,
        shapes_data=shapes_data,
        shapes_aged_data=shapes_aged_data,
        scales=scales,
    )


YCSB_PROPERTIES = (
    option("workload", "choice", "core", choices=("core", "site.ycsb.workloads.CoreWorkload")),
    option("recordcount", "integer", "1000", least=1, shapes_data=True, scales=True),
    option("operationcount", "integer", "0", least=0, scales=True),
    option("keyprefix", "text", "user", shapes_data=True),
    option("zeropadding", "integer", "10", least=1, shapes_data=True),
    option("fieldcount", "integer", "10", least=0, shapes_data=True),
    option("fieldlength", "bytes", "80", least=0, shapes_data=True),
    option("insertorder", "choice", "ordered", choices=("ordered", "hashed"), shapes_data=True),
    option("seed", "integer", "1", shapes_data=True),
    option("readproportion", "real", "0.95", least=0),
    option("updateproportion", "real", "0.05", least=0),
    option("insertproportion", "real", "0", least=0),
    option("scanproportion", "real", "0", least=0),
    option("readmodifywriteproportion", "real", "0", least=0),
    option("requestdistribution", "choice", "uniform", choices=DISTRIBUTIONS),
    option("zipfian_const", "real", "0.99", least=1e-6, most=100),
    option("minscanlength", "integer", "1", least=1),
    option("maxscanlength", "integer", "1000", least=1),
    option("scanlengthdistribution", "choice", "uniform", choices=("uniform", "zipfian")),
    option("doload", "bool", "false"),
    option("dotransaction", "bool", "false"),
    option("threadcount", "integer", "1", least=1, most=4096),
    option("sync", "bool", "false"),
    option("load.seconds", "seconds", "0s", least=0),
    option("warmup.seconds", "seconds", "0s", least=0),
    option("warmup.operations", "integer", "0", least=0, scales=True),
    option("measure.seconds", "seconds", "0s", least=0),
    option("measure.bytes", "bytes", "0", least=0, scales=True),
    option("drain", "bool", "true"),
    option("memory.cap", "bytes", "0", least=0, scales=True),
    option("data.dir", "text", ""),
    option("output.dir", "text", ""),
    option("progress.fd", "integer", "-1", least=-1),
    option("series.interval", "seconds", "1s", least=0.05),
)

#: A driver that ages data, draws each repetition's operations with a seed of its own, and can be killed.
AGEING_PROPERTIES = (
    *(
        each.model_copy(update={"shapes_aged_data": each.name in ("requestdistribution", "zipfian_const")})
        for each in YCSB_PROPERTIES
    ),
    option("age", "real", "0", least=0, shapes_data=True),
    option("mix.seed", "integer", "1"),
    option("deleteproportion", "real", "0", least=0),
    option("kill.seconds", "seconds", "0s", least=0),
    option("kill.operations", "integer", "0", least=0),
    option("reopen.from", "text", ""),
)
AGEING_PHASES = ("load", "settle", "age", "age-settle", "build", "warmup", "rest", "measure", "drain", "run")

ROCKS_OPTIONS = (
    option("bloom_bits", "integer", "0", least=0, most=64, shapes_data=True),
    option("block_cache", "bytes", "8MiB", least=0, scales=True),
    option("write_buffer_size", "bytes", "64MiB", least=64 << 10, shapes_data=True, scales=True),
    option("compression", "choice", "none", choices=("none", "snappy"), shapes_data=True),
    option("direct_io", "bool", "false"),
)

CHUNK_OPTIONS = (
    option("log_limit", "bytes", "2MiB", least=1 << 10, scales=True),
    option("bloom_split", "integer", "16", least=1),
)


def describe(
    name: str,
    *,
    options: tuple[OptionDescription, ...] = (),
    properties: tuple[OptionDescription, ...] = YCSB_PROPERTIES,
    phases: tuple[str, ...] = ("load", "settle", "warmup", "measure", "drain"),
) -> EngineDescription:
    return EngineDescription(
        schema_version="kvdyno.describe/1",
        driver=DriverIdentity(name="ycsb", version="0.1.0"),
        engine=EngineIdentity(
            name=name, version="1.0", summary=f"A fake {name}", write_once_files=("*.sst",)
        ),
        build=BuildIdentity(compiler="none", flags="", type="Release"),
        options=options,
        properties=properties,
        phases=phases,
        operations=("read", "update", "insert", "scan", "readmodifywrite", "delete"),
    )


def engine(
    name: str,
    *,
    options: tuple[OptionDescription, ...] = (),
    presets: Mapping[str, Preset] | None = None,
    sha256: str | None = None,
    properties: tuple[OptionDescription, ...] = YCSB_PROPERTIES,
    phases: tuple[str, ...] = ("load", "settle", "warmup", "measure", "drain"),
) -> Engine:
    """An engine whose binary does not exist."""
    return Engine(
        name=name,
        binary=Path(f"/nonexistent/kvdyno-{name}"),
        binary_sha256=sha256 or (name.encode().hex() + "0" * 64)[:64],
        description=describe(name, options=options, properties=properties, phases=phases),
        presets={"default": Preset(), **(presets or {})},
    )


def catalog() -> dict[str, Engine]:
    """rocksdb (with a preset `tuned`), leveldb without options, and chunks with a log limit."""
    tuned = {"bloom_bits": "10", "block_cache": str(5 << 30)}
    return {
        "chunks": engine("chunks", options=CHUNK_OPTIONS),
        "leveldb": engine("leveldb"),
        "rocksdb": engine("rocksdb", options=ROCKS_OPTIONS, presets={"tuned": Preset(tuned, "More cache.")}),
    }


def ageing_catalog() -> dict[str, Engine]:
    """The same engines with a driver that ages data, and `young`, which cannot settle."""
    found = {}
    for name, each in catalog().items():
        description = each.description.model_copy(
            update={"properties": AGEING_PROPERTIES, "phases": AGEING_PHASES}
        )
        found[name] = replace(each, description=description)
    found["young"] = engine("young", properties=AGEING_PROPERTIES, phases=("load", "warmup", "measure"))
    return found
