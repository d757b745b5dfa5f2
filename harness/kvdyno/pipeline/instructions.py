"""Instructions that an operation takes at a gate's points, counted under valgrind, each once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kvdyno import profiling
from kvdyno.errors import EngineError, HostError
from kvdyno.model.calls import CallProfile
from kvdyno.model.metrics import INSTRUCTIONS
from kvdyno.model.point import Point
from kvdyno.model.project import Project
from kvdyno.regress import Pair
from kvdyno.store import make_folder

from .gate import Gate
from .locking import sweep_lock

#: Counts of builds, below the data folder.
COUNTS = "instructions"


def count_instructions(project: Project, gate: Gate) -> Mapping[str, Pair]:
    """Both arms' instructions per operation, by the point's name; none if the suite does not ask for them.

    What was counted for a build before is not counted again. Points whose small fixed run cannot be made are
    left out, and so are images. Raises HostError without valgrind, BusyError if a sweep holds this machine.
    """
    asked = any(each.metric == INSTRUCTIONS for each in gate.spec.metrics)
    if not asked or not gate.points or gate.has_images:
        return {}
    if not profiling.available():
        raise HostError(
            f"{INSTRUCTIONS} needs valgrind, found none",
            remedy="apt-get install valgrind, or name other metrics: --metric",
        )
    found: dict[str, Pair] = {}
    with sweep_lock(project):
        for point in gate.points:
            try:
                found[point.name] = Pair(*(_counted(project, arm) for arm in (point.base, point.head)))
            except EngineError:
                continue
    return found


def _counted(project: Project, point: Point) -> float:
    kept = project.data / COUNTS / f"{point.identity}.json"
    try:
        return float(json.loads(kept.read_text("utf-8"))["per_operation"])
    except (OSError, ValueError, KeyError, TypeError):
        total = count_calls(project, point).total
    make_folder(kept.parent)
    kept.write_text(json.dumps({"per_operation": total}), "utf-8")
    return total


def count_calls(project: Project, point: Point) -> CallProfile:
    """The call profile of a point's small fixed run. Raises what `profiling.count_calls` raises."""
    project.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="calls-", dir=project.data) as scratch:
        return profiling.count_calls(point.engine.binary, profiling.fixed_run(point), scratch=Path(scratch))
