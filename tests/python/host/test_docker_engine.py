"""Reaching a Docker Engine: each way in which that fails has its own remedy."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from docker import DockerClient
from fakes.containers import make_image

from kvdyno.errors import HostError
from kvdyno.host import docker_engine
from kvdyno.host.docker_engine import connect, run_once
from kvdyno.host.owner import LABEL_OWNER
from kvdyno.runner.cage import wait_until
from kvdyno.runner.warden import remove_leftover_containers


def refused(monkeypatch: pytest.MonkeyPatch, address: str) -> str:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(HostError) as raised:
        connect(timeout_seconds=5)
    assert raised.value.where == address
    return str(raised.value)


def test_no_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = refused(monkeypatch, f"unix://{tmp_path}/none.sock")
    assert "no Docker Engine answers\n  remedy: harness/setup.sh docker" in said


def test_no_engine_listens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f"{tmp_path}/dead.sock")
    assert "no Docker Engine answers" in refused(monkeypatch, f"unix://{tmp_path}/dead.sock")


def test_no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user who is not in the group; root is refused nothing."""

    def forbid(_: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(docker_engine, "_probe", forbid)
    said = refused(monkeypatch, "unix:///var/run/docker.sock")
    assert "may not be used by this user" in said
    assert "usermod -aG docker" in said


def test_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "expected a Docker Engine, found" in refused(monkeypatch, "tcp://127.0.0.1:1")


def test_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "expected a Docker Engine, found" in refused(monkeypatch, "nonsense://here")


class TestRunOnce:
    pytestmark = pytest.mark.docker

    def test_what_it_wrote_is_whole(self, client: DockerClient) -> None:
        image = make_image(client)
        for _ in range(5):
            answer = run_once(client, image, ["sh", "-c", "echo out; echo err >&2; exit 3"])
            assert (answer.status, answer.stdout, answer.stderr) == (3, b"out\n", b"err\n")

    def test_what_does_not_end_is_removed(self, client: DockerClient) -> None:
        image = make_image(client)
        before = len(client.api.containers(all=True))
        with pytest.raises(TimeoutError, match="no end within 1 s: sleep 600"):
            run_once(client, image, ["sleep", "600"], timeout_seconds=1)
        assert len(client.api.containers(all=True)) == before

    def test_what_a_killed_process_left_is_removed_by_the_next_sweep(self, client: DockerClient) -> None:
        image = make_image(client)
        killed = [sys.executable, "-c", _RUN_AND_HANG, image]
        with subprocess.Popen(killed, stdout=subprocess.PIPE, env={**os.environ}) as process:
            _await_running(client)
            process.kill()
        [left] = client.api.containers(all=True, filters={"label": LABEL_OWNER})
        assert left["Names"][0].lstrip("/") in remove_leftover_containers()
        assert not client.api.containers(all=True)


_RUN_AND_HANG = """\
import sys
from kvdyno.host.docker_engine import connect, run_once
run_once(connect(), sys.argv[1], ["sleep", "600"])
"""


def _await_running(client: DockerClient) -> None:
    wait_until(lambda: bool(client.api.containers()), seconds=20, failure="no container was started")
