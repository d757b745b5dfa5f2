"""Where committed numbers are from: what results/<name>/origin.yaml holds (docs/formats.md).

With it and the metrics beside it, every table of the folder can be derived again.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from .engine import Frozen
from .experiment import SAME_WITHIN, AxisValue, ClaimSpec, TableSpec

FILE = "origin.yaml"

#: The most that the files of one folder may have together.
BYTES_MAX = 5 << 20

NotKept = Literal["not kept"]
Sha1 = Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")]
#: YAML reads some abbreviated commits as numbers.
Commit = Annotated[Sha1 | NotKept, BeforeValidator(lambda value: value if value is None else str(value))]


class _Written(Frozen):
    """Base of what stands in the file: unknown keys are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class MachineWords(_Written):
    """A machine, as a reader compares it with another. `cores` are those that the system sees."""

    virtual: bool
    cores: int
    memory: str
    disk: str
    processor: str = ""
    system: str = ""
    kernel: str = ""

    @property
    def words(self) -> str:
        """All of it in one phrase."""
        parts = (f"{self.cores} cores", self.processor, self.memory, self.disk, self.system, self.kernel)
        return f"{self._kind} with {', '.join(filter(None, parts))}"

    @property
    def brief(self) -> str:
        """What matters most of it."""
        return f"{self._kind} with {self.cores} cores, {self.memory}, {self.disk}"

    @property
    def _kind(self) -> str:
        return "a virtual machine" if self.virtual else "a machine"


class Doubt(_Written):
    """Why the records could not decide a claim at a point."""

    claim: str
    axes: Mapping[str, AxisValue] = Field(default_factory=dict)
    reason: str


class Questions(_Written):
    """What is asked of the committed metrics: enough to derive the folder's tables from them alone.

    `engines` are versions by label; `units` those of axes that have one. `where` of tables and claims is
    written as the metrics have it, at the profile's scale. `doubts` come from the records, which are not
    committed.
    """

    file: str = "metrics.parquet"
    baseline: str
    same_within: float = SAME_WITHIN
    engines: Mapping[str, str] = Field(default_factory=dict)
    units: Mapping[str, str] = Field(default_factory=dict)
    tables: tuple[TableSpec, ...] = ()
    claims: tuple[ClaimSpec, ...] = ()
    doubts: tuple[Doubt, ...] = ()


class Origin(_Written):
    """Where the data files of a folder are from.

    `files` are those that were measured or written, not derived. `seeded`: the command gives the same files
    on every machine. Otherwise commit, date, state, machine, sweeps, runs and repetitions are there, or are
    said to be not kept; `sweeps` is empty where the command makes none. `modified`: the checkout had changes
    beyond the commit.
    """

    schema_version: Literal["kvdyno.origin/1"]
    question: str
    command: str
    files: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    seeded: bool = False
    commit: Commit | None = None
    modified: bool | NotKept = False
    date: datetime.date | None = None
    state: str = ""
    machines: tuple[MachineWords, ...] = ()
    sweeps: tuple[str, ...] | NotKept = ()
    runs: Annotated[int, Field(gt=0)] | NotKept | None = None
    repetitions: Annotated[int, Field(gt=0)] | None = None
    note: str = ""
    metrics: Questions | None = None

    @model_validator(mode="after")
    def _complete(self) -> Origin:
        needed = ("commit", "date", "state", "machines", "runs", "repetitions")
        missing = [name for name in needed if not getattr(self, name)]
        if missing and not self.seeded:
            raise ValueError(f"expected {', '.join(missing)}, or seeded: true; found neither")
        return self

    @property
    def revision(self) -> str:
        """The commit, as a reader names it."""
        if self.commit in (None, "not kept"):
            return "not kept"
        return f"`{self.commit[:7]}`{' with changes' if self.modified is True else ''}"

    @property
    def made(self) -> str:
        """Command, date, machine and state in one phrase, for text beside numbers."""
        if self.seeded:
            return f"`{self.command}`, seeded"
        machines = "; ".join(machine.brief for machine in self.machines)
        return f"`{self.command}`, {self.date}, {machines}, {self.state}"
