"""Where committed numbers are from: what results/<name>/origin.yaml holds (docs/formats.md).

With it and the metrics beside it, every table of the folder can be derived again.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from .engine import Frozen
from .experiment import SAME_WITHIN, AxisValue, ClaimSpec, TableSpec
from .words import shown

FILE = "origin.yaml"

_COMMIT = re.compile("[0-9a-f]{7,40}")

#: The most that the files of one folder may have together.
BYTES_MAX = 5 << 20

NOT_KEPT = "not kept"
NotKept = Literal["not kept"]


def _or_not_kept(words: str, fits: Callable[[Any], bool]) -> BeforeValidator:
    """Refuses, in these words, a value that neither fits nor is stated to be not kept."""

    def check(value: Any) -> Any:
        if value == NOT_KEPT or fits(value):
            return value
        raise ValueError(f"expected {words}, or {NOT_KEPT!r}, found {shown(value)}")

    return BeforeValidator(check)


Commit = Annotated[
    str,
    _or_not_kept(
        "a commit as text", lambda value: isinstance(value, str) and _COMMIT.fullmatch(value) is not None
    ),
]
Count = Annotated[
    int | NotKept, _or_not_kept("a whole number above 0", lambda value: type(value) is int and value > 0)
]
Changed = Annotated[bool | NotKept, _or_not_kept("true or false", lambda value: isinstance(value, bool))]
Sweeps = Annotated[
    tuple[str, ...] | NotKept,
    _or_not_kept("a list of sweeps", lambda value: isinstance(value, (list, tuple))),
]


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
    def facts(self) -> Mapping[str, Any]:
        """The same by the names that a record's environment has for it."""
        file_system, _, disk = self.disk.partition(" on ")
        return {
            "cpu.model": self.processor,
            "cpu.logical": self.cores,
            "memory.bytes": self.memory,
            "os.name": self.system,
            "os.kernel": self.kernel.removeprefix("Linux "),
            "os.virtualisation": "yes" if self.virtual else "",
            "disk.file_system": file_system,
            "disk.model": disk,
        }

    @property
    def _kind(self) -> str:
        return "a virtual machine" if self.virtual else "a machine"


class Doubt(_Written):
    """Why the records could not decide a claim at a point, and what to do about it."""

    claim: str
    axes: Mapping[str, AxisValue] = Field(default_factory=dict)
    reason: str
    remedy: str = ""


class Questions(_Written):
    """What is asked of the committed metrics: enough to derive the folder's tables from them alone.

    `percentiles` is the file of the curves that the experiment's figures draw, "" where none does. `engines`
    are versions by label; `units` those of axes that have one. `where` of tables and claims is
    written as the metrics have it, at the profile's scale. `doubts` come from the records, which are not
    committed.
    """

    file: str = "metrics.parquet"
    percentiles: str = ""
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
    on every machine. `transcribed`: nothing was run; the files cite the documents that their numbers are
    from. Otherwise command, commit, date, state, machine, sweeps, runs and repetitions are there, or are
    stated to be not kept; `sweeps` is empty where the command makes none. `modified`: the checkout had
    changes beyond the commit.
    """

    schema_version: Literal["kvdyno.origin/1"]
    question: str
    command: str = ""
    files: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    seeded: bool = False
    transcribed: bool = False
    commit: Commit | None = None
    modified: Changed = False
    date: datetime.date | None = None
    state: str = ""
    machines: tuple[MachineWords, ...] = ()
    sweeps: Sweeps = ()
    runs: Count | None = None
    repetitions: Count | None = None
    note: str = ""
    metrics: Questions | None = None

    @model_validator(mode="after")
    def _complete(self) -> Origin:
        if self.transcribed:
            return self
        if not self.command:
            raise ValueError("expected a command, or transcribed: true; found neither")
        needed = ("commit", "date", "state", "machines", "runs", "repetitions")
        missing = [name for name in needed if not getattr(self, name)]
        if missing and not self.seeded:
            raise ValueError(f"expected {', '.join(missing)}, or seeded: true; found neither")
        return self

    @property
    def sweep(self) -> tuple[str, str] | None:
        """The experiment and the profile that the command measured; None for another command."""
        words = self.command.split()
        if words[:2] != ["kvdyno", "run"] or "--profile" not in words[:-1]:
            return None
        return words[2], words[words.index("--profile") + 1]

    @property
    def runner(self) -> str:
        """The runner that the command named, else the local one."""
        words = self.command.split()
        return words[words.index("--runner") + 1] if "--runner" in words[:-1] else "local"

    @property
    def revision(self) -> str:
        """The commit, as a reader names it."""
        if self.commit is None or self.commit == NOT_KEPT:
            return NOT_KEPT
        return f"`{self.commit[:7]}`{' with changes' if self.modified is True else ''}"

    @property
    def made(self) -> str:
        """Command, date, machine and state in one phrase, for text beside numbers."""
        if self.transcribed:
            return "transcribed from the documents that the files cite"
        if self.seeded:
            return f"`{self.command}`, seeded"
        machines = "; ".join(machine.brief for machine in self.machines)
        return f"`{self.command}`, {self.date}, {machines}, {self.state}"
