"""Committed results: where each folder is from, and its tables derived from its metrics."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path

from kvdyno import spec
from kvdyno.errors import SpecError
from kvdyno.model.origin import BYTES_MAX, FILE, Origin
from kvdyno.model.project import Project
from kvdyno.model.units import human_bytes
from kvdyno.store import read_metrics

#: What lies in a folder beside its data: where they are from, texts, and what makes them.
_NO_DATA = (FILE, "README.md")
_NO_DATA_SUFFIXES = (".j2", ".py")


def origins(project: Project) -> dict[Path, Origin]:
    """Every origin by its folder: results/<name>/, or one folder deeper. Raises SpecError for a mistake."""
    return origins_below(project.committed)


def origins_below(folder: Path) -> dict[Path, Origin]:
    """Every origin of the folder, and of those up to two below it. Raises SpecError for a mistake."""
    found = sorted(path for place in ("", "*/", "*/*/") for path in folder.glob(f"{place}{FILE}"))
    return {path.parent: spec.read_origin(path) for path in found}


def documents(project: Project) -> tuple[Path, ...]:
    """The Markdown files of the checkout that have blocks rendered from results."""
    places = ("*.md", "docs/**/*.md", "results/*/README.md", "results/*/*/README.md", "engines/**/*.md")
    found = sorted(path for place in places for path in project.root.glob(place))
    return tuple(path for path in found if "<!-- from " in path.read_text("utf-8"))


def derived_tables(folder: Path, origin: Origin) -> Mapping[str, str]:
    """The tables that the folder's metrics give, by file name; none where it has no metrics."""
    from kvdyno import analysis, report

    if origin.metrics is None:
        return {}
    found = analysis.analyse_metrics(read_metrics(folder / origin.metrics.file), origin.metrics)
    return report.csv_tables(found, origin.metrics.tables)


def derive(project: Project, *, write: bool) -> tuple[Path, ...]:
    """Derive the tables of every folder, and check what lies there.

    Returns the files that are not as derived; they are written if `write`.

    Raises SpecError for a file that no origin names or that is missing, and for a mistake in what documents
    publish, StoreError for damaged metrics.
    """
    spec.read_published(project)
    changed = []
    for folder, origin in origins(project).items():
        texts = derived_tables(folder, origin)
        check_folder(folder, origin, derived=texts, root=project.root)
        for name, text in texts.items():
            path = folder / name
            if not path.is_file() or not same_table(path.read_text("utf-8"), text):
                changed.append(path)
                if write:
                    path.write_text(text, encoding="utf-8")
    return tuple(changed)


def same_table(present: str, derived: str) -> bool:
    """Whether two tables have the same cells, numbers but for what processors round otherwise.

    Logarithms and exponentials differ in the last digit between processors' vector instructions.
    """
    if present == derived:
        return True
    rows, others = ([line.split(",") for line in text.splitlines()] for text in (present, derived))
    return len(rows) == len(others) and all(
        len(row) == len(other) and all(map(_same_cell, row, other))
        for row, other in zip(rows, others, strict=True)
    )


def _same_cell(a: str, b: str) -> bool:
    if a == b:
        return True
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-9)
    except ValueError:
        return False


def check_folder(folder: Path, origin: Origin, *, derived: Collection[str], root: Path) -> None:
    """Raises SpecError unless the folder holds the data that its origin names, and no more."""
    where = str(folder / FILE)
    measured = (origin.metrics.file, origin.metrics.percentiles) if origin.metrics else ()
    data = {*origin.files, *filter(None, measured)}
    missing = [name for name in sorted(data) if not (folder / name).is_file()]
    missing += [name for name in origin.figures if not (root / name).is_file()]
    if missing:
        raise SpecError(f"expected the file {missing[0]}, found none", where=where, remedy="git checkout it")
    present = [path for path in sorted(folder.iterdir()) if path.is_file()]
    known = {*data, *derived, *_NO_DATA}
    unknown = [p.name for p in present if p.name not in known and p.suffix not in _NO_DATA_SUFFIXES]
    if unknown:
        raise SpecError(
            f"expected only data that it names, found {unknown[0]}",
            where=where,
            remedy="name it under `files`, or remove it",
        )
    size = sum(path.stat().st_size for path in present)
    if size > BYTES_MAX:
        raise SpecError(
            f"expected at most {human_bytes(BYTES_MAX)} of files, found {human_bytes(size)}",
            where=where,
            remedy="publish fewer points, or leave metrics out",
        )
