"""Measures the gate itself, part by part (docs/regression.md): nothing else may run.

    make bench-gate-plan                      # the parts, their planned time, what is left
    make bench-gate [PARTS="twins-1 cost"]    # these parts, or all; the same command goes on
    make publish-gate STATE="nothing else running"

Every gate that ends adds a row to results/gate/gates.csv, gates of twins their pairs to pairs.csv as well.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench_gate import made_commits, publishing, tables
from bench_gate.parts import COMMITS, METRIC, PARTS, PLANTED, POINT, PROBE_INSTRUCTIONS, SUITE_POINTS, Part
from kvdyno import analysis, builds, pipeline
from kvdyno.analysis.derived import with_derived
from kvdyno.cli.app import console
from kvdyno.cli.engines import BuildDisplay
from kvdyno.cli.progress import GateDisplay
from kvdyno.errors import KvdynoError, UsageError
from kvdyno.model.metrics import INSTRUCTIONS
from kvdyno.model.project import Project
from kvdyno.model.units import format_seconds
from kvdyno.model.words import unknown
from kvdyno.pipeline.instructions import COUNTS
from kvdyno.pipeline.publishing import machine_words
from kvdyno.regress import Verdict


class Bench:
    """The measurement in one checkout: `base` is the commit that all of it is about."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.out = project.committed / "gate"
        self.rows = tables.read(self.out / tables.GATES)
        self.base = builds.commit_of(project, "HEAD") or ""

    def check(self) -> None:
        """Raises UsageError unless this is the commit that was measured before, without changes."""
        earlier = {row["commit"] for row in self.rows} - {self.base}
        if earlier:
            raise UsageError(
                f"expected the commit of the gates so far, {min(earlier)[:12]}, found {self.base[:12]}",
                where=str(self.out / tables.GATES),
                remedy="check that commit out, or remove the folder and measure all of it again",
            )
        if changed := builds.changed_sources(self.project):
            raise UsageError(
                f"expected a tree without changes, found {changed[0]}", remedy="commit or stash them"
            )

    def left(self, part: Part) -> list[int]:
        """The numbers of its gates that have not ended yet."""
        ended = {int(row["number"]) for row in self.rows if row["part"] == part.name}
        return [number for number in part.numbers if number not in ended]

    def run(self, part: Part) -> None:
        """Every gate of the part that has not ended yet."""
        for number in self.left(part):
            console.print(f"{part.name}: gate {number}, at most {format_seconds(part.budget_seconds)}")
            here = self._folders(part, number)
            row = self._bisect(here, part) if part.kind == "bisect" else self._gate(here, part, number)
            row |= {"part": part.name, "number": number, "kind": part.kind, "slowdown": part.slowdown}
            row |= {"margin": part.margin, "budget_s": part.budget_seconds, "commit": self.base}
            row |= {"date": datetime.datetime.now(datetime.UTC).date().isoformat()}
            tables.append(self.out / tables.GATES, tables.GATE_COLUMNS, [row])
            self.rows = tables.read(self.out / tables.GATES)
            shutil.rmtree(here.results, ignore_errors=True)
            if here.data != self.project.data:
                shutil.rmtree(here.data, ignore_errors=True)

    def _folders(self, part: Part, number: int) -> Project:
        """Records of its own for each gate, and stores of its own for twins; the host's noise is shared."""
        own = self.project.data / "bench-gate" / f"{part.name}-{number}"
        results = own / "results"
        results.mkdir(parents=True, exist_ok=True)
        hosts = results / "hosts"
        if self.project.hosts.is_dir() and not hosts.exists():
            hosts.symlink_to(self.project.hosts)
        data = own / "data" if part.kind == "twins" else self.project.data
        return replace(self.project, results=results, data=data)

    def _gate(self, here: Project, part: Part, number: int) -> dict[str, object]:
        """One gate, as `kvdyno regress` runs it."""
        twins, cost = part.kind == "twins", part.name == "cost"
        slow = not twins and not cost
        instructions = 0 if twins else PROBE_INSTRUCTIONS if cost else self._instructions(part.slowdown)
        head = "" if twins else made_commits.slower(here.root, self.base, instructions=instructions)
        request = pipeline.GateRequest(
            "chunkstore" if twins else self.base,
            "chunkstore" if twins else head,
            margin=part.margin,
            budget_seconds=part.budget_seconds,
            twins=twins,
            point=None if twins else POINT,
            metric=METRIC if cost else None,
            comparisons=SUITE_POINTS if slow else 1,
        )
        _forget_counts(here)
        found = _measured(here, _prepared(here, request))
        if twins:
            tables.append(self.out / tables.PAIRS, tables.PAIR_COLUMNS, _pairs(found, gate=number))
        timed, counted = (_verdict(found, metric) for metric in (METRIC, INSTRUCTIONS))
        by_time, by_count = (bool(each and each.regression) for each in (timed, counted))
        return {
            "instructions": instructions,
            "in_force": round(timed.judged.margin, 5) if timed else "",
            "status": found.status,
            "regressions": sum(each.regression for each in found.verdicts),
            "undecided": sum(each.undecided for each in found.verdicts),
            "comparisons": len(found.verdicts),
            "pairs": found.pairs,
            "seconds": round(found.seconds, 1),
            "stopped": found.stopped,
            "ratio": _ratio(timed),
            "by_time": int(by_time) if slow else "",
            "counted": _ratio(counted),
            "by_count": int(by_count) if slow else "",
            "found": int(by_time or by_count) if slow else "",
            "noise_known": int(found.noise_known),
            "machine": json.dumps(machine_words(found.records[0].environment.facts).model_dump()),
        }

    def _bisect(self, here: Project, part: Part) -> dict[str, object]:
        """A walk over the made history, as `kvdyno bisect` does it."""
        instructions = self._instructions(part.slowdown)
        made = made_commits.history(
            here.root, self.base, commits=COMMITS, planted=PLANTED, instructions=instructions
        )
        request = pipeline.GateRequest(
            self.base, made[-1], margin=part.margin, point=POINT, metric=part.metric
        )
        results: list[pipeline.GateResult] = []

        def measure(gate: pipeline.Gate) -> pipeline.GateResult:
            results.append(_measured(here, gate))
            return results[-1]

        candidates = pipeline.candidates_between(here, self.base, made[-1])
        found = pipeline.bisect(
            request,
            candidates,
            budget_seconds=part.budget_seconds,
            prepare=lambda asked: _prepared(here, asked),
            measure=measure,
        )
        located = found.bad_confirmed and found.left.located
        return {
            "instructions": instructions,
            "planted": PLANTED,
            "located": found.left.last + 1 if located else "",
            "found": int(located and found.left.last + 1 == PLANTED),
            "steps": len(found.findings),
            "seconds": round(sum(each.seconds for each in results), 1),
            "pairs": sum(each.pairs for each in results),
            "stopped": "budget" if found.out_of_budget else "decided",
        }

    def _instructions(self, slowdown: float) -> int:
        """How many instructions cost that share of a get's CPU time, by the gate of part `cost`."""
        measured = next((row for row in self.rows if row["part"] == "cost" and row["ratio"]), None)
        if measured is None or float(measured["ratio"]) <= 1:
            raise UsageError(
                "expected a gate that shows what instructions cost, found none",
                remedy="run the part `cost` first",
            )
        return round(PROBE_INSTRUCTIONS * slowdown / (float(measured["ratio"]) - 1))


def _forget_counts(here: Project) -> None:
    """Instructions are counted once for a build. Here each gate counts them itself."""
    shutil.rmtree(here.data / COUNTS, ignore_errors=True)


def _verdict(found: pipeline.GateResult, metric: str) -> Verdict | None:
    return next((each for each in found.verdicts if (each.point, each.metric) == (POINT, metric)), None)


def _ratio(verdict: Verdict | None) -> str:
    """HEAD over BASE, "" where it is not known."""
    log = verdict.judged.log if verdict and not verdict.failure else None
    return f"{math.exp(log.mean):.5f}" if log else ""


def _prepared(here: Project, request: pipeline.GateRequest) -> pipeline.Gate:
    with BuildDisplay() as display:
        return pipeline.prepare_gate(here, request, how=pipeline.SweepSettings(), step=display.step)


def _measured(here: Project, gate: pipeline.Gate) -> pipeline.GateResult:
    with GateDisplay(console, budget_seconds=gate.spec.budget_seconds) as display:
        return pipeline.run_gate(here, gate, how=pipeline.SweepSettings(), observer=display)


def _pairs(found: pipeline.GateResult, *, gate: int) -> Iterator[dict[str, object]]:
    """Both arms' values in each repetition that is compared, of the metrics that are not exact."""
    experiment = found.gate.whole.experiment
    frame = with_derived(analysis.tidy(found.records), experiment.metrics)
    runs = {(r.point.identity, r.repetition): r.run_id for r in found.records}
    values = {(row.run_id, row.metric, row.phase): row for row in frame.itertuples(index=False)}
    for point in found.gate.points:
        for (identity, repetition), run in runs.items():
            if identity != point.base.identity or (point.name, repetition) in found.split:
                continue
            for gated in found.gate.spec.of_runs:
                head_run = runs.get((point.head.identity, repetition), "")
                base = values.get((run, gated.metric, gated.phase))
                head = values.get((head_run, gated.metric, gated.phase))
                if base and head and not gated.exact:
                    yield {"gate": gate, "point": point.name, "metric": gated.metric, "unit": base.unit} | {
                        "repetition": repetition,
                        "base": base.value,
                        "head": head.value,
                    }


def plan_lines(left: Mapping[str, int], parts: Sequence[Part] = PARTS) -> list[str]:
    """A line for each part, and the sum: the longest that the gates that are left measure."""
    lines = [
        f"{part.name:8}  {left[part.name]:2} of {part.gates:2} gates left, at most "
        f"{format_seconds(left[part.name] * part.budget_seconds)} of measuring, {part.builds} builds at most"
        for part in parts
    ]
    whole = sum(left[part.name] * part.budget_seconds for part in parts)
    return [*lines, f"all of them: at most {format_seconds(whole)}; each build takes minutes beside"]


def main() -> int:
    """The command; errors as kvdyno shows them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("plan", help="list the parts and their planned time")
    commands.add_parser("run", help="measure").add_argument("parts", nargs="*", metavar="PART")
    publish = commands.add_parser("publish", help="make results/gate/ complete")
    publish.add_argument("--state", required=True, help="what else ran on the machine")
    asked = parser.parse_args()
    try:
        bench = Bench(Project.find(start=Path.cwd()))
        if asked.command == "publish":
            print(publishing.publish(bench.project, state=asked.state))
            return 0
        print("\n".join(plan_lines({part.name: len(bench.left(part)) for part in PARTS})), flush=True)
        if asked.command == "run":
            bench.check()
            for part in _chosen(asked.parts):
                bench.run(part)
    except KvdynoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: the same command goes on", file=sys.stderr)
        return 130
    return 0


def _chosen(names: Sequence[str]) -> list[Part]:
    known = [part.name for part in PARTS]
    for name in names:
        if name not in known:
            raise UsageError(unknown("part", name, known))
    return [part for part in PARTS if not names or part.name in names]


if __name__ == "__main__":
    sys.exit(main())
