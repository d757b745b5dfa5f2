"""The last section, how it was made: machine and confinement in words, the options that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvdyno.model.results import Analysis, Confinement, Contender, Machine
from plots.units import axis_text, quantity


@dataclass(frozen=True)
class Option:
    """An option and its value for each contender of an engine; None where one has no such option."""

    name: str
    values: tuple[str | None, ...]


@dataclass(frozen=True)
class Differing:
    """The options in which contenders of one engine differ, and how many they share."""

    engine: str
    labels: tuple[str, ...]
    options: tuple[Option, ...]
    shared: int


def machine_text(machine: Machine) -> str:
    """A host in a sentence, from those of its facts that are known."""
    facts = dict(flat_facts(machine.facts))
    cores = facts.get("cpu.logical") or facts.get("cpu.cores")
    memory = facts.get("memory.bytes") or facts.get("memory_bytes")
    disk = " on ".join(
        filter(None, (facts.get("disk.file_system"), facts.get("disk.model") or facts.get("disk.device")))
    )
    ahead = facts.get("disk.read_ahead_kb")
    parts = [
        facts.get("cpu.model"),
        f"{cores} CPUs" if cores else None,
        f"{memory} of memory" if memory else None,
        facts.get("os.name"),
        f"kernel {facts.get('os.kernel') or facts.get('kernel')}"
        if "os.kernel" in facts or "kernel" in facts
        else None,
        f"{disk}, reading ahead {ahead} KiB" if disk and ahead else disk or None,
        "a virtual machine" if facts.get("os.virtualisation") == "yes" else None,
    ]
    return ", ".join(filter(None, parts)) or "nothing is known of it"


def confinement_text(confinement: Confinement) -> str:
    """A way of confining in a sentence. Published metrics keep only the cap."""
    cap = (
        f"a memory cap of {quantity(confinement.cap_bytes, 'byte')} with the page cache inside"
        if confinement.capped
        else "no memory cap"
    )
    if not confinement.runner:
        return cap
    how = str(confinement.details.get("confinement", f"runner {confinement.runner}"))
    cpus = f"CPUs {confinement.cpus}" if confinement.cpus else "all CPUs"
    cache = confinement.details.get("cache_policy")
    return f"{how}, {cap}, {cpus}" + (f", caches {cache}" if cache else "")


def differing_options(contenders: Sequence[Contender]) -> tuple[Differing, ...]:
    """For each engine with several contenders, the options whose values they do not share."""
    engines: dict[str, list[Contender]] = {}
    for contender in contenders:
        engines.setdefault(contender.engine, []).append(contender)
    found = []
    for engine, some in engines.items():
        if len(some) < 2:
            continue
        names = sorted({name for contender in some for name in contender.options})
        rows = [Option(name, tuple(c.options.get(name) for c in some)) for name in names]
        unlike = tuple(row for row in rows if len(set(row.values)) > 1)
        found.append(Differing(engine, tuple(c.label for c in some), unlike, len(rows) - len(unlike)))
    return tuple(found)


def flat_facts(facts: Mapping[str, Any], *, prefix: str = "") -> list[tuple[str, str]]:
    """Nested facts as dotted names and texts, sizes with units; empty ones are left out. Lists of facts are
    numbered.
    """
    found: list[tuple[str, str]] = []
    for name, value in facts.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping):
            found += flat_facts(value, prefix=f"{full}.")
        elif isinstance(value, (list, tuple)):
            found += _listed(full, value)
        elif value is not None and value != "":
            is_size = name.endswith("bytes") and isinstance(value, (int, float))
            found.append((full, quantity(value, "byte") if is_size else axis_text(value, "")))
    return found


def _listed(name: str, values: Sequence[Any]) -> list[tuple[str, str]]:
    plain = [str(value) for value in values if not isinstance(value, (Mapping, list, tuple))]
    nested = [value for value in values if isinstance(value, (Mapping, list, tuple))]
    found = [(name, ", ".join(plain))] if plain else []
    for number, value in enumerate(nested, start=1):
        inner = value if isinstance(value, Mapping) else {"": value}
        found += flat_facts(inner, prefix=f"{name}.{number}.")
    return found


def when_text(analysis: Analysis) -> str:
    """From when to when, in UTC, the day once. Published metrics keep only the day."""
    if not analysis.started_at:
        return analysis.ended_at[:10]
    begin, end = (text[:16].replace("T", " ") for text in (analysis.started_at, analysis.ended_at))
    return f"{begin} to {end[11:] if end[:10] == begin[:10] else end} UTC"
