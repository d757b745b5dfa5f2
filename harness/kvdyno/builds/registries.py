"""Package registries, asked through their ordinary clients, as this machine has them configured."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kvdyno.errors import HostError
from kvdyno.model.versions import Archive

_FETCH_SECONDS = 600
_LOG_LINES = 8


def fetch(archive: Archive, *, scratch: Path) -> Path:
    """The archive as its registry's client stored it. Raises HostError when there is no client or no answer.

    `scratch` is a folder that the client may fill.
    """
    match archive.registry:
        case "crates":
            return _fetch_crate(archive, scratch=scratch)
        case "debian":
            return _fetch_debian(archive, scratch=scratch)


def _fetch_crate(archive: Archive, *, scratch: Path) -> Path:
    """Cargo keeps the archives that it fetches: here those of a scratch project with one dependency."""
    cache = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "cache"
    if not (found := _newest(cache, archive)):
        _demand(
            "cargo",
            remedy="harness/setup.sh versions, which installs its Debian package",
        )
        project = scratch / "crate"
        (project / "src").mkdir(parents=True, exist_ok=True)
        (project / "src" / "lib.rs").touch()
        (project / "Cargo.toml").write_text(
            '[package]\nname = "scratch"\nversion = "0.0.0"\nedition = "2021"\n\n'
            f'[dependencies]\n{archive.name} = {{version = "={archive.version}", default-features = false}}\n'
        )
        said = _run(["cargo", "fetch"], folder=project)
        found = _newest(cache, archive)
        shutil.rmtree(project)
        if not found:
            raise _not_fetched(archive, said, where="cargo fetch")
    return found


def _newest(cache: Path, archive: Archive) -> Path | None:
    found = sorted(cache.glob(f"*/{archive.file}"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def _fetch_debian(archive: Archive, *, scratch: Path) -> Path:
    """A source package, by apt's client, from this machine's own mirrors; it needs no deb-src lines."""
    _demand("apt-get", remedy="build another version: this one's archive comes from Debian")
    state = scratch / "apt"
    (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    sources = state / "sources.list"
    sources.write_text("".join(f"deb-src {line}\n" for line in _mirrors()))
    options = [
        "-oDir::Etc::SourceList=" + str(sources),
        "-oDir::Etc::SourceParts=/dev/null",
        "-oDir::State::Lists=" + str(state / "lists"),
        "-oDir::Cache::PkgCache=",
        "-oDir::Cache::SrcPkgCache=",
        "-oAPT::Sandbox::User=",
        "-qq",
    ]
    said = _run(["apt-get", *options, "update"], folder=state)
    said += _run(["apt-get", *options, "source", "--download-only", archive.name], folder=state)
    found = state / archive.file
    if not found.is_file():
        raise _not_fetched(archive, said, where="apt-get source")
    return found


def _mirrors() -> Sequence[str]:
    """The package archives that apt uses: address, release, component."""
    wanted = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    return tuple(dict.fromkeys(done.stdout.splitlines()))


def _demand(program: str, *, remedy: str) -> None:
    if not shutil.which(program):
        raise HostError("no such program, which fetches the archive", where=program, remedy=remedy)


def _run(command: Sequence[str], *, folder: Path) -> str:
    """What the client printed; whether it did its work shows in the file that it leaves."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_FETCH_SECONDS,
            text=True,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_FETCH_SECONDS} s"
    return done.stdout


def _not_fetched(archive: Archive, said: str, *, where: str) -> HostError:
    last = "\n".join(f"    {line}" for line in said.strip().splitlines()[-_LOG_LINES:])
    return HostError(
        f"{archive.file} was not fetched; the client ended with:\n{last}",
        where=where,
        remedy="check that this machine reaches its package registry; KVDYNO_VERSIONS=system measures the "
        "distribution's packages instead",
    )
