"""An engine's description of itself: the parsed answer of its driver's `--describe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

#: What confines a process tree: this machine's own means, or a Docker Engine.
RunnerName = Literal["local", "docker"]

OptionType = Literal["bool", "integer", "real", "bytes", "seconds", "text", "choice"]


class Frozen(BaseModel):
    """Base of the models that cross stages: immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OptionDescription(Frozen):
    """One option of an engine, or one property of a driver. Sizes are in bytes, durations in seconds.

    `words` ("auto") may be written instead of a number; they have no range and no scale. A dataset depends
    on an option with `shapes_data`, and on one with `shapes_aged_data` if its property `age` is above 0.
    """

    name: str
    type: OptionType
    default: str
    effect: str
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    shapes_data: bool = False
    shapes_aged_data: bool = False
    scales: bool = False


class DriverIdentity(Frozen):
    """The program that applies load: its name and version."""

    name: str
    version: str


class Durability(Frozen):
    """What an acknowledged write survives, with the options in force.

    `process`: the engine's process is killed; `power`: the machine loses power. `power_loss_seconds` bounds
    the acknowledged writes that a power cut may lose: 0 if none, None without a bound. `consistent_prefix`:
    what is left after a power cut are all writes up to some moment. `note` names the mechanism.
    """

    process: Literal["kept", "lost"]
    power: Literal["kept", "lost"]
    power_loss_seconds: float | None = None
    consistent_prefix: bool = False
    note: str = ""

    def covers(self, other: Durability) -> bool:
        """Whether all that `other` promises is promised here, too."""
        lasting = self.power == "kept" or (other.power == "lost" and self._loses_no_more(other))
        return lasting and (self.process == "kept" or other.process == "lost")

    def _loses_no_more(self, other: Durability) -> bool:
        unbounded = float("inf")
        mine, its = (
            unbounded if s is None else s for s in (self.power_loss_seconds, other.power_loss_seconds)
        )
        return mine <= its and (self.consistent_prefix or not other.consistent_prefix)


class LibraryFacts(Frozen):
    """The engine's own library, as this process loaded it. None or "": not known.

    `origin`: "system" (a distribution's package), "built" (from an archive, by `kvdyno engines build`) or
    "project" (sources of this repository). `assertions`: whether its assertions are compiled in. `checksum`:
    how it computes its checksums, found by a probe: "hardware" or "software".
    """

    origin: str = ""
    assertions: bool | None = None
    checksum: str = ""
    allocator: str = ""
    compiler: str = ""
    flags: str = ""


class EngineIdentity(Frozen):
    """The engine inside the driver binary."""

    name: str
    version: str
    summary: str
    caveats: tuple[str, ...] = ()
    write_once_files: tuple[str, ...] = ()
    durability: Durability | None = None
    library: LibraryFacts | None = None

    @property
    def slowed(self) -> bool:
        """Whether it was built to be slower on purpose, for tests of the gate."""
        return self.version.endswith("-slowed")


class BuildIdentity(Frozen):
    """How the binary was compiled."""

    compiler: str
    flags: str
    type: str
    sanitizer: str = ""


class Cost(Frozen):
    """A part of what a run costs: `amount` (bytes at the peak, or seconds) times the product of the
    properties and options that `times` names, where options have the values of `where`.
    """

    of: Literal["memory", "time", "disk"]
    amount: float
    times: tuple[str, ...]
    where: Mapping[str, str] = Field(default_factory=dict)


class EngineDescription(Frozen):
    """The whole answer of `--describe` (schema/describe.schema.json)."""

    schema_version: str
    driver: DriverIdentity
    engine: EngineIdentity
    build: BuildIdentity
    options: tuple[OptionDescription, ...]
    properties: tuple[OptionDescription, ...]
    phases: tuple[str, ...]
    operations: tuple[str, ...] = ()
    accepts_other_options: bool = False
    skips_log: bool = False
    costs: tuple[Cost, ...] = ()

    def option(self, name: str) -> OptionDescription | None:
        """The engine option of that name, without the engine's prefix."""
        return next((o for o in self.options if o.name == name), None)

    def property(self, name: str) -> OptionDescription | None:
        """The driver property of that name."""
        return next((p for p in self.properties if p.name == name), None)


@dataclass(frozen=True)
class Preset:
    """A named set of options: their texts at paper scale, and what they are for."""

    options: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""


@dataclass(frozen=True)
class Engine:
    """A built engine that experiments can name.

    `presets` are by name; `binary_sha256` is the build's identity,
    its shared objects included (see build.py). `image` is the id of the image that holds `binary`, and that
    id is then the build's identity; None for a file of this machine. `built_version` is the version that was
    built from an archive; "" for another build. `external` engines are upstream `ycsb`
    binaries, whose output is parsed instead. `counters` are the names of its own counters; None: not known.
    """

    name: str
    binary: Path
    binary_sha256: str
    description: EngineDescription
    presets: Mapping[str, Preset]
    external: bool = False
    image: str | None = None
    built_version: str = ""
    counters: tuple[str, ...] | None = None

    @cached_property
    def values_read(self) -> dict[tuple[str, str | None], bool | int | float | str | None]:
        """Values that plans have read, by name and text of the property or option: points repeat them."""
        return {}

    @property
    def runner(self) -> RunnerName:
        """What can run it."""
        return "docker" if self.image else "local"
