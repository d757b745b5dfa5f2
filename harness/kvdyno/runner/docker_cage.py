"""One container as a cage: capped, without network, privileges or a writable root."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import Mount

from kvdyno.errors import EngineError, HostError
from kvdyno.host.docker_engine import connect
from kvdyno.model.engine import Engine
from kvdyno.model.image import DATA, OUTPUT, REMEDY, USER_ID

from .cage import LAUNCH_FAILED, Places, Process, Task, read_pids, wait_until
from .cgroup import V2, Counters, Version
from .disk import evict_file
from .hierarchy import group_of
from .holder import PROGRESS_FD, Holder
from .throttle import Throttle, read_usage

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

#: What a client raises when the Engine has gone. (An APIError, an answer, is a RequestException too.)
UNREACHABLE = (
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    requests.exceptions.ChunkedEncodingError,
    ConnectionError,
)

#: The user of every image, with its group.
IMAGE_USER = f"{USER_ID}:{USER_ID}"

_LOST = "the Docker Engine went away during the run"
_REMOVED = "its container was removed from outside during the run"
#: States of a container whose removal has begun: the Engine kills what runs in it first.
_GOING = ("removing", "dead")
_PROCESSES_MAX = 4096
# The user's, wherever they run: an ordinary user's may include a desktop.
_USERS_PROCESSES_MAX = 16384
_SCRATCH = {"/tmp": "rw,noexec,nosuid,nodev,size=64m,mode=1777"}
_KILL_SECONDS = 20


@dataclass(frozen=True)
class ContainerSettings:
    """What all containers of a sweep share: the owner's labels, and what the Engine must be given."""

    name: str
    labels: Mapping[str, str]
    user: str
    userns_mode: str
    version: Version

    @property
    def owner(self) -> int | None:
        """Whose the mounted folders must be; None where they are the harness's own already."""
        return USER_ID if self.user == IMAGE_USER else None


class DockerCage:
    """A container that holds one run. It exists from `start` to `remove`."""

    def __init__(
        self,
        client: DockerClient,
        settings: ContainerSettings,
        *,
        name: str,
        cap_bytes: int,
        throttle: Throttle | None,
        root_group: Path | None = None,
    ) -> None:
        """`root_group`: v1's group for I/O where the container's processes go; the Engine's own if None."""
        self._client = client
        self._settings = settings
        self._cap_bytes = cap_bytes
        self._throttle = throttle
        self._root_group = root_group
        self._pid = 0
        self._holder: Holder | None = None
        self._oom_killed = False
        self.place = name

    def start(self, task: Task) -> Process:
        """See Cage. A container that the Engine makes but cannot start is HostError too."""
        self._holder = Holder.make(task.output, inside=Path(OUTPUT))
        task.log.touch()
        if self._settings.owner is not None:
            give((task.store, task.output), self._settings.owner)
        process = DockerProcess(self, self._holder, take_back=lambda: self._take_back(task))
        with process.watched():
            container = self._create(task, self._holder)
            evict_driver(self._client, task.engine)
            container.start()
            container.reload()
            self._pid = _pid_here(container)
            self._join_root_group()
            process.follow(container, pid=self._pid)
        return process

    def _create(self, task: Task, holder: Holder) -> Container:
        places = Places(store=Path(DATA), output=Path(OUTPUT), progress_fd=PROGRESS_FD)
        entry, *command = holder.command(
            task.argv(places), log=task.log, counters=self._settings.version.container_files
        )
        return self._client.containers.create(
            task.engine.image,
            name=self.place,
            labels=dict(self._settings.labels),
            entrypoint=[entry],
            command=command,
            working_dir=OUTPUT,
            user=self._settings.user,
            userns_mode=self._settings.userns_mode,
            environment={"LC_ALL": "C"},
            # Unlike volumes, whose parts colons separate, mounts take any path.
            mounts=[
                Mount(DATA, str(task.store), type="bind"),
                Mount(OUTPUT, str(task.output), type="bind"),
            ],
            tmpfs=_SCRATCH,
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            network_mode="none",
            pids_limit=_PROCESSES_MAX,
            ulimits=_limits(),
            cpuset_cpus=",".join(map(str, task.cpus)),
            log_config={"Type": "none", "Config": {}},
            **(self._throttle.docker(v2=self._settings.version is V2) if self._throttle else {}),
            # Without the second, a run would swap its way past the cap.
            **({"mem_limit": self._cap_bytes, "memswap_limit": self._cap_bytes} if self._cap_bytes else {}),
        )

    def _join_root_group(self) -> None:
        """Move what runs in the container by now; what it starts later follows its parent.

        Raises HostError if that cannot be seen from here.
        """
        if self._root_group is None:
            return
        if not self._pid:
            raise HostError(
                "the container's processes cannot be held to the device's limits: they are outside of this "
                "PID namespace",
                where=self.place,
                remedy="run the harness in the Engine's PID namespace (docker run --pid=host)",
            )
        group = group_of(self._pid, controller="blkio", v2_name="io")
        while group and group != self._root_group and (inside := read_pids(group / "cgroup.procs")):
            for pid in inside:
                with contextlib.suppress(ProcessLookupError):
                    (self._root_group / "cgroup.procs").write_text(str(pid))

    def pids(self) -> list[int]:
        """See Cage. As this machine numbers them."""
        group = group_of(self._pid) if self._pid else None
        return read_pids(group / "cgroup.procs") if group else []

    def usage(self) -> dict[str, float]:
        """See Cage."""
        if not self._pid:
            return {}
        counted = None if self._root_group else group_of(self._pid, controller="blkio", v2_name="io")
        return read_usage(group_of(self._pid), counted)

    def kill(self) -> None:
        """See Cage. An Engine that has gone cannot help: then the harness ends what it may."""
        try:
            self._client.api.kill(self.place)
        except UNREACHABLE:
            for pid in self.pids():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        except APIError:
            pass  # it has ended
        wait_until(
            lambda: not self.pids(), seconds=_KILL_SECONDS, failure=f"{self.place}: it outlives SIGKILL"
        )

    def remove(self) -> None:
        """Take the container away. One whose Engine has gone stays until that is back (see DockerWarden)."""
        with contextlib.suppress(APIError, *UNREACHABLE):
            self._client.api.remove_container(self.place, force=True, v=True)

    def ask_to_end(self) -> None:
        """Send SIGTERM to the holder, which passes it on."""
        with contextlib.suppress(APIError, *UNREACHABLE):
            self._client.api.kill(self.place, "SIGTERM")

    def inspect(self) -> str:
        """Keep what the Engine reports of a container that has ended; returns the fault, if there is one."""
        try:
            state = self._client.api.inspect_container(self.place)["State"]
        except NotFound:
            return _REMOVED
        except (DockerException, *UNREACHABLE):
            return _LOST
        self._oom_killed = bool(state["OOMKilled"])
        return _REMOVED if state["Status"] in _GOING else ""

    def oom_kills(self) -> int:
        """The holder's copy of the counter; if the holder died too, the Engine's verdict."""
        counters = self._counters()
        return counters.oom_kills() if counters else int(self._oom_killed)

    def ran_into_cap(self) -> bool:
        """See Cage. Believed if the counters are gone."""
        counters = self._counters()
        return counters.ran_into_cap() if counters else True

    def limits_swap(self) -> bool:
        """See Cage. Believed if nothing was left to look at."""
        counters = self._counters()
        return counters.limits_swap() if counters else True

    def peak_bytes(self) -> int | None:
        """See Cage."""
        counters = self._counters()
        return counters.peak_bytes() if counters else None

    def _counters(self) -> Counters | None:
        if self._holder is None:
            return None
        counters = Counters(self._holder.report, self._settings.version)
        return counters if (self._holder.report / self._settings.version.events).exists() else None

    def _take_back(self, task: Task) -> None:
        if self._settings.owner is not None:
            give((task.store, task.output), os.geteuid())


class DockerProcess:
    """See Process. A thread waits for the Engine to report the end, so that nothing asks it all the time."""

    def __init__(self, cage: DockerCage, holder: Holder, *, take_back: Callable[[], None]) -> None:
        self._cage = cage
        self._holder = holder
        self._take_back = take_back
        self._ended = threading.Event()
        self.pid = 0
        self.progress = holder.progress
        self.returncode = 0
        self.fault = ""

    @property
    def cpu_seconds_apart(self) -> float:
        """See Process."""
        return self._holder.cpu_seconds()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """What may go wrong while the container is made and started, in this project's words."""
        try:
            yield
        except UNREACHABLE:
            self._end(fault=_LOST)
        except ImageNotFound as failure:
            self.close()
            raise EngineError(
                "its image has gone during the sweep; what was finished is stored",
                where=self._cage.place,
                remedy=f"{REMEDY}, then run the same command again",
            ) from failure
        except NotFound:
            self._end(fault=_REMOVED)
        except APIError as failure:
            self.close()
            raise HostError(
                f"the Docker Engine cannot start it: {failure.explanation}", where=self._cage.place
            ) from failure
        except BaseException:
            self.close()
            raise

    def follow(self, container: Container, *, pid: int) -> None:
        """Wait, in a thread, for the container's end. `pid` is its process's id here."""
        self.pid = pid
        threading.Thread(target=self._await_end, args=(container.id,), daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """See Process."""
        return self._ended.wait(seconds)

    def ask_to_end(self) -> None:
        """See Process."""
        self._cage.ask_to_end()

    def kill(self) -> None:
        """See Process."""
        self._cage.kill()
        if not self._ended.wait(_KILL_SECONDS):
            self._end(fault=_LOST)
        self.fault = self.fault or self._cage.inspect()
        if not self.fault and self.returncode == LAUNCH_FAILED:
            self.fault = f"its user may not write to the folders mounted at {DATA} and {OUTPUT}"

    def close(self) -> None:
        """See Process."""
        self._holder.close()
        self._take_back()

    def _await_end(self, container_id: str) -> None:
        try:
            with contextlib.closing(connect()) as client:
                status = client.api.wait(container_id, timeout=None)["StatusCode"]
        except NotFound:
            self._end(fault=_REMOVED)
        except (HostError, DockerException, *UNREACHABLE):
            self._end(fault=_LOST)
        else:
            self._end(status=status)

    def _end(self, *, status: int = 0, fault: str = "") -> None:
        if not self._ended.is_set():
            self.returncode, self.fault = status, fault
            self._ended.set()


def _pid_here(container: Container) -> int:
    """Its process's id; 0 where the Engine's ids name other processes, as for a harness in a container."""
    pid = int(container.attrs["State"]["Pid"])
    group = group_of(pid) if pid else None
    return pid if group and str(container.id) in str(group) else 0


def _limits() -> list[dict[str, object]]:
    """Open files as many as the harness may have. Podman's own default of processes is beyond its rights."""
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    limits = {"nofile": open_files, "nproc": _USERS_PROCESSES_MAX}
    return [{"Name": name, "Soft": limit, "Hard": limit} for name, limit in limits.items()]


def give(places: tuple[Path, ...], owner: int) -> None:
    """Make `owner` the owner of all in these folders, but for files with other names too (a snapshot's)."""
    for place in places:
        for path in (place, *place.rglob("*")):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1:
                os.chown(path, owner, owner, follow_symlinks=False)


def evict_driver(client: DockerClient, engine: Engine) -> None:
    """Drop the driver's pages from the cache, so that they are charged to the run as elsewhere.

    Only where the image's layers are folders that the harness may read.
    """
    graph: dict[str, Any] = client.api.inspect_image(engine.image).get("GraphDriver") or {}
    data = graph.get("Data") or {}
    layers = [data.get("UpperDir"), *(data.get("LowerDir") or "").split(":")]
    for layer in filter(None, layers):
        with contextlib.suppress(OSError):
            evict_file(Path(layer) / engine.binary.relative_to("/"))
