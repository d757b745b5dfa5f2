"""A paper: what its file asks for, and what the report hands over for it, as texts and files.

The YAML form is described in docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from .engine import Frozen
from .experiment import Experiment
from .results import GRAVE, Analysis, Caution

FILE = "paper.yaml"

TemplateName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*\.tex\.j2$")]


class _Written(Frozen):
    """Base of what stands in the file: unknown keys are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Section(_Written):
    """A heading, its text, and the experiments whose claims, figures and tables follow the text."""

    title: str
    text: TemplateName | None = None
    experiments: tuple[str, ...] = ()


class Paper(_Written):
    """A paper as its file means it. `reproduces` names the published document; `authors` may be left out.

    `profiles`: profile of the paper → experiment → the profile that it is measured at instead.
    """

    schema_version: Literal["kvdyno.paper/1"]
    title: str
    reproduces: str
    authors: str = ""
    abstract: TemplateName
    sections: Annotated[tuple[Section, ...], Field(min_length=1)]
    profiles: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)

    def profile_of(self, experiment: str, *, profile: str) -> str:
        """The profile of that experiment in the paper of that profile."""
        return self.profiles.get(profile, {}).get(experiment, profile)

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that it consists of, in the order of its sections."""
        return tuple(name for section in self.sections for name in section.experiments)

    @model_validator(mode="after")
    def _each_once(self) -> Paper:
        names = self.experiments
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"expected each experiment in one section, found {', '.join(twice)} in several")
        if not names:
            raise ValueError("expected an experiment in some section, found none")
        return self


@dataclass(frozen=True)
class Picture:
    """A figure, drawn for a paper: `file` below the paper's folder; `wide`: it spans both columns."""

    id: str
    title: str
    caption: str
    file: Path
    wide: bool


@dataclass(frozen=True)
class PaperCell:
    """A table's cell: its value, then interval and lost runs where there are any. `strong`: it is decided."""

    value: str
    notes: tuple[str, ...] = ()
    strong: bool = False


@dataclass(frozen=True)
class PaperTable:
    """A table as texts: a row's names come first, then a cell for each of `columns`."""

    id: str
    title: str
    caption: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[PaperCell, ...]], ...]


@dataclass(frozen=True)
class Missing:
    """Points of a plan without a run that ended well, and why: "no run", or how their runs ended."""

    reason: str
    points: tuple[str, ...]


@dataclass(frozen=True)
class Chapter:
    """What a paper shows of one experiment. Texts are plain; nothing is LaTeX yet.

    `machines` are hosts in a phrase each, `facts` all that is known of the first, by name. `overall` has a
    sentence for each contender's mean, `left_out` one for each figure and table that no record has values
    for. `notes` are what a reader must
    know of where the records are from.
    """

    experiment: Experiment
    analysis: Analysis
    pictures: tuple[Picture, ...]
    tables: tuple[PaperTable, ...]
    machines: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    confinements: tuple[str, ...]
    overall: tuple[str, ...]
    when: str
    left_out: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The experiment's."""
        return self.experiment.name

    @property
    def sweeps(self) -> tuple[str, ...]:
        """The sweeps that the records are from."""
        return tuple(dict.fromkeys(map(str, self.analysis.runs["sweep_id"])))

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits that measured, in full."""
        found = (machine.facts.get("kvdyno.commit") for machine in self.analysis.machines)
        return tuple(dict.fromkeys(str(commit) for commit in found if commit))

    @property
    def published(self) -> bool:
        """Whether it shows published metrics, which come without builds, options in force and cautions."""
        return not any(contender.binary_sha256 for contender in self.analysis.contenders)

    @property
    def grave(self) -> tuple[Caution, ...]:
        """The cautions that put the comparison itself in doubt."""
        return tuple(caution for caution in self.analysis.cautions if caution.kind in GRAVE)


@dataclass(frozen=True)
class Absence:
    """An experiment of a paper without records, and why there are none."""

    name: str
    title: str
    reason: str


@dataclass(frozen=True)
class PaperPart:
    """What an experiment of a paper still costs: `runs` without a record, `seconds` for them, and the peak of
    `disk_bytes`; or `lack`, why that is not known yet.
    """

    experiment: str
    profile: str
    runs: int = 0
    seconds: float = 0
    disk_bytes: int = 0
    lack: str = ""


@dataclass(frozen=True)
class PaperPaths:
    """What was written: `pdf` is None where only LaTeX was asked for. `lacking` names what the paper has no
    number for.
    """

    tex: Path
    pdf: Path | None
    pages: int
    lacking: tuple[str, ...] = field(default_factory=tuple)
