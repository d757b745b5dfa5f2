"""`harness/setup.sh docker`, with stand-ins for Python and dockerd: every way in which no Engine answers."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kvdyno.model.project import Project

NONE = "kvdyno.errors.HostError: unix:///var/run/docker.sock: no Docker Engine answers"
FORBIDDEN = (
    "kvdyno.errors.HostError: unix:///var/run/docker.sock: the Docker Engine may not be used by this user"
)

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or Path("/run/systemd/system").exists(), reason="root, without systemd, starts dockerd"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with its Python environment; the file `running` in it means that an Engine answers."""
    for name in ("harness", ".venv/bin", ".kvdyno/setup", "bin"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(Project.find().root / "harness/setup.sh", tmp_path / "harness/setup.sh")
    for name in ("harness/requirements.lock", "pyproject.toml", ".venv/bin/kvdyno"):
        (tmp_path / name).touch(mode=0o755)
    (tmp_path / ".kvdyno/setup/venv").write_text(f"{hashlib.sha256(b'').hexdigest()}  -")
    add(tmp_path / ".venv/bin/python", "[ -e running ] || { cat why >&2; exit 1; }")
    (tmp_path / "why").write_text(f"Traceback\n{NONE}\n  remedy: x\n")
    add(tmp_path / "bin/dockerd", "touch started running; sleep 0.2")
    return tmp_path


def add(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def setup(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    usual = {name: text for name, text in os.environ.items() if name != "DOCKER_HOST"}
    path = f"{checkout}/bin:{os.environ['PATH']}"
    return subprocess.run(
        [checkout / "harness/setup.sh", "docker"],
        env={**usual, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_one_that_answers_is_left_alone(checkout: Path) -> None:
    (checkout / "running").touch()
    assert setup(checkout).returncode == 0
    assert not (checkout / "started").exists()


def test_one_is_started_where_none_answers(checkout: Path) -> None:
    done = setup(checkout)
    assert done.returncode == 0, done.stderr
    assert (checkout / "started").exists()
    assert setup(checkout).stdout == ""


def test_one_that_ends_at_once_has_the_reason(checkout: Path) -> None:
    add(checkout / "bin/dockerd", "echo operation not permitted; exit 1")
    done = setup(checkout)
    assert done.returncode == 1
    assert "no Docker Engine: " in done.stderr
    assert "operation not permitted" in done.stderr


def test_a_user_without_rights_learns_the_remedy(checkout: Path) -> None:
    (checkout / "why").write_text(FORBIDDEN)
    done = setup(checkout)
    assert (done.returncode, "may not be used by this user" in done.stderr) == (1, True)
    assert not (checkout / "started").exists()


def test_another_machines_engine_is_not_replaced_by_one_here(checkout: Path) -> None:
    done = setup(checkout, DOCKER_HOST="tcp://elsewhere:2375")
    assert (done.returncode, "no Docker Engine answers" in done.stderr) == (1, True)
    assert not (checkout / "started").exists()
