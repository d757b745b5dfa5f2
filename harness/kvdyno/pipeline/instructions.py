"""Instructions that an operation takes at a gate's points, counted under valgrind, each once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kvdyno import profiling
from kvdyno.errors import EngineError, HostError
from kvdyno.model.calls import CallProfile
from kvdyno.model.experiment import GateMetric
from kvdyno.model.metrics import INSTRUCTIONS
from kvdyno.model.point import Point
from kvdyno.model.project import Project
from kvdyno.regress import Judgement, Pair, judge
from kvdyno.store import make_folder

from .gate import Gate, GatePoint
from .locking import sweep_lock

#: Counts of builds, below the data folder.
COUNTS = "instructions"
_PAIRS_MOST = 16


def count_instructions(project: Project, gate: Gate) -> Mapping[str, Sequence[Pair]]:
    """Pairs of both arms' instructions per operation, by the point's name, as many as decide; none if the
    suite does not ask for them. Counts scatter by some percent where background work meets the clients.

    What was counted for a build before is not counted again. Points whose small fixed run cannot be made are
    left out, and so are images. Raises HostError without valgrind, BusyError if a sweep holds this machine.
    """
    asked = next((each for each in gate.spec.metrics if each.metric == INSTRUCTIONS), None)
    if asked is None or not gate.points or gate.has_images:
        return {}
    if not profiling.available():
        raise HostError(
            f"{INSTRUCTIONS} needs valgrind, found none",
            remedy="apt-get install valgrind, or name other metrics: --metric",
        )
    found: dict[str, Sequence[Pair]] = {}
    with sweep_lock(project):
        for point in gate.points:
            try:
                found[point.name] = _pairs(project, gate, asked, point)
            except EngineError:
                continue
    return found


def _pairs(project: Project, gate: Gate, asked: GateMetric, point: GatePoint) -> Sequence[Pair]:
    """Pairs until they decide, _PAIRS_MOST at most."""
    pairs: list[Pair] = []
    while len(pairs) < _PAIRS_MOST and not judge_instructions(gate, asked, pairs).decided:
        number = len(pairs)
        pairs.append(Pair(*(_counted(project, arm, number) for arm in (point.base, point.head))))
    return pairs


def judge_instructions(gate: Gate, asked: GateMetric, pairs: Sequence[Pair]) -> Judgement:
    """The verdict on a point's pairs of counts."""
    margin = gate.spec.margin_of(asked)
    return judge(pairs, unit="instruction", margin=margin, level=gate.level, exact=asked.exact)


def _counted(project: Project, point: Point, number: int) -> float:
    """The build's count of that number, from 0: the stored one, or a new one, which is stored.

    Counts over another number of operations are not comparable: they are made again.
    """
    kept = project.data / COUNTS / f"{point.identity}.json"
    try:
        stored = json.loads(kept.read_text("utf-8"))
        comparable = stored["operations"] == profiling.COUNTED_OPERATIONS
        counts = [float(each) for each in stored["counts"]] if comparable else []
    except (OSError, ValueError, KeyError, TypeError):
        counts = []
    while len(counts) <= number:
        counts.append(count_calls(project, point).total)
        make_folder(kept.parent)
        kept.write_text(json.dumps({"operations": profiling.COUNTED_OPERATIONS, "counts": counts}), "utf-8")
    return counts[number]


def count_calls(project: Project, point: Point) -> CallProfile:
    """The call profile of a point's small fixed run. Raises what `profiling.count_calls` raises."""
    project.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="calls-", dir=project.data) as scratch:
        return profiling.count_calls(point.engine.binary, profiling.fixed_run(point), scratch=Path(scratch))
