"""Publish a search or a study: its report, tables and runs become a committed folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from kvdyno.errors import StoreError
from kvdyno.model.origin import FILE, Origin
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.search import SearchFound, SearchPaths
from kvdyno.model.study import StudyFound
from kvdyno.spec import read_origin
from kvdyno.store import make_folder, write_metrics

from .committed import check_folder
from .publishing import Publication, check_records, measured_origin, origin_text

_RUNS = "runs.parquet"
_FIGURES = "figures"

_CONFIRMED = """\
| candidate | over | workload | metric | ratio | verdict |
| --- | --- | --- | --- | ---: | --- |
{% for row in rows("confirmed.csv") %}
{% set workload = row["workload"] ~ (" (unseen)" if row["unseen"] else "") %}
{% set cells = [row["candidate"], row["over"], workload, row["metric"], row, row["verdict"]] %}
| {{ cells | join(" | ") }} |
{% endfor %}

How many times better in the first objective:

{% macro times(text) %}{{ "%.3g" | format(text | float) if text else "–" }}{% endmacro %}
| candidate | in the search | promised | with fresh runs |
| --- | ---: | ---: | ---: |
{% for row in rows("gains.csv") %}
{% set reach = " (%s to %s)" % (times(row["low"]), times(row["high"])) if row["low"] else "" %}
{% set fresh = times(row["fresh"]) ~ reach %}
{% set cells = [row["candidate"], times(row["searched"]), times(row["promised"]), fresh] %}
| {{ cells | join(" | ") }} |
{% endfor %}
"""
_HYPOTHESES = """\
The metric that a hypothesis expects something of, with its options over without. A verdict looks at the
workloads that `expected` names.

{% set names = ["hypothesis", "expected", "over", "verdict", "adopted"] %}
{{ pivot("hypotheses.csv", rows=names, columns="workload") }}

Throughput over the default's, with fresh runs:

{{ pivot("best.csv", rows="candidate", columns="workload") }}
"""


@dataclass(frozen=True)
class _Contents:
    """What a folder is made of: texts by file name, files to copy, and the template of its first README."""

    title: str
    question: str
    report: str
    records: Mapping[str, tuple[Record, ...]]
    texts: Mapping[str, str]
    copies: Sequence[Path]
    figures: Sequence[Path]
    template: str


def publish_search(
    project: Project, found: SearchFound, written: SearchPaths, asked: Publication, *, command: str
) -> Path:
    """Write results/<name>/ of a search. Returns the folder. Raises as `publish` does."""
    from kvdyno.report import tuning_csv

    engine = found.space.engine
    version, values = engine.description.engine.version, ", ".join(found.workloads)
    contents = _Contents(
        title=f"Options of {engine.name}, searched",
        question=f"Which options of {engine.name} {version} are better for {values}?",
        report=written.markdown.name,
        records=found.records,
        texts={"confirmed.csv": tuning_csv.confirmed_csv(found), "gains.csv": tuning_csv.gains_csv(found)},
        copies=[path for path in (written.markdown, written.trail, found.experiment, found.preset) if path],
        figures=sorted((found.folder / _FIGURES).glob("*.svg")),
        template=_CONFIRMED,
    )
    return _publish(project, contents, asked, command=command)


def publish_study(
    project: Project, found: StudyFound, markdown: Path, asked: Publication, *, command: str
) -> Path:
    """Write results/<name>/ of a study. Returns the folder. Raises as `publish` does."""
    from kvdyno.report import tuning_csv

    contents = _Contents(
        title=found.study.title,
        question=found.study.description or found.study.title,
        report=markdown.name,
        records=found.records,
        texts={"hypotheses.csv": tuning_csv.hypotheses_csv(found), "best.csv": tuning_csv.best_csv(found)},
        copies=[markdown],
        figures=[],
        template=_HYPOTHESES,
    )
    return _publish(project, contents, asked, command=command)


def _publish(project: Project, contents: _Contents, asked: Publication, *, command: str) -> Path:
    records = list(chain.from_iterable(contents.records.values()))
    again = "the same command with --results and --data of new folders"
    check_records(records, name=contents.title, again=again, accepted=asked.accepted)
    folder = project.committed / asked.name
    figures = [folder / _FIGURES / path.name for path in contents.figures]
    files = (*contents.texts, *(path.name for path in contents.copies), _RUNS)
    origin = measured_origin(
        list({record.run_id: record for record in records}.values()),
        question=contents.question,
        command=command,
        state=asked.state,
        files=tuple(sorted(files)),
        figures=tuple(str(path.relative_to(project.root)) for path in figures),
        note=f"`{_RUNS}` has every metric of every run, with its experiment and sweep.",
    )
    make_folder(folder / _FIGURES if figures else folder)
    try:
        _remove_earlier(folder, project.root)
        for name, text in contents.texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        for path in contents.copies:
            shutil.copyfile(path, folder / path.name)
        for source, place in zip(contents.figures, figures, strict=True):
            shutil.copyfile(source, place)
        _write_runs(folder / _RUNS, contents.records)
        (folder / FILE).write_text(origin_text(origin), encoding="utf-8")
        _write_first_texts(folder, contents, name=asked.name)
    except OSError as failure:
        raise StoreError(
            f"cannot write: {failure.strerror}", where=str(failure.filename or folder)
        ) from failure
    check_folder(folder, origin, derived=(), root=project.root)
    return folder


def _remove_earlier(folder: Path, root: Path) -> None:
    """The files of an earlier publication, of which this one may have fewer. Texts that people write stay."""
    earlier: Origin | None = read_origin(folder / FILE) if (folder / FILE).exists() else None
    if earlier:
        for path in (*(folder / name for name in earlier.files), *(root / name for name in earlier.figures)):
            path.unlink(missing_ok=True)


def _write_runs(path: Path, records: Mapping[str, tuple[Record, ...]]) -> None:
    import pandas as pd

    from kvdyno.analysis import tidy

    frames = [tidy(runs).assign(experiment=name) for name, runs in records.items() if runs]
    write_metrics(path, pd.concat(frames, ignore_index=True))


def _write_first_texts(folder: Path, contents: _Contents, *, name: str) -> None:
    if (folder / "README.md").exists():
        return
    blocks = {"found.md.j2": contents.template, "made.md.j2": "{{ made() }}\n"}
    for file, text in blocks.items():
        (folder / file).write_text(text, encoding="utf-8")
    body = "\n\n## How it was made\n\n".join(
        f"<!-- from results/{name}/{file} -->\n<!-- /from -->" for file in blocks
    )
    intro = f"{contents.question}\n\n[The report]({contents.report}) has all that was found."
    (folder / "README.md").write_text(f"# {contents.title}\n\n{intro}\n\n{body}\n", encoding="utf-8")
