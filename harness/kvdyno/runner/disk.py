"""What stores stand on: which file system and device, how much room, how to empty its page cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvdyno.errors import HostError
from kvdyno.model.project import MEMORY_FILE_SYSTEMS

from .extents import Counted, extents_of, read_data

#: Left free beside what a point is expected to need, as a share of that and in bytes.
MARGIN_SHARE = 0.1
MARGIN_BYTES = 64 << 20


@dataclass(frozen=True)
class Mount:
    """The file system under a folder. `device` is the kernel's "major:minor"."""

    folder: str
    type: str
    options: str
    source: str
    device: str


def mount_of(path: Path, *, root: Path = Path("/")) -> Mount:
    """The mount that holds `path`, which need not exist yet. Later mounts hide earlier ones.

    In a chroot the mount below its root may not be listed: then only type and device are known.
    Raises HostError if there is no /proc.
    """
    resolved = path.resolve()
    best: Mount | None = None
    for line in _mount_lines(root):
        before, _, after = line.partition(" - ")
        fields, tail = before.split(), after.split()
        mount = Mount(
            folder=fields[4].encode().decode("unicode_escape"),
            type=tail[0],
            options=",".join(dict.fromkeys(f"{fields[5]},{tail[2]}".split(","))),
            source=tail[1],
            device=fields[2],
        )
        if resolved.is_relative_to(mount.folder) and (best is None or len(mount.folder) >= len(best.folder)):
            best = mount
    return best or _unlisted_mount(nearest_existing(resolved))


def _mount_lines(root: Path) -> list[str]:
    table = root / "proc/self/mountinfo"
    try:
        return table.read_text().splitlines()
    except OSError as failure:
        raise HostError(
            f"cannot be read: {failure.strerror}", where=str(table), remedy="mount -t proc proc /proc"
        ) from failure


def _unlisted_mount(folder: Path) -> Mount:
    asked = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=False)
    device = folder.stat().st_dev
    return Mount(
        folder="/",
        type=asked.stdout.strip() or "unknown",
        options="",
        source="",
        device=f"{os.major(device)}:{os.minor(device)}",
    )


def nearest_existing(folder: Path) -> Path:
    """The folder itself, or the first above it that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def demand_real_disk(folder: Path) -> None:
    """Raises HostError if `folder` is on a file system that lives in memory."""
    mount = mount_of(folder)
    if mount.type in MEMORY_FILE_SYSTEMS:
        raise HostError(
            f"data would be on {mount.type} (mounted at {mount.folder}), expected a disk: "
            "stores in memory count against the cap and measure no disk",
            where=str(folder),
            remedy="set KVDYNO_DATA to a folder on a disk",
        )


def free_bytes(folder: Path) -> int:
    """What an ordinary user may still write there."""
    return shutil.disk_usage(folder).free


def needed_bytes(expected: int) -> int:
    """Free space that a run needs before it starts."""
    return int(expected * (1 + MARGIN_SHARE)) + MARGIN_BYTES


def files_below(folder: Path) -> Iterator[Path]:
    """All regular files, in a fixed order."""
    return (p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink())


def first_special_file(folder: Path) -> Path | None:
    """The first that is neither a regular file nor a folder: a link, a socket, a pipe, a device."""
    return next(
        (p for p in sorted(folder.rglob("*")) if p.is_symlink() or not (p.is_file() or p.is_dir())), None
    )


def evict(folder: Path) -> None:
    """Write back what is dirty below `folder`, then drop its pages from the cache.

    Pages belong to the first process that touches them: left in the cache, what the harness copied would be
    free memory for the engine, outside its cap.
    """
    for path in files_below(folder):
        evict_file(path)
    sync_tree(folder)


def evict_file(path: Path) -> None:
    """The same for one file. Pages that a living process has mapped stay."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def read_through(path: Path, *, counted: Counted) -> None:
    """Have the storage deliver every byte of a file's data, so that it keeps them at hand.

    A virtual or a network disk serves what was read lately many times faster than the rest: without this
    a run would gain or lose by what other runs have read before it.
    """
    evict_file(path)
    read_data(path, counted=counted)


def sparse_files(folder: Path) -> Mapping[str, tuple[range, ...]]:
    """The bytes in no hole of the files that have holes, by paths relative to the folder."""
    found = ((path, extents_of(path)) for path in files_below(folder))
    return {
        str(path.relative_to(folder)): extents
        for path, extents in found
        if sum(map(len, extents)) < path.stat().st_size
    }


def sync_tree(folder: Path) -> None:
    """Make the names in `folder`, and in the folders below, durable."""
    for place in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
        sync_folder(place)


def sync_folder(folder: Path) -> None:
    """Make the names in one folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_tree(folder: Path) -> None:
    """Remove a folder with all below it; nothing if it is not there. Raises HostError."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as failure:
        raise HostError(
            f"cannot remove: {failure.strerror}",
            where=str(failure.filename or folder),
            remedy="remove it by hand",
        ) from failure
