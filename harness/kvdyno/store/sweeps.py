"""What sweeps measured, a file each: <root>/<sweep id>.json. Written when a sweep begins to measure."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from pydantic import ValidationError

from kvdyno.errors import StoreError
from kvdyno.model.sweep import Sweep


class SweepStore:
    """All sweeps below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def keep(self, sweep: Sweep) -> None:
        """Make it durable; it appears whole or not at all. Raises StoreError."""
        path = self.root / f"{sweep.sweep_id}.json"
        temporary = path.with_suffix(f".{secrets.token_hex(4)}.new")  # two may keep the same sweep at once
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8") as stream:
                stream.write(sweep.model_dump_json(indent=1) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            temporary.rename(path)
        except OSError as failure:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise StoreError(
                f"cannot write: {failure.strerror}",
                where=str(failure.filename or path),
                remedy="free some space, or choose a folder that you may write with --results",
            ) from failure

    def find(self, sweep_id: str) -> Sweep | None:
        """The sweep of that id; None if it is not stored or cannot be read."""
        return _read(self.root / f"{sweep_id}.json")

    def every(self) -> tuple[Sweep, ...]:
        """All sweeps, the latest first; files that cannot be read are left out."""
        found = (_read(path) for path in sorted(self.root.glob("*.json"), reverse=True))
        return tuple(sweep for sweep in found if sweep)

    def of(self, *, experiment: str, profile: str) -> tuple[Sweep, ...]:
        """The sweeps of an experiment, the latest first."""
        return tuple(
            sweep for sweep in self.every() if (sweep.experiment, sweep.profile) == (experiment, profile)
        )


def _read(path: Path) -> Sweep | None:
    try:
        return Sweep.model_validate_json(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError):
        return None
