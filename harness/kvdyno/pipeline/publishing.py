"""Publish: a sweep's numbers become a committed folder, with all that a reader needs to make them again."""

from __future__ import annotations

import datetime
import io
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from kvdyno.errors import StoreError, UsageError
from kvdyno.model.experiment import Experiment
from kvdyno.model.origin import FILE, Doubt, MachineWords, Origin, Questions
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.results import Analysis, as_measured
from kvdyno.model.words import unknown
from kvdyno.spec import read_origin
from kvdyno.store import make_folder, write_metrics

from .committed import check_folder, derived_tables
from .recorded import Recorded

#: What `publish` refuses unless it is accepted, and then states in origin.yaml.
ACCEPTABLE = ("modified", "machines")

#: Not one of the folders that hold other things.
_NAME = re.compile(
    r"(?!(runs|sweeps|reports|papers|hosts|history)(/|$))[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)?"
)
_GIB = 1 << 30
_PERCENTILES = "percentiles.parquet"


@dataclass(frozen=True)
class Publication:
    """What a person decides: the folder below results/, what else ran on the machine (`state`), which tables
    (none named: all), where figures go (relative to the checkout), and what is accepted of ACCEPTABLE.
    `engines` and `repeat` are the run's, where it measured others than the experiment names, or so often.
    """

    name: str
    state: str
    tables: tuple[str, ...] = ()
    figures: Mapping[str, Path] = field(default_factory=dict)
    accepted: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    repeat: int | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for a name that is no folder of results."""
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f'expected a folder like "quickstart" or "quickstart/docker", found {self.name!r}',
                where="--as",
            )


def publish(
    project: Project, recorded: Recorded, found: Analysis, asked: Publication, *, drawn: Sequence[Path]
) -> Path:
    """Write results/<name>/: metrics, origin.yaml, tables, and README.md with its templates if there is none.

    `drawn` are the report's figures. Returns the folder. Raises UsageError for a wrong word, StoreError where
    the records are not fit to be published, SpecError if the folder holds anything else or is too large.
    """
    experiment = recorded.plan.experiment
    _check_words(asked, experiment)
    _check_whole(recorded, found, asked)
    check_records(
        recorded.records.values(),
        name=experiment.name,
        again=f"{' '.join(_run_words(recorded, asked))} --force",
        accepted=asked.accepted,
    )
    origin = _origin(recorded, found, asked)
    folder = project.committed / asked.name
    figures = {project.root / place: _figure(name, drawn) for name, place in asked.figures.items()}
    make_folder(folder)
    earlier = derived_tables(folder, read_origin(folder / FILE)) if (folder / FILE).exists() else {}
    try:
        write_metrics(folder / "metrics.parquet", found.frame.drop(columns="headline"))
        _write_percentiles(folder, found, origin=origin, experiment=experiment)
        (folder / FILE).write_text(origin_text(origin), encoding="utf-8")
        for place, figure in figures.items():
            shutil.copyfile(figure, place)
        tables = _write_texts(folder, origin, earlier=earlier, title=experiment.title, name=asked.name)
    except OSError as failure:
        raise StoreError(
            f"cannot write: {failure.strerror}", where=str(failure.filename or folder)
        ) from failure
    check_folder(folder, origin, derived=tables, root=project.root)
    return folder


def _write_percentiles(folder: Path, found: Analysis, *, origin: Origin, experiment: Experiment) -> None:
    """The curves that figures draw, or none where an earlier sweep had some."""
    if origin.metrics and origin.metrics.percentiles:
        write_metrics(folder / origin.metrics.percentiles, _curves(found, experiment))
    else:
        (folder / _PERCENTILES).unlink(missing_ok=True)


def _curves(found: Analysis, experiment: Experiment) -> pd.DataFrame:
    """The percentiles that the experiment's figures draw."""
    drawn = [
        (figure.phase, figure.metric.removesuffix(".latency"))
        for figure in experiment.figures
        if figure.kind == "percentiles"
    ]
    keys = list(zip(found.percentiles["phase"], found.percentiles["operation"], strict=True))
    return found.percentiles[[key in drawn for key in keys]]


def _write_texts(
    folder: Path, origin: Origin, *, earlier: Collection[str], title: str, name: str
) -> Mapping[str, str]:
    """The derived tables, in place of `earlier` ones; texts that people write stay."""
    from kvdyno import report

    tables = derived_tables(folder, origin)
    for path in folder.glob("*.csv"):
        if path.name in earlier and path.name not in tables:
            path.unlink()
    for file, text in tables.items():
        (folder / file).write_text(text, encoding="utf-8")
    if not (folder / "README.md").exists():
        first = report.first_texts(title, folder=f"results/{name}", origin=origin, tables=tables)
        for file, text in first.items():
            (folder / file).write_text(text, encoding="utf-8")
    return tables


def _check_words(asked: Publication, experiment: Experiment) -> None:
    for kind, given, known in (
        ("table", asked.tables, [table.id for table in experiment.tables]),
        ("figure", asked.figures, [figure.id for figure in experiment.figures]),
        ("word", asked.accepted, ACCEPTABLE),
    ):
        for word in given:
            if word not in known:
                raise UsageError(
                    unknown(kind, word, known), where=f"--{'accept' if kind == 'word' else kind}"
                )


def _check_whole(recorded: Recorded, found: Analysis, asked: Publication) -> None:
    partial = recorded.partial and not asked.engines
    if partial or found.runs_recorded < found.runs_planned:
        raise StoreError(
            f"expected all {found.runs_planned} runs, found {found.runs_recorded}",
            where=recorded.plan.experiment.name,
            remedy="run the experiment again: it resumes; or, where an engine was rebuilt since, name the "
            "sweep with --builds-of",
        )


def check_records(
    records: Collection[Record], *, name: str, again: str, accepted: Collection[str] = ()
) -> None:
    """Raises StoreError unless a reader can measure the same again, but for what is accepted of ACCEPTABLE.
    `again` is how to measure all of `name` with one commit.
    """
    facts = [record.environment.facts for record in records]
    commits = sorted({str(each.get("kvdyno.commit") or "") for each in facts})
    if len(commits) > 1 or not commits[0]:
        raise StoreError(
            f"expected records of one commit, found {', '.join(filter(None, commits)) or 'none'}",
            where=name,
            remedy=f"measure all of it with one commit: {again}",
        )
    if any(each.get("kvdyno.modified") is not False for each in facts) and "modified" not in accepted:
        raise StoreError(
            f"expected records of a checkout without changes, found changes after {commits[0][:12]}",
            where=name,
            remedy="commit and measure again, or state it: --accept modified",
        )
    slowed = {r.point.label for r in records if r.outcome and r.outcome.engine.slowed}
    if slowed:
        raise StoreError(
            f"expected engines as they are, found {', '.join(sorted(slowed))}, built to be slower on purpose",
            where=name,
            remedy="build without CHUNKSTORE_TEST_SLOWDOWN_GET and _PUT, and measure again",
        )
    hosts = dict.fromkeys(record.environment.host_id for record in records)
    if len(hosts) > 1 and "machines" not in accepted:
        raise StoreError(
            f"expected records of one machine, found {', '.join(hosts)}",
            where=name,
            remedy="publish the sweep of one machine, or state it: --accept machines",
        )


def _origin(recorded: Recorded, found: Analysis, asked: Publication) -> Origin:
    experiment = recorded.plan.experiment
    records = list(recorded.records.values())
    return measured_origin(
        records,
        question=experiment.description or experiment.title,
        command=" ".join(_run_words(recorded, asked)),
        state=asked.state,
        sweeps=tuple(sorted({record.sweep_id for record in records})),
        figures=tuple(str(place) for place in asked.figures.values()),
        metrics=_questions(found, experiment, asked),
    )


def _run_words(recorded: Recorded, asked: Publication) -> Iterator[str]:
    """The command that measures the same again."""
    experiment = recorded.plan.experiment
    yield from ("kvdyno", "run", experiment.name, "--profile", experiment.profile.name)
    if {record.runner.name for record in recorded.records.values()} == {"docker"}:
        yield from ("--runner", "docker")
    if asked.engines:
        yield from ("--engines", ",".join(asked.engines))
    if asked.repeat:
        yield from ("--repeat", str(asked.repeat))


def measured_origin(
    records: Sequence[Record], *, question: str, command: str, state: str, **more: Any
) -> Origin:
    """The origin of what these records show; `more` are its other keys."""
    facts: dict[str, Mapping[str, Any]] = {}
    for record in records:
        facts.setdefault(record.environment.host_id, record.environment.facts)
    return Origin(
        schema_version="kvdyno.origin/1",
        question=" ".join(question.split()),
        command=command,
        commit=str(records[0].environment.facts["kvdyno.commit"]),
        modified=any(record.environment.facts.get("kvdyno.modified") is not False for record in records),
        date=datetime.date.fromisoformat(max(record.ended_at for record in records)[:10]),
        state=state,
        machines=tuple(machine_words(each) for each in facts.values()),
        runs=len(records),
        repetitions=max(record.repetition for record in records),
        **more,
    )


def machine_words(facts: Mapping[str, Any]) -> MachineWords:
    """A machine from the facts of a record (docs/formats.md)."""
    kernel = re.match(r"[\d.]*\d", str(facts.get("os.kernel") or ""))
    memory = facts.get("memory.bytes")
    device = str(facts.get("disk.model") or facts.get("disk.device"))
    disk = "a virtual disk" if device.startswith(("vd", "xvd")) else device
    return MachineWords(
        virtual=bool(facts.get("os.virtualisation")),
        cores=int(facts.get("cpu.logical") or 0),
        memory=f"{memory / _GIB:.0f} GiB" if memory else "",
        disk=f"{facts.get('disk.file_system')} on {disk}",
        processor=str(facts.get("cpu.model") or ""),
        system=str(facts.get("os.name") or ""),
        kernel=f"Linux {kernel[0]}" if kernel else "",
    )


def _questions(found: Analysis, experiment: Experiment, asked: Publication) -> Questions:
    tables = [table for table in experiment.tables if not asked.tables or table.id in asked.tables]
    return Questions(
        percentiles=_PERCENTILES if len(_curves(found, experiment)) else "",
        baseline=found.baseline,
        same_within=found.same_within,
        engines={each.label: each.version for each in found.contenders},
        units={axis.name: axis.unit for axis in found.axes if axis.unit},
        # Published numbers are not metrics, and stay where they are.
        tables=tuple(as_measured(t, found.axes).model_copy(update={"published": None}) for t in tables),
        claims=tuple(as_measured(claim, found.axes) for claim in experiment.claims),
        doubts=tuple(_doubts(found)),
    )


def _doubts(found: Analysis) -> Iterator[Doubt]:
    for claim in found.claims:
        for point in claim.points:
            if point.doubt:
                yield Doubt(claim=claim.id, axes=dict(point.axes), reason=point.doubt, remedy=point.remedy)


def _figure(name: str, drawn: Sequence[Path]) -> Path:
    for path in drawn:
        if path.name == f"{name}.svg":
            return path
    raise StoreError(f"no record has values for figure {name}", where="--figure")


def origin_text(origin: Origin) -> str:
    """As people write it; what has its default is left out."""
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    text = io.StringIO()
    yaml.dump(origin.model_dump(mode="json", exclude_defaults=True), text)
    return re.sub(" +$", "", text.getvalue(), flags=re.MULTILINE)
