"""Histories: what a sweep adds to one, what other tools' files add, and the page that shows it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kvdyno import history
from kvdyno.errors import StoreError, UsageError
from kvdyno.model.experiment import AxisValue
from kvdyno.model.history import Change, Entry
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis
from kvdyno.model.versions import split_version
from kvdyno.model.words import unknown
from kvdyno.store import HistoryStore

from .recorded import Recorded

_COMMIT_DIGITS = 12


def add_to_history(
    recorded: Recorded, found: Analysis, *, folder: Path, revision: str | None
) -> tuple[int, int]:
    """Add the medians of throughput and of what the experiment's tables show. Returns how many entries are
    new, and of how many.

    An engine that was built from an archive has its version as revision, another the checkout's commit,
    unless `revision` is given. The experiment's baseline is the anchor. Raises StoreError for records of
    several machines.
    """
    if len(found.machines) > 1:
        hosts = ", ".join(machine.host_id for machine in found.machines)
        raise StoreError(
            f"expected records of one machine, found {hosts}",
            where=recorded.plan.experiment.name,
            remedy="add the sweep of one machine: --builds-of SWEEP",
        )
    entries = _entries(recorded, found, revision=revision)
    return HistoryStore(folder).append(entries), len(entries)


def import_to_history(
    file: Path, *, folder: Path, host: str, revision: str | None, now: datetime.datetime
) -> tuple[int, int]:
    """Add what another tool measured. Returns how many entries are new, and of how many.

    Raises StoreError.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        raise StoreError(f"cannot be read: {failure}", where=str(file)) from failure
    at = now.astimezone(datetime.UTC).isoformat(timespec="seconds")
    entries = history.import_text(text, name=file.name, host=host, at=at, revision=revision)
    return HistoryStore(folder).append(entries), len(entries)


def read_history(folder: Path, *, subject: str | None = None, metric: str | None = None) -> tuple[Entry, ...]:
    """The entries of a subject, a metric, or all. Raises StoreError where there is no history, UsageError for
    a name that it lacks.
    """
    entries = HistoryStore(folder).entries()
    if not entries:
        raise StoreError(
            "there is no history yet",
            where=str(folder),
            remedy="kvdyno run quickstart; kvdyno history add quickstart",
        )
    for kind, name, known in (
        ("subject", subject, sorted({each.subject for each in entries})),
        ("metric", metric, sorted({each.metric for each in entries})),
    ):
        if name is not None and name not in known:
            raise UsageError(unknown(kind, name, known), where=f"--{kind}")
    return tuple(
        each for each in entries if subject in (None, each.subject) and metric in (None, each.metric)
    )


def find_changes(project: Project, entries: Sequence[Entry]) -> tuple[Change, ...]:
    """The change points of every track, by apache-otava. Raises HostError when it is not installed."""
    return history.change_points(entries, program=project.root / ".kvdyno" / "otava" / "bin" / "otava")


def write_history(project: Project, entries: Sequence[Entry]) -> Path:
    """The page with every track drawn; returns it. Raises StoreError if it cannot be written."""
    from kvdyno.report.history import write_page

    return write_page(history.standings(entries), out=project.reports / "history")


def _entries(recorded: Recorded, found: Analysis, *, revision: str | None) -> tuple[Entry, ...]:
    from kvdyno.analysis.frame import label_of

    records = [record for record in recorded.records.values() if record.status == "ok"]
    subjects = _Subjects(recorded, revision=revision)
    experiment = recorded.plan.experiment
    names = list(found.axis_names)
    shown = {(table.metric, table.phase) for table in experiment.tables}
    by_place: dict[_Place, list[Record]] = {}
    for record in records:
        place = _Place(label_of(record), tuple(record.point.axes.get(name) for name in names))
        by_place.setdefault(place, []).append(record)
    anchors = _ratios(found, names)
    entries = []
    for row in found.estimates.to_dict("records"):
        judged = row["headline"] and row["metric"] == found.headline_metric
        if not judged and (row["metric"], row["phase"]) not in shown:
            continue
        place = _place(row, names)
        mine = by_place.get(place, [])
        if not mine:
            continue
        ratio = anchors.get((place, row["metric"], row["phase"]), {})
        entries.append(
            Entry(
                at=max(record.ended_at for record in mine),
                host=mine[0].environment.host_id,
                revision=subjects.revision(place.label),
                subject=split_version(place.label)[0],
                suite=f"{experiment.name} {experiment.profile.name}",
                point=mine[0].point.slug.removeprefix(f"{place.label}."),
                metric=row["metric"], phase=row["phase"], unit=row["unit"], value=row["median"],
                low=_known(row["low"]), high=_known(row["high"]), n=int(row["n"]),
                anchor=subjects.anchor(found.baseline) if ratio else "",
                ratio=_known(ratio.get("ratio")), ratio_low=_known(ratio.get("low")),
                ratio_high=_known(ratio.get("high")),
                source=" ".join(sorted({record.sweep_id for record in mine})),
            )
        )  # fmt: skip
    return tuple(entries)


class _Place(NamedTuple):
    """A point, by what analysis calls it."""

    label: str
    axes: tuple[AxisValue | None, ...]


class _Subjects:
    """What labels are in a history: revisions, and the anchor's name."""

    def __init__(self, recorded: Recorded, *, revision: str | None) -> None:
        self._asked = revision
        self._versions = {
            str(point.axes["engine"]): point.engine.built_version for point in recorded.plan.points
        }
        facts = next(iter(recorded.records.values())).environment.facts
        self._commit = str(facts.get("kvdyno.commit") or "unknown")[:_COMMIT_DIGITS]
        if facts.get("kvdyno.modified"):
            self._commit += "+"

    def revision(self, label: str) -> str:
        return self._asked or self._versions.get(label) or self._commit

    def anchor(self, baseline: str) -> str:
        """The baseline and its revision, which `revision` does not rename: it is what stayed the same."""
        return f"{baseline} {self._versions.get(baseline) or self._commit}"


def _ratios(found: Analysis, names: Sequence[str]) -> Mapping[tuple[_Place, str, str], Mapping[Any, Any]]:
    """Ratios to the baseline, of all others, by label, axes, metric and phase."""
    table = found.ratios
    rows = table[(table["baseline"] == found.baseline) & (table["label"] != found.baseline)]
    return {(_place(row, names), row["metric"], row["phase"]): row for row in rows.to_dict("records")}


def _place(row: Mapping[Any, Any], names: Sequence[str]) -> _Place:
    values = (row[name] for name in names)
    return _Place(row["label"], tuple(None if value != value else value for value in values))  # NaN: none


def _known(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
