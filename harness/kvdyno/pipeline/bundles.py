"""Records for another machine: an experiment's in one file (export, import), a whole folder's (sync)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kvdyno.model.bundle import Bundle
from kvdyno.model.project import Project
from kvdyno.runner import host_id
from kvdyno.store import (
    RunStore,
    Synced,
    bring,
    bundled,
    fetch,
    is_url,
    make_folder,
    send,
    take_bundle,
    write_bundle,
)

from .recorded import Recorded


@dataclass(frozen=True)
class Imported:
    """A bundle's list, how many of its runs were new here, and which of its sources differ here."""

    bundle: Bundle
    new: int
    differing: tuple[str, ...]


def export_bundle(project: Project, recorded: Recorded, *, report: Path, output: Path) -> Bundle:
    """Write the records of a plan, their sweeps, the sources and the report's folder to `output`.

    They lie as below a results folder, so that the page's links lead to the records once it is unpacked.

    Raises StoreError if a file cannot be read or written.
    """
    records = tuple(recorded.records.values())
    experiment = recorded.plan.experiment
    store = RunStore(project.runs)
    members: dict[str, Path] = {}
    for record in records:
        folder = store.run_dir(record)
        members |= _below(folder, f"runs/{folder.parent.name}/{folder.name}")
    sweeps = sorted({record.sweep_id for record in records})
    members |= {
        f"sweeps/{sweep}.json": path
        for sweep in sweeps
        if (path := project.sweeps / f"{sweep}.json").is_file()
    }
    members |= dict(_sources(project, experiment.path)) | _below(report, f"reports/{report.name}")
    commits = {str(record.environment.facts.get("kvdyno.commit") or "") for record in records} - {""}
    bundle = Bundle(
        experiment=experiment.name,
        profile=experiment.profile.name,
        commit=max(commits, default=None) if len(commits) == 1 else None,
        sweeps=tuple(sweeps),
        hosts=tuple(sorted({record.environment.host_id for record in records})),
        runs=len(records),
        files=bundled(members),
    )
    write_bundle(output, bundle, members)
    return bundle


def import_bundle(project: Project, path: Path) -> Imported:
    """Take a bundle's records and sweeps. Raises StoreError, having taken nothing, if it is damaged."""
    bundle, new = take_bundle(path, results=project.results)
    here = bundled(dict(_sources(project, project.experiments / f"{bundle.experiment}.yaml")))
    theirs = {name: file for name, file in bundle.files.items() if name.startswith("sources/")}
    differing = tuple(
        name.removeprefix("sources/") for name, file in theirs.items() if here.get(name) != file
    )
    return Imported(bundle, new, differing)


def sync(project: Project, source: str) -> Synced:
    """Bring the records and sweeps of the results folder `source`, a path or a URL, here. Raises what `bring`
    and `fetch` do.
    """
    make_folder(project.runs)
    sender = f"{host_id()}-{os.getpid()}"
    if is_url(source):
        return fetch(source, target=project.results, sender=sender)
    return bring(Path(source).resolve(), target=project.results, sender=sender)


def send_records(project: Project, url: str) -> Synced:
    """Send the records and sweeps that are here to the results folder at `url`. Raises what `send` does."""
    return send(project.results, url=url)


def _sources(project: Project, experiment: Path) -> Iterator[tuple[str, Path]]:
    """What the plan was made of: the experiment, the profiles and the workloads."""
    yield from _source(project, experiment)
    yield from _source(project, project.experiments / "profiles.yaml")
    for path in sorted(project.workloads.glob("*.properties")):
        yield from _source(project, path)


def _source(project: Project, path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_file():
        inside = path.is_relative_to(project.root)
        yield f"sources/{path.relative_to(project.root) if inside else path.name}", path


def _below(folder: Path, name: str) -> dict[str, Path]:
    return {
        f"{name}/{path.relative_to(folder)}": path for path in sorted(folder.rglob("*")) if path.is_file()
    }
