"""What a Docker Engine must be, tested on an imitated one; test_docker.py has a real one."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from kvdyno.errors import HostError
from kvdyno.host.docker_engine import answers
from kvdyno.runner import docker as docker_module
from kvdyno.runner import docker_cage as cage_module
from kvdyno.runner.docker import DockerWarden
from kvdyno.runner.docker_cage import IMAGE_USER

INFO = {
    "MemoryLimit": True,
    "CgroupVersion": "2",
    "Driver": "overlay2",
    "DefaultRuntime": "runc",
    "SecurityOptions": ["name=seccomp,profile=default", "name=cgroupns"],
}


class Client:
    """Answers as a client does; `api` is itself."""

    def __init__(self, *, components: tuple[str, ...] = ("Engine", "containerd"), **info: Any) -> None:
        self._info = INFO | info
        self._components = components
        self.api = self
        self.closed = False
        self.away = False

    def info(self) -> dict[str, Any]:
        return self._info

    def version(self) -> dict[str, Any]:
        return {"Version": "9.8", "Components": [{"Name": name} for name in self._components]}

    def containers(self, **asked: Any) -> list[dict[str, Any]]:
        if self.away:
            raise requests.exceptions.ConnectionError
        return []

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _usual_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)


def test_it_describes_itself() -> None:
    warden = DockerWarden("s1", connect=Client)
    assert warden.why == "Docker Engine 9.8 at unix:///var/run/docker.sock"
    assert warden.details == {
        "container_engine": "Docker Engine 9.8",
        "storage_driver": "overlay2",
        "cgroup_version": "2",
        "runtime": "runc",
        "seccomp": "default",
        "user": IMAGE_USER if os.geteuid() == 0 else f"{os.geteuid()}:{os.getegid()}",
    }


def test_podman_is_distinguished_from_docker() -> None:
    warden = DockerWarden("s1", connect=lambda: Client(components=("Podman Engine", "Conmon")))
    assert warden.details["container_engine"] == "Podman 9.8"


def test_an_engine_without_security_options_has_no_profile() -> None:
    assert DockerWarden("s1", connect=lambda: Client(SecurityOptions=None)).details["seccomp"] == "none"


def test_a_rootless_engines_root_is_its_user() -> None:
    client = Client(SecurityOptions=["name=rootless", "name=seccomp,profile=default"])
    assert DockerWarden("s1", connect=lambda: client).details["user"] == "0:0"


def test_no_memory_controller_is_refused_unless_uncapped() -> None:
    client = Client(MemoryLimit=False)
    with pytest.raises(HostError, match="no memory controller") as raised:
        DockerWarden("s1", connect=lambda: client)
    assert "cgroup_enable=memory" in str(raised.value.remedy)
    assert client.closed
    assert not DockerWarden("s1", capped=False, connect=lambda: client).capped


@pytest.mark.parametrize(("group", "found"), [("docker/c0ffee", 77), ("init.scope", 0), (None, 0)])
def test_a_process_id_of_the_engine_is_believed_only_with_its_container(
    monkeypatch: pytest.MonkeyPatch, group: str | None, found: int
) -> None:
    """In another PID namespace it names a stranger, which a kill must not reach."""
    monkeypatch.setattr(cage_module, "group_of", lambda pid: group and Path("/sys/fs/cgroup") / group)
    container: Any = SimpleNamespace(id="c0ffee", attrs={"State": {"Pid": 77}})
    assert cage_module._pid_here(container) == found


def test_an_engine_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://far:2375")
    with pytest.raises(HostError, match="an Engine of this machine"):
        DockerWarden("s1", connect=Client)
    assert not answers()


def test_one_that_stays_away_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_module, "GRACE_SECONDS", 0)
    client = Client()
    warden = DockerWarden("s1", connect=lambda: client)
    client.away = True
    with pytest.raises(HostError, match="was not back within 0 s"), warden.cage(cap_bytes=0):
        pass
    warden.close()
    assert client.closed
