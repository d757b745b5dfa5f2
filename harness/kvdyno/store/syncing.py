"""Records of another results folder, brought into this one.

What is here stays. A run's id decides whether it is here, and its record whether it is the same run; each new
one appears whole or not at all. So any number of folders may be brought into one, in any order, at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import StoreError, UsageError
from kvdyno.model.record import Record

from .delivery import deliver, finished, is_there
from .runs import RECORD, CorruptRecord, read_record
from .sweeps import SweepStore


@dataclass(frozen=True)
class Synced:
    """How many runs were new here, and how many the same; what was refused, with the reasons."""

    new: int
    same: int
    refused: tuple[CorruptRecord, ...]

    def __add__(self, other: Synced) -> Synced:
        """Both together."""
        return Synced(self.new + other.new, self.same + other.same, (*self.refused, *other.refused))


def bring(source: Path, *, target: Path, sender: str) -> Synced:
    """Bring the finished runs of the results folder `source`, and its sweeps, into `target`.

    `sender` names who brings them, as for `deliver`. A record that cannot be read here, whose folder has
    another run's name or lacks one of its files, or whose id another run has here, is refused, and so is a
    sweep. Raises UsageError if `source` is no results folder; StoreError if `target` cannot be written,
    having kept whole runs only: the same call again goes on.
    """
    if not (source / "runs").is_dir():
        raise UsageError(
            "expected a results folder, found no runs/ in it",
            where=str(source),
            remedy="name the folder that --results named where they were measured",
        )
    new = same = 0
    refused: list[CorruptRecord] = []
    for run_dir in finished(source):
        try:
            known = is_there(run_dir, target / run_dir.relative_to(source))
            reason = "" if known else _flaw(run_dir)
        except StoreError as failure:
            known, reason = False, f"{failure.message}: {failure.where}"
        if reason:
            refused.append(CorruptRecord(run_dir / RECORD, reason))
        elif known:
            same += 1
        else:
            deliver(run_dir, source=source, target=target, sender=sender)
            new += 1
    return Synced(new, same, (*refused, *_bring_sweeps(source, target)))


def _flaw(run_dir: Path) -> str:
    """What is wrong with a run; nothing if it can be read here and has all its files."""
    record = read_record(run_dir / RECORD)
    if not isinstance(record, Record):
        return record.reason
    if record.run_id != run_dir.name:
        return f"expected the record of run {run_dir.name}, found that of {record.run_id}"
    missing = sorted(name for name in record.files.values() if not (run_dir / name).is_file())
    return f"expected {missing[0]} beside it, found no such file" if missing else ""


def _bring_sweeps(source: Path, target: Path) -> list[CorruptRecord]:
    """Keep the sweeps that are not here; return those that cannot be read, or that are others here."""
    theirs, ours = SweepStore(source / "sweeps"), SweepStore(target / "sweeps")
    refused = []
    for path in sorted(theirs.root.glob("*.json")):
        sweep = theirs.find(path.stem)
        if sweep is None:
            refused.append(CorruptRecord(path, "expected a sweep that can be read here"))
        elif not (ours.root / path.name).exists():
            ours.keep(sweep)
        elif ours.find(path.stem) != sweep:
            refused.append(CorruptRecord(path, f"another sweep has this id: {ours.root / path.name}"))
    return refused
