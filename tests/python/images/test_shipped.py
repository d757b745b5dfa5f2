"""The real Dockerfile and the real base, with the smallest engine: minutes when nothing is cached.

Uses the machine's own Docker Engine, which keeps what it built. KVDYNO_TEST_IMAGES=1 asks for it,
KVDYNO_TEST_IMAGES=versions for a version of LevelDB as well. .ci/run leaves that out: it builds one without
an image.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterator

import pytest
from docker import DockerClient
from docker.models.images import Image

from kvdyno import catalog
from kvdyno.builds import get_archive
from kvdyno.errors import HostError
from kvdyno.host.docker_engine import connect, run_once
from kvdyno.host.libraries import archives_folder
from kvdyno.images import Base, build_engine, find_base, image_states
from kvdyno.images.build import SIZE_BYTES_MAX
from kvdyno.model import image as contract
from kvdyno.model.project import Project
from kvdyno.model.versions import read_versions

ENGINE = "noop"
VERSION = "leveldb@1.23"
WANTED = os.environ.get("KVDYNO_TEST_IMAGES", "")

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        WANTED not in ("1", "versions"), reason="takes minutes: KVDYNO_TEST_IMAGES=1 asks for it"
    ),
]


@pytest.fixture(scope="module")
def machine() -> Iterator[DockerClient]:
    try:
        connected = connect(timeout_seconds=1800)
    except HostError as reason:
        pytest.skip(str(reason))
    yield connected
    connected.close()


@pytest.fixture(scope="module")
def base() -> Base:
    return find_base(Project.find(), say=lambda line: None)


@pytest.fixture(scope="module")
def image(machine: DockerClient, base: Base) -> Image:
    made = build_engine(machine, Project.find(), ENGINE, base=base, say=lambda line: None)
    return machine.images.get(made)


def shell(machine: DockerClient, image: Image, script: str) -> str:
    return run_once(machine, str(image.id), ["sh", "-c", script]).stdout.decode()


def test_it_may_be_measured(machine: DockerClient, image: Image) -> None:
    (state,) = image_states(machine, Project.find(), [ENGINE])
    assert (state.trouble, state.id) == ("", image.id)


def test_it_is_small(image: Image) -> None:
    assert image.attrs["Size"] <= SIZE_BYTES_MAX


def test_it_runs_as_a_user_who_may_write_nowhere_else(machine: DockerClient, image: Image) -> None:
    assert shell(machine, image, "id -u; id -g; id -un").split() == ["10001", "10001", "kvdyno"]
    writable = shell(
        machine, image, "find / -xdev -writable ! -type l ! -path '/proc/*' ! -path '/dev/*' 2>/dev/null"
    )
    assert set(writable.split()) <= {contract.DATA, contract.OUTPUT, "/tmp", "/var/tmp", "/run/lock"}


def test_it_has_no_compiler(machine: DockerClient, image: Image) -> None:
    found = shell(
        machine, image, "for name in c++ g++ gcc cc ld as cmake ninja make; do command -v $name; done; true"
    )
    assert found == ""


def test_it_adds_to_its_base_only_what_it_lists(machine: DockerClient, base: Base, image: Image) -> None:
    """Nothing of this machine's apt configuration above all, and nothing of the sources."""
    below = len(machine.images.get(base.name).attrs["RootFS"]["Layers"])
    added = {name for layer in layers(image)[below:] for name in layer}
    driver = contract.driver_path(ENGINE).lstrip("/")
    assert driver in added
    libraries = {name for name in added if name.startswith("usr/lib/") and ".so." in name}
    folders = {name for name in added if any(other.startswith(f"{name}/") for other in added)}
    assert added - libraries - folders - {driver} == {"etc/group", "etc/passwd", "data", "output"}


@pytest.mark.skipif(
    WANTED != "versions", reason="compiles a library, too: KVDYNO_TEST_IMAGES=versions asks for it"
)
def test_a_version_is_built_from_its_archive(machine: DockerClient, base: Base) -> None:
    here = Project.find()
    listed = read_versions(here).libraries["leveldb"].versions["1.23"]
    archive = get_archive(listed, folder=archives_folder(here), say=lambda line: None)
    build_engine(machine, here, VERSION, base=base, say=lambda line: None, archive=archive)
    engine = catalog.discover(here, runner="docker")[VERSION]
    facts = engine.description.engine.library
    assert facts is not None
    assert (engine.description.engine.version, facts.origin) == ("1.23", "built")
    assert "-O3" in facts.flags or "-O2" in facts.flags


def layers(image: Image) -> list[list[str]]:
    """The names that each layer adds, the lowest layer first."""
    saved = io.BytesIO(b"".join(image.save()))
    with tarfile.open(fileobj=saved) as archive:

        def member(name: str) -> io.BytesIO:
            stream = archive.extractfile(name)
            assert stream
            return io.BytesIO(stream.read())

        (manifest,) = json.load(member("manifest.json"))
        return [tarfile.open(fileobj=member(name)).getnames() for name in manifest["Layers"]]
