"""A Docker Engine of the tests' own, and an image that is made in a moment: a shell that plays a driver."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from docker import DockerClient

from kvdyno.errors import HostError
from kvdyno.model.image import LABEL_ENGINE, LABEL_SOURCE, driver_path, image_name
from kvdyno.model.project import Project

from .engines import YCSB_PROPERTIES, describe, option

NAME = "shelldb"

_PROGRAMS = {"/bin/dash": "bin/sh", "/bin/cat": "bin/cat", "/bin/dd": "bin/dd", "/bin/sleep": "bin/sleep"}
_OBJECT = re.compile(r"(/\S+) \(0x")

# What it does is the property `fake`; an outcome that is well is in the image.
_DRIVER = """\
#!/bin/sh
[ "$1" = --describe ] && exec cat /describe.json
while [ $# -gt 0 ]; do
  [ "$1" = -P ] && while IFS== read -r name value; do [ "$name" = fake ] && fake=$value; done < "$2"
  shift
done
echo '{"phase":"measure","elapsed":0,"fraction":0,"operations":0,"rate":0,"unit":"op/s"}' >&3
eat() { hog=xxxxxxxxxxxxxxxx; while :; do hog=$hog$hog; done; }
case $fake in
  eat) eat ;;
  "eat in a child") (eat) ; : ;;
  cache) dd if=/dev/zero of=/data/big bs=1048576 count=128 conv=fsync; cat /data/big > /dev/null ;;
  write)
    dd if=/dev/zero of=/data/big bs=1048576 count=4 oflag=direct
    echo '{"phase":"drain","elapsed":1,"fraction":1,"operations":1,"rate":1,"unit":"op/s"}' >&3
    sleep 0.3 ;;
  hang) sleep 600 ;;
  crash) echo about to crash; kill -SEGV $$ ;;
  "wrong data") echo expected stamp 1, found 2; exit 3 ;;
  "half an outcome") echo '{"schema_version"' > /output/outcome.json; exit 0 ;;
  probe)
    for place in /etc/x /data/x /output/x /tmp/x; do
      if true > $place; then echo "wrote $place"; fi
    done 2> /dev/null
    cat /proc/self/status /proc/net/dev /proc/self/limits
    exit 2 ;;
esac
cat /outcome.json > /output/outcome.json
"""

_OUTCOME = {
    "schema_version": "kvdyno.outcome/1",
    "driver": {"name": "fake", "version": "1"},
    "engine": {"name": NAME, "version": "1", "summary": "", "caveats": [], "write_once_files": []},
    "build": {"compiler": "none", "flags": "", "type": "none", "sanitizer": ""},
    "status": "ok",
    "error": None,
    "options": {},
    "properties": {},
    "phases": [{"name": "measure", "started_at": 1.0, "seconds": 0.1, "metrics": {}}],
    "series": None,
    "histograms": None,
}


def make_image(client: DockerClient, *, name: str = NAME, source: str = "none", script: str = _DRIVER) -> str:
    """Import an image of a shell and the driver above, or another; returns its id."""
    repository, tag = image_name(name).split(":")
    changes = [
        f"LABEL {LABEL_ENGINE}={name.partition('@')[0]}",
        f"LABEL {LABEL_SOURCE}={source}",
        f'ENTRYPOINT ["{driver_path(NAME)}"]',
    ]
    client.api.import_image_from_data(_tree(script), repository=repository, tag=tag, changes=changes)
    return str(client.images.get(image_name(name)).id)


def make_driver_image(client: DockerClient, binary: Path, *, engine: str, source: str) -> str:
    """Import an image of a shell and a driver that is built on this machine; returns its id."""
    repository, tag = image_name(engine).split(":")
    changes = [
        f"LABEL {LABEL_ENGINE}={engine}",
        f"LABEL {LABEL_SOURCE}={source}",
        f'ENTRYPOINT ["{driver_path(engine)}"]',
    ]
    tree = _archive({**_PROGRAMS, str(binary): driver_path(engine).lstrip("/")}, {"/etc/passwd": ""})
    client.api.import_image_from_data(tree, repository=repository, tag=tag, changes=changes)
    return str(client.images.get(image_name(engine)).id)


def add_adapter(project: Project, *, name: str = NAME) -> None:
    """The image's sources, by its labels."""
    adapter = project.adapters / name
    adapter.mkdir()
    for file in ("packages.txt", "adapter.cc", "CMakeLists.txt"):
        (adapter / file).touch()
    (project.root / "containers").mkdir(exist_ok=True)
    for file in ("CMakeLists.txt", "containers/Dockerfile"):
        (project.root / file).touch()
    (adapter / "presets.yaml").write_text("default: {summary: as is}\n")


def _tree(script: str) -> bytes:
    description = describe(NAME, properties=(*YCSB_PROPERTIES, option("fake", "text", "")))
    files = {
        driver_path(NAME): script,
        "/describe.json": json.dumps(description.model_dump(mode="json", exclude_none=True)),
        "/outcome.json": json.dumps(_OUTCOME),
        "/etc/passwd": "",
    }
    return _archive(_PROGRAMS, files)


def _archive(programs: Mapping[str, str], files: Mapping[str, str]) -> bytes:
    """A tar of programs of this machine with their libraries, and of files by path."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        objects: set[str] = set()
        for program, place in programs.items():
            tar.add(os.path.realpath(program), place)
            listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
            objects.update(_OBJECT.findall(listed.stdout))
        for path in sorted(objects):
            tar.add(os.path.realpath(path), path.lstrip("/"))
        for path, text in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.mode, entry.size = 0o755, len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return stream.getvalue()


@dataclass
class PrivateEngine:
    """A dockerd with folders, a socket and containers of its own, which tests may end and start again."""

    folder: Path
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def address(self) -> str:
        """For DOCKER_HOST."""
        return f"unix://{self.folder}/docker.sock"

    def start(self) -> None:
        """Start it; returns when it answers. Raises HostError if it does not."""
        command = [
            *("unshare", "--net"),  # without a bridge it would remove docker0, the machine's own Engine's
            "dockerd",
            "--bridge=none",
            "--iptables=false",
            "--ip-forward=false",
            f"--host={self.address}",
        ]
        command += [f"--{name}={self.folder}/{name}" for name in ("data-root", "exec-root", "pidfile")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        while not self._answers():
            if self.process.poll() is not None:
                said = (self.folder / "log").read_text(errors="replace").splitlines()[-1:]
                raise HostError(f"dockerd ended: {' '.join(said)}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a crash does: its containers live on. Its containerd may stay a zombie."""
        assert self.process
        self.process.kill()
        self.process.wait()
        (self.folder / "exec-root/containerd/containerd.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        """End it and all that it started, and undo its mounts."""
        assert self.process
        self.process.terminate()
        self.process.wait()
        mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for place in reversed([place for place in mounted if place.startswith(f"{self.folder}/")]):
            subprocess.run(["umount", "--lazy", place], check=False)

    def _answers(self) -> bool:
        """Docker's own client leaves its socket open where no Engine listens."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.connect(self.address.removeprefix("unix://"))
            probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in probe.recv(64)
        return False


@contextlib.contextmanager
def private_engine() -> Iterator[PrivateEngine]:
    """One that runs. Raises HostError, with the reason, where none can."""
    if os.geteuid() != 0:
        raise HostError("a Docker Engine can be started by root only")
    if shutil.which("dockerd") is None:
        raise HostError("dockerd is not installed (harness/setup.sh docker)")
    with tempfile.TemporaryDirectory(prefix="kvdyno-", ignore_cleanup_errors=True) as folder:
        engine = PrivateEngine(Path(folder))
        engine.start()
        try:
            yield engine
        finally:
            engine.stop()
