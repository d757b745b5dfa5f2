"""Finished runs, carried from one results folder to another that many hosts share.

A run appears there whole or not at all: it is copied beside, made durable, and renamed. Its id is its own, so
two hosts never write one folder, and carrying a run twice changes nothing.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from kvdyno.errors import StoreError

from .runs import RECORD

#: Copies that are not whole yet; outside the folder of records.
INCOMING = ".incoming"


def finished(results: Path) -> tuple[Path, ...]:
    """The folders of finished runs in a results folder."""
    return tuple(sorted(record.parent for record in (results / "runs").glob(f"*/*/{RECORD}")))


def deliver(run_dir: Path, *, source: Path, target: Path, sender: str) -> None:
    """Carry one run of the results folder `source` to `target`, durably; one that is there stays.

    `sender` names the host; it carries one run at a time. Raises StoreError, having left nothing, if that
    cannot be written, or if another run of that id is there.
    """
    place = target / run_dir.relative_to(source)
    copy = target / INCOMING / f"{sender}-{run_dir.name}"
    if is_there(run_dir, place):
        return
    try:
        shutil.rmtree(copy, ignore_errors=True)
        copy.parent.mkdir(parents=True, exist_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(run_dir, copy)
        for path in (*(p for p in copy.rglob("*") if p.is_file()), copy):
            _sync(path)
        copy.rename(place)
        for folder in (place.parent, place.parent.parent):
            _sync(folder)
    except (OSError, shutil.Error) as failure:
        shutil.rmtree(copy, ignore_errors=True)
        if isinstance(failure, OSError) and failure.errno in (errno.ENOTEMPTY, errno.EEXIST):
            is_there(run_dir, place)
            return
        raise StoreError(
            f"cannot deliver run {run_dir.name}: {_reason(failure)}",
            where=str(target),
            remedy=f"the run is kept below {source}: make room, then run the same command again",
        ) from failure


def is_there(run_dir: Path, place: Path) -> bool:
    """Whether the run is stored at `place`. Raises StoreError if another one is."""
    if not place.exists():
        return False
    ours, theirs = place / RECORD, run_dir / RECORD
    if ours.is_file() and ours.read_bytes() == theirs.read_bytes():
        return True
    raise StoreError(
        "another run has this id", where=str(place), remedy="take it into a folder of its own: --results"
    )


def _reason(failure: OSError | shutil.Error) -> str:
    """copytree collects what failed: (source, target, why)."""
    if isinstance(failure, shutil.Error) and failure.args and failure.args[0]:
        return str(failure.args[0][0][2])
    return (failure.strerror if isinstance(failure, OSError) else None) or str(failure)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
