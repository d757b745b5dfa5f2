"""One stored run, as a person calls it."""

from __future__ import annotations

from kvdyno.errors import UsageError
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.store import RunStore


def stored_run(here: Project, text: str) -> Record:
    """The one record whose run's id ends so. Raises UsageError if there is none, or more than one."""
    found = [record for record in RunStore(here.runs).read()[0] if record.run_id.endswith(text)]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        f"expected a run's id or its end, found {text!r}, which {len(found) or 'no'} runs have",
        where=str(here.runs),
        remedy="`kvdyno show` lists the runs",
    )
