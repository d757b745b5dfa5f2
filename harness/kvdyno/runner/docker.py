"""The Docker Engine (or Podman's socket) as a warden: a container for each run.

Containers are named and labelled after the sweep and the process that owns them, so that the next sweep can
remove what a killed harness left, and nothing else. An Engine that goes away takes one run with it; the next
one waits until it is back.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, DockerException

from kvdyno.errors import HostError
from kvdyno.host.docker_engine import address, connect
from kvdyno.host.owner import LABEL_OWNER, is_left_by, owned_name, owner_labels
from kvdyno.model.engine import RunnerName

from .cage import BINDS_V1, BINDS_V2
from .cgroup import V1, V2
from .docker_cage import IMAGE_USER, UNREACHABLE, ContainerSettings, DockerCage
from .hierarchy import controller_mounts
from .throttle import Throttle, cannot_limit, held_at_root

if TYPE_CHECKING:
    from docker import DockerClient

#: How long an Engine may be away in mid-sweep, as when it is restarted.
GRACE_SECONDS = 60.0
_POLL_SECONDS = 0.2


class DockerWarden:
    """Makes containers. Raises HostError if there is no Engine, or one that enforces no cap."""

    runner: RunnerName = "docker"
    kind = "docker"

    def __init__(
        self,
        sweep_id: str,
        *,
        capped: bool = True,
        connect: Callable[[], DockerClient] = connect,
    ) -> None:
        self.capped = capped
        self._client = connect()
        self._count = 0
        try:
            self.facts: Mapping[str, Any] = self._client.info()
            self._product = _product(self._client.version())
            self._demand_fit()
        except BaseException:
            self._client.close()
            raise
        name = owned_name(sweep_id)
        self._settings = ContainerSettings(
            name=name,
            labels=owner_labels(sweep_id),
            user=self._user(),
            userns_mode="host" if "userns" in self._security else "",
            version=V2 if self.facts.get("CgroupVersion") == "2" else V1,
        )

    @property
    def why(self) -> str:
        """See Warden."""
        return f"{self._product} at {address()}"

    @property
    def details(self) -> Mapping[str, object]:
        """See Warden; docs/formats.md explains the keys."""
        facts = self.facts
        return {
            "container_engine": self._product,
            "storage_driver": facts.get("Driver"),
            "cgroup_version": facts.get("CgroupVersion"),
            "runtime": facts.get("DefaultRuntime"),
            "seccomp": self._security.get("seccomp", "none"),
            "user": self._settings.user,
        }

    @property
    def device_binds(self) -> str:
        """See Warden."""
        return BINDS_V1 if self._settings.version is V1 else BINDS_V2

    @property
    def binds_write_back(self) -> bool:
        """See Warden."""
        return self._settings.version is V2

    @contextlib.contextmanager
    def cage(self, *, cap_bytes: int, throttle: Throttle | None = None) -> Iterator[DockerCage]:
        """See Warden. Waits for an Engine that is away."""
        self._await_engine()
        self._count += 1
        with _root_group(throttle) as root_group:
            cage = DockerCage(
                self._client,
                self._settings,
                name=f"{self._settings.name}.{self._count}",
                cap_bytes=cap_bytes if self.capped else 0,
                # Until its processes are moved, the container's own group holds what they write directly.
                throttle=throttle,
                root_group=root_group,
            )
            try:
                yield cage
            finally:
                cage.remove()

    def remove_leftovers(self) -> tuple[str, ...]:
        """See Warden."""
        return tuple(name for name, labels in self._ours() if is_left_by(labels) if self._remove(name))

    def close(self) -> None:
        """Remove what could not be removed when the Engine was away."""
        try:
            self._remove_own()
        except (HostError, DockerException, *UNREACHABLE):
            pass  # the next sweep does
        finally:
            self._client.close()

    def _await_engine(self) -> None:
        """Returns when it answers, and what earlier runs had to leave is gone. Raises HostError."""
        deadline = time.monotonic() + GRACE_SECONDS
        while True:
            try:
                self._remove_own()
            except (DockerException, *UNREACHABLE) as failure:
                if time.monotonic() > deadline:
                    raise HostError(
                        f"the Docker Engine went away, and was not back within {GRACE_SECONDS:g} s",
                        where=address(),
                        remedy="start it, and run the same command again: it goes on where it stopped",
                    ) from failure
                time.sleep(_POLL_SECONDS)
            else:
                return

    def _remove_own(self) -> None:
        for name, labels in self._ours():
            if labels[LABEL_OWNER] == self._settings.name:
                self._remove(name)

    def _ours(self) -> list[tuple[str, Mapping[str, str]]]:
        """Names and labels of all containers that a harness made, running or not."""
        listed = self._client.api.containers(all=True, filters={"label": LABEL_OWNER})
        return [(each["Names"][0].lstrip("/"), each["Labels"]) for each in listed]

    def _remove(self, name: str) -> bool:
        """Whether it was there."""
        try:
            self._client.api.remove_container(name, force=True, v=True)
        except APIError as failure:
            if failure.status_code not in (404, 409):  # gone, or going
                raise
            return False
        return True

    @property
    def _security(self) -> dict[str, str]:
        """Security options by name, such as seccomp: default."""
        options: dict[str, str] = {}
        for text in self.facts.get("SecurityOptions") or ():
            words = dict(word.split("=", 1) for word in text.split(",") if "=" in word)
            options[words.pop("name", text)] = words.get("profile", "yes")
        return options

    def _user(self) -> str:
        """Root gives its folders to the image's user; anybody else stays who they are.

        To a rootless Engine its own user is root.
        """
        if "rootless" in self._security:
            return "0:0"
        return IMAGE_USER if os.geteuid() == 0 else f"{os.geteuid()}:{os.getegid()}"

    def _demand_fit(self) -> None:
        where = address()
        if not where.startswith("unix://"):
            raise HostError(
                "expected an Engine of this machine, behind a unix socket: stores are its folders",
                where=where,
                remedy="unset DOCKER_HOST, or set it to unix:///...",
            )
        if self.capped and not self.facts.get("MemoryLimit"):
            raise HostError(
                "the Docker Engine enforces no memory cap: it has no memory controller",
                where=where,
                remedy="boot with cgroup_enable=memory; a rootless Engine needs cgroup v2, with the "
                "controller delegated to its user",
            )


@contextlib.contextmanager
def _root_group(throttle: Throttle | None) -> Iterator[Path | None]:
    """With a disk of the run's own: v1's root group for I/O, where that disk's rules stand meanwhile."""
    if throttle is None or not throttle.alone:
        yield None
        return
    root_group, _ = controller_mounts("blkio")
    if root_group is None:
        raise cannot_limit("there is no blkio controller", where="/proc/self/mounts")
    with held_at_root(throttle, root_group):
        yield root_group


def docker_facts() -> Mapping[str, object]:
    """What a doctor looks at, by dotted names. Raises HostError where no Engine of this machine answers."""
    with contextlib.closing(DockerWarden("facts", capped=False)) as warden:
        return {
            "docker.engine": warden.details["container_engine"],
            "docker.address": address(),
            "docker.cgroup_version": warden.details["cgroup_version"],
            "docker.storage_driver": warden.details["storage_driver"],
            "docker.seccomp": warden.details["seccomp"],
            "docker.memory_limit": warden.facts.get("MemoryLimit"),
            "docker.swap_limit": warden.facts.get("SwapLimit"),
        }


def _product(version: Mapping[str, Any]) -> str:
    parts = [part["Name"] for part in version.get("Components") or ()]
    name = "Podman" if any("Podman" in part for part in parts) else "Docker Engine"
    return f"{name} {version['Version']}"
