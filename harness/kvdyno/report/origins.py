"""Where committed numbers are from, in Markdown; and the first texts of a folder that is published."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping

from kvdyno.model.experiment import TableSpec
from kvdyno.model.origin import Origin

_CLAIMS = """\
| claim | expected | found | verdict |
| --- | --- | ---: | --- |
{% for row in rows("_claims.csv") %}
| {{ row["text"] }} | {{ row["expected"] }} | {{ row }} | {{ row["verdict"] }} |
{% endfor %}
"""


def made_list(origin: Origin) -> str:
    """A list: command, machine, commit, sweeps, runs, and which files are data."""
    return "\n".join(f"- {line}" for line in _lines(origin))


def _lines(origin: Origin) -> Iterator[str]:
    if origin.transcribed:
        yield "Transcribed from the documents that the files cite."
    elif origin.seeded:
        yield f"`{origin.command}`. It is seeded: the same numbers on every machine."
    else:
        yield f"`{origin.command}`, {origin.date}, {origin.state}."
        for machine in origin.machines:
            words = machine.words
            yield f"{words[0].upper()}{words[1:]}."
        yield f"Commit {origin.revision}; {origin.repetitions} repetitions; {_kept(origin.runs, 'runs')}."
        if origin.sweeps:
            listed = (origin.sweeps,) if isinstance(origin.sweeps, str) else origin.sweeps
            yield f"Sweeps: {', '.join(listed)}."
    if origin.metrics:
        versions = ", ".join(f"{label} ({version})" for label, version in origin.metrics.engines.items())
        if versions:
            yield f"Engines: {versions}."
        yield f"Data: `{origin.metrics.file}`, every metric of every run. The other tables are derived."
    if origin.files:
        yield f"Data that is not derived: {', '.join(f'`{name}`' for name in origin.files)}."
    if origin.note:
        yield origin.note


def _kept(count: object, what: str) -> str:
    """ "48 runs", or "runs not kept"."""
    return f"{what} {count}" if isinstance(count, str) else f"{count} {what}"


def first_texts(title: str, *, folder: str, origin: Origin, tables: Mapping[str, str]) -> dict[str, str]:
    """README.md and its templates for a folder that has none: question, tables, claims, how it was made.

    `folder` is as a block names it: "results/quickstart". `tables` are the derived ones by file name.
    """
    specs = origin.metrics.tables if origin.metrics else ()
    parts = [_table(spec, tables[name]) for spec in specs if (name := f"{spec.id}.csv") in tables]
    parts += [_CLAIMS] if "_claims.csv" in tables else []
    blocks = {"tables.md.j2": "\n".join(parts), "made.md.j2": "{{ made() }}\n"}
    body = "\n\n## How it was made\n\n".join(
        f"<!-- from {folder}/{name} -->\n<!-- /from -->" for name in blocks
    )
    return {**blocks, "README.md": f"# {title}\n\n{origin.question}\n\n{body}\n"}


def _table(spec: TableSpec, text: str) -> str:
    """Rows are named by those axes alone that have several values."""
    lines = list(csv.DictReader(text.splitlines()))
    names = list(itertools.takewhile(lambda name: name != "value", lines[0]))
    several = [name for name in names if len({line[name] for line in lines}) > 1]
    columns = [name for name in spec.columns if name in several] or list(spec.columns)
    rows = [name for name in several if name not in columns] or list(spec.rows)[:1]
    return f'{spec.title or spec.id}:\n\n{{{{ pivot("{spec.id}.csv", rows={rows}, columns={columns}) }}}}\n'
