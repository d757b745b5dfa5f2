"""What was measured becomes results/gate/: tables, texts, origin, and the documents that show them."""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path

from bench_gate import tables
from bench_gate.parts import PARTS
from kvdyno import pipeline
from kvdyno.errors import StoreError
from kvdyno.model.project import Project
from kvdyno.pipeline.written import write_yaml
from kvdyno.report.prose import fill_blocks

_TEXTS = Path(__file__).with_name("texts")
_README = "README.md"


def publish(project: Project, *, state: str) -> Path:
    """Derive the tables, write texts and origin, render. Raises StoreError unless every gate has ended."""
    folder = project.committed / "gate"
    gates, pairs = (tables.read(folder / name) for name in (tables.GATES, tables.PAIRS))
    ended = {(row["part"], int(row["number"])) for row in gates}
    for part in PARTS:
        lacking = [number for number in part.numbers if (part.name, number) not in ended]
        if lacking:
            raise StoreError(
                f"expected {part.gates} gates of part {part.name}, found {part.gates - len(lacking)}",
                where=str(folder / tables.GATES),
                remedy=f"make bench-gate PARTS={part.name}",
            )
    margin = next(part.margin for part in PARTS if part.kind == "twins")
    resampled, rates = tables.resampled(pairs, margin=margin), tables.rates(gates)
    tables.write(folder / tables.RESAMPLED, list(resampled[0]), resampled)
    tables.write(folder / tables.RATES, list(rates[0]), rates)
    for text in _TEXTS.iterdir():
        shutil.copyfile(text, folder / (_README if text.name == "README.in" else text.name))
    write_yaml(folder / "origin.yaml", _origin(gates, state=state))
    readme = folder / _README
    readme.write_text(
        fill_blocks(readme, root=project.root, origins=pipeline.origins(project)), encoding="utf-8"
    )
    return folder


def _origin(gates: list[dict[str, str]], *, state: str) -> dict[str, object]:
    machines = list(dict.fromkeys(row["machine"] for row in gates if row["machine"]))
    return {
        "schema_version": "kvdyno.origin/1",
        "question": "How often does a gate raise a false alarm, and how often does it find a slower get?",
        "command": "make bench-gate",
        "files": [tables.GATES, tables.PAIRS, tables.RESAMPLED, tables.RATES],
        "commit": gates[0]["commit"],
        "date": datetime.date.fromisoformat(max(row["date"] for row in gates)),
        "state": state,
        "machines": [json.loads(machine) for machine in machines],
        "sweeps": "not kept",
        "runs": 2 * sum(int(row["pairs"]) for row in gates),
        "repetitions": len(gates),
        "note": "A run is one arm of a pair, a repetition is a gate.",
    }
