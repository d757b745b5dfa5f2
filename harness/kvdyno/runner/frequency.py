"""CPU frequency for a sweep: governor and turbo are set, and put back exactly, also after kill -9.

What was in force is written durably to one file of the machine before anything is changed. A process that
finds that file without a living owner puts the settings back. `root` is where `proc`, `sys` and `var` are
looked for.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import HostError
from kvdyno.host.owner import is_leftover, locked, owned_name

from .disk import sync_folder

_STATE = Path("var/lib/kvdyno/frequency.json")
_CPUS = Path("sys/devices/system/cpu")
_BOOT = Path("proc/sys/kernel/random/boot_id")
_GOVERNOR, _CHOICES = "scaling_governor", "scaling_available_governors"
# Where turbo is switched off, and the word for off.
_TURBO = (("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0"))


@dataclass(frozen=True)
class Frequency:
    """What a sweep asks for. `governor` None, `no_turbo` False: as it is."""

    governor: str | None = None
    no_turbo: bool = False

    @property
    def facts(self) -> Mapping[str, str | bool]:
        """The facts of the environment that hold while these settings do."""
        return {
            **({"cpu.governor": self.governor} if self.governor else {}),
            **({"cpu.turbo": False} if self.no_turbo else {}),
        }


@contextlib.contextmanager
def frequency_set(wanted: Frequency, *, sweep_id: str, root: Path = Path("/")) -> Iterator[None]:
    """The settings hold inside. Raises HostError, with nothing changed, if one of them cannot be made."""
    restore_frequency(root=root)
    changes = {**_governors(wanted.governor, root=root), **_turbo(wanted.no_turbo, root=root)}
    if not changes:
        yield
        return
    before = {file: _read(root / file) for file in changes}
    _keep({"owner": owned_name(sweep_id), "boot": _boot(root), "files": before}, root=root)
    with locked((root / _STATE).parent):
        try:
            for file, text in changes.items():
                _write(root / file, text)
            yield
        finally:
            _put_back(before, root=root)


def restore_frequency(*, root: Path = Path("/")) -> tuple[str, ...]:
    """Put back what a killed sweep left; returns what that was, in words.

    After a reboot there is nothing to put back. Raises HostError if the kernel refuses.
    """
    state = root / _STATE
    try:
        left = json.loads(state.read_text())
        owner, boot, files = str(left["owner"]), left["boot"], dict(left["files"])
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise HostError(
            f"what governor and turbo were before an earlier sweep cannot be read: {failure}",
            where=str(state),
            remedy="set them as you want them, then remove this file",
        ) from failure
    if not is_leftover(owner, folder=state.parent):
        return ()
    if boot != _boot(root):
        state.unlink(missing_ok=True)
        return ()
    _put_back(files, root=root)
    return tuple(f"the setting of /{file}" for file in files)


def _governors(governor: str | None, *, root: Path) -> dict[str, str]:
    """Files and texts for one governor on all CPUs that are online and have one."""
    if governor is None:
        return {}
    files = sorted((root / _CPUS).glob(f"cpu[0-9]*/cpufreq/{_GOVERNOR}"))
    if not files:
        raise HostError(
            "no CPU has a governor here: the kernel does not set frequencies (as in most virtual machines)",
            where=str(root / _CPUS),
            remedy="leave out --governor",
        )
    for file in files:
        choices = _read(file.with_name(_CHOICES)).split()
        if governor not in choices:
            raise HostError(
                f"expected one of {', '.join(choices)}, found {governor!r}",
                where=str(file.with_name(_CHOICES)),
                remedy="give --governor one of these",
            )
        _demand_writable(file)
    return {str(file.relative_to(root)): governor for file in files}


def _turbo(off: bool, *, root: Path) -> dict[str, str]:
    """The one file that switches turbo off, and its text."""
    if not off:
        return {}
    for name, text in _TURBO:
        if (root / _CPUS / name).exists():
            _demand_writable(root / _CPUS / name)
            return {str(_CPUS / name): text}
    raise HostError(
        "turbo cannot be switched off here: neither intel_pstate/no_turbo nor cpufreq/boost is there",
        where=str(root / _CPUS),
        remedy="leave out --no-turbo",
    )


def _demand_writable(file: Path) -> None:
    if not os.access(file, os.W_OK):
        raise HostError("may not be written", where=str(file), remedy="run as root (sudo)")


def _keep(state: Mapping[str, object], *, root: Path) -> None:
    """Write the state so that it survives even a power cut. Raises HostError."""
    path = root / _STATE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        with new.open("w") as stream:
            json.dump(state, stream)
            stream.flush()
            os.fsync(stream.fileno())
        new.rename(path)
        sync_folder(path.parent)
    except OSError as failure:
        raise HostError(
            f"what is in force cannot be kept: {failure.strerror}; so nothing was changed",
            where=str(path),
            remedy="run as root (sudo)",
        ) from failure


def _put_back(files: Mapping[str, str], *, root: Path) -> None:
    """Write each file, whatever becomes of the others, then forget. Raises HostError if one refused."""
    refused: list[HostError] = []
    for file, text in files.items():
        try:
            _write(root / file, text)
        except HostError as failure:
            refused.append(failure)
    if refused:
        raise refused[0]
    (root / _STATE).unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as failure:
        raise HostError(
            f"the kernel refuses {text!r}: {failure.strerror}", where=str(file), remedy="run as root (sudo)"
        ) from failure


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError as failure:
        raise HostError(f"cannot be read: {failure.strerror}", where=str(file)) from failure


def _boot(root: Path) -> str:
    with contextlib.suppress(OSError):
        return (root / _BOOT).read_text().strip()
    return ""
