"""Running CMake and Ninja: a log beside the build, progress from Ninja's counts, the log's end in errors."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kvdyno.errors import EngineError, HostError

_LOG_LINES = 20
_COUNT = re.compile(r"^\[(\d+)/(\d+)\]")
_NO_SPACE = "No space left on device"

#: Hears how many of how many compilations are done.
Progress = Callable[[int, int], None]


def configure(sources: Path, *, build: Path, settings: Mapping[str, str], log: Path, what: str) -> None:
    """Runs CMake with these cache entries. Raises EngineError with the end of the log."""
    entries = [f"-D{name}={value}" for name, value in settings.items()]
    _run(["cmake", "-S", str(sources), "-B", str(build), "-G", "Ninja", *entries], log=log, what=what)


def compile_targets(
    build: Path, *, targets: Sequence[str], jobs: int, log: Path, what: str, progress: Progress
) -> None:
    """Runs Ninja, which goes on where it was interrupted. Raises EngineError with the end of the log."""
    _run(["ninja", "-C", str(build), f"-j{jobs}", *targets], log=log, what=what, progress=progress)


def has_target(build: Path, target: str) -> bool:
    """Whether the configured build can make it."""
    asked = ["ninja", "-C", str(build), "-t", "query", target]
    return subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def _run(command: Sequence[str], *, log: Path, what: str, progress: Progress | None = None) -> None:
    """Appends to the log. An interrupt ends the program too; Ninja then removes what is half written."""
    log.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] ", "LC_ALL": "C"}
    try:
        with (
            log.open("a", buffering=1) as kept,
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=environment,
            ) as running,
        ):
            assert running.stdout is not None
            for line in running.stdout:
                lines.append(line.rstrip())
                kept.write(line)
                if progress and (count := _COUNT.match(line)):
                    progress(int(count[1]), int(count[2]))
    except FileNotFoundError as error:
        raise HostError("no such program", where=command[0], remedy="make packages") from error
    if running.returncode != 0:
        raise _failed(lines, what=what, log=log)


def _failed(lines: Sequence[str], *, what: str, log: Path) -> EngineError | HostError:
    end = "\n".join(f"    {line}" for line in lines[-_LOG_LINES:])
    message = f"{what} was not built; the build ended with:\n{end}"
    if any(_NO_SPACE in line for line in lines):
        return HostError(
            message,
            where=str(log),
            remedy="free some disk, or set KVDYNO_DATA to a folder on another disk; the same command goes on",
        )
    return EngineError(
        message,
        where=str(log),
        remedy="the file above is the whole log; when the cause is mended, the same command goes on",
    )
