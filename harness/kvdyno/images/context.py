"""What a build gets to see: files of the checkout, and what it needs of this machine."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kvdyno.errors import HostError
from kvdyno.model.project import Project


def pack_context(
    project: Project,
    parts: Mapping[str, Iterable[Path]],
    *,
    suite: str,
    made: Mapping[str, bytes] | None = None,
) -> io.BytesIO:
    """A tar of files of the checkout, by the folder that they go to, of files that are `made`, and of host/.

    The files' paths are relative to the checkout; those of `made` to the context. In host/ is what
    containers/host-config finds.

    Equal contents give equal archives, whatever the files' dates, owners and rights are. Raises HostError
    when this machine's configuration cannot be read.
    """
    packed = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as scratch,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        host = Path(scratch)
        _read_host(project.root / "containers" / "host-config", folder=host, suite=suite)
        for folder, files in parts.items():
            for path in files:
                _add(archive, (Path(folder) / path).as_posix(), (project.root / path).read_bytes())
        for name, content in (made or {}).items():
            _add(archive, name, content)
        for path in _all_files(host):
            _add(archive, f"host/{path.relative_to(host)}", path.read_bytes())
    packed.seek(0)
    return packed


def _read_host(script: Path, *, folder: Path, suite: str) -> None:
    done = subprocess.run([str(script), str(folder), suite], capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise HostError(f"this machine's apt configuration cannot be read: {said}", where=str(script))


def _all_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    archive.addfile(entry, io.BytesIO(content))
