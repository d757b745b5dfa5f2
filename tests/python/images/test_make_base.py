"""containers/make-base, with stand-ins for debootstrap and chroot: what it makes, and how it fails."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from kvdyno.model.project import Project

HOST_CONFIG = """
mkdir -p "$1/etc/apt/apt.conf.d"
echo 'a proxy with a password' > "$1/etc/apt/apt.conf.d/90host"
echo 'the host' > "$1/etc/pip.conf"
"""

#: Called as `debootstrap --variant=minbase SUITE ROOT MIRROR`.
DEBOOTSTRAP = """
mkdir -p "$3/etc/apt" "$3/usr/share/doc/bash" "$3/usr/bin" "$3/var/lib/apt/lists"
echo 'its own' > "$3/etc/pip.conf"
echo "deb $4 $2 main" > "$3/etc/apt/sources.list"
touch "$3/usr/bin/bash" "$3/usr/share/doc/bash/copyright" "$3/etc/machine-id"
"""

#: Upgrades only where the host's configuration is in place.
CHROOT = """
grep -q password "$1/etc/apt/apt.conf.d/90host" && grep -q 'the host' "$1/etc/pip.conf"
touch "$1/var/lib/apt/lists/packages" "$1/usr/bin/upgraded"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The script beside a stand-in for host-config, and a PATH whose programs answer: root, on a Debian."""
    for name in ("containers", "bin", "tmp"):
        (tmp_path / name).mkdir()
    shutil.copy(Project.find().root / "containers/make-base", tmp_path / "containers/make-base")
    add(tmp_path / "containers/host-config", HOST_CONFIG)
    add(tmp_path / "bin/id", "echo 0")
    add(tmp_path / "bin/apt-config", "")
    add(tmp_path / "bin/debootstrap", DEBOOTSTRAP)
    add(tmp_path / "bin/chroot", CHROOT)
    return tmp_path


def add(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\nset -e\n{script}\n")
    path.chmod(0o755)


def make_base(machine: Path) -> subprocess.CompletedProcess[bytes]:
    """Without /usr/sbin, where the machine's own debootstrap would be."""
    made = subprocess.run(
        [machine / "containers/make-base"],
        env={**os.environ, "PATH": f"{machine}/bin:/usr/bin:/bin", "TMPDIR": f"{machine}/tmp"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert not list((machine / "tmp").iterdir()), "it leaves nothing behind"
    return made


def refused(machine: Path) -> str:
    done = make_base(machine)
    assert done.returncode != 0
    assert done.stdout == b""
    return done.stderr.decode()


def test_a_base_is_upgraded_and_slim(machine: Path) -> None:
    done = make_base(machine)
    assert (done.returncode, done.stderr) == (0, b"")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as root:
        names = set(root.getnames())
    assert {"./usr/bin/bash", "./usr/bin/upgraded", "./etc/dpkg/dpkg.cfg.d/kvdyno-slim"} <= names
    assert names.isdisjoint({"./usr/share/doc/bash", "./var/lib/apt/lists/packages", "./etc/machine-id"})


def test_nothing_of_the_host_stays_in_it(machine: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(make_base(machine).stdout)) as root:
        texts = {each.name: root.extractfile(each).read() for each in root if each.isfile()}  # type: ignore[union-attr]
    assert not [name for name, text in texts.items() if b"password" in text]
    assert texts["./etc/pip.conf"] == b"its own\n", "what the base had of that name is back"
    assert "./etc/resolv.conf" not in texts
    mirrors = {line.split()[1] for line in texts["./etc/apt/sources.list"].splitlines()}
    assert {mirror.startswith(b"http://deb.debian.org/") for mirror in mirrors} == {True}


def test_no_root(machine: Path) -> None:
    add(machine / "bin/id", "echo 1000")
    assert "expected root, which debootstrap needs\n  remedy: sudo " in refused(machine)


def test_no_debootstrap(machine: Path) -> None:
    (machine / "bin/debootstrap").unlink()
    assert "debootstrap is not installed\n  remedy: apt-get install debootstrap" in refused(machine)


@pytest.mark.parametrize("program", ["debootstrap", "chroot"])
def test_a_step_that_fails_is_reported_with_its_last_words(machine: Path, program: str) -> None:
    add(machine / "bin" / program, "echo E: no mirror in reach; exit 4")
    said = refused(machine)
    assert "E: no mirror in reach\nmake-base: no base was made\n" in said
    assert "does apt-get update work on this machine?" in said
