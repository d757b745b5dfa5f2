"""Where things are: the tree of a kvdyno checkout, and the places that a sweep writes to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import UsageError

#: File systems that live in memory: a store there measures no disk, and its pages count against the cap.
MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})


@dataclass(frozen=True)
class Project:
    """The folders of a checkout. `data` holds stores and snapshots, and must be on a real disk."""

    root: Path
    results: Path
    data: Path

    @staticmethod
    def find(*, start: Path | None = None, results: Path | None = None, data: Path | None = None) -> Project:
        """The checkout around `start` (default: here, else where this package lives)."""
        places = [start or Path.cwd(), Path(__file__)]
        for place in places:
            for folder in (place.resolve(), *place.resolve().parents):
                if (folder / "experiments" / "profiles.yaml").is_file():
                    chosen = data or os.environ.get("KVDYNO_DATA")
                    return Project(
                        root=folder,
                        results=(results or folder / "results").resolve(),
                        data=Path(chosen).resolve() if chosen else folder / ".kvdyno",
                    )
        raise UsageError(
            "no kvdyno checkout here or above", where=str(places[0]), remedy="run inside a clone of kvdyno"
        )

    @property
    def binaries(self) -> Path:
        """Where the build puts one driver binary per engine: kvdyno-<engine>."""
        return Path(os.environ.get("KVDYNO_BUILD", self.root / "build")) / "bin"

    @property
    def adapters(self) -> Path:
        """One folder per engine."""
        return self.root / "engines" / "adapters"

    @property
    def workloads(self) -> Path:
        """YCSB property files."""
        return self.root / "workloads"

    @property
    def experiments(self) -> Path:
        """Experiment files and profiles.yaml."""
        return self.root / "experiments"

    @property
    def studies(self) -> Path:
        """Studies of engines' options: hypotheses, which become experiments."""
        return self.experiments / "tuning"

    @property
    def runs(self) -> Path:
        """Records; not in git."""
        return self.results / "runs"

    @property
    def sweeps(self) -> Path:
        """What sweeps measured, a file each; not in git."""
        return self.results / "sweeps"

    @property
    def hosts(self) -> Path:
        """What self-tests found, and which hosts are excluded, a folder per host; not in git."""
        return self.results / "hosts"

    @property
    def committed(self) -> Path:
        """Results that are in git, whatever folder others go to: one folder each, with an origin.yaml."""
        return self.root / "results"

    @property
    def papers(self) -> Path:
        """Papers as LaTeX and PDF, made from records; not in git."""
        return self.results / "papers"

    @property
    def paper_texts(self) -> Path:
        """A folder for each paper, and base/ for what all share."""
        return self.root / "paper"

    @property
    def published(self) -> Path:
        """What documents publish, a file each; in git."""
        return self.committed / "published"

    @property
    def history(self) -> Path:
        """What each revision made, a file per host; to be committed."""
        return self.committed / "history"

    @property
    def reports(self) -> Path:
        """Made from records; can be deleted."""
        return self.results / "reports"


def blocking_file(folder: Path) -> Path | None:
    """The file that stands where `folder`, or one above it, would be; None if nothing is in the way."""
    lowest = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
    return None if lowest.is_dir() else lowest
