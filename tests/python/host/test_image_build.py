"""The size of a build in an image: that of the same build on this machine."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker import DockerClient
from docker.errors import APIError
from fakes.containers import make_driver_image

from kvdyno.errors import EngineError
from kvdyno.host import image_build
from kvdyno.host.build import build_bytes
from kvdyno.host.image_build import image_bytes

MEMORY = Path(os.environ.get("KVDYNO_BUILD", Path(__file__).parents[3] / "build")) / "bin" / "kvdyno-memory"


class ThisMachine:
    """A Docker Engine whose every image is this machine: its containers are processes and files of it."""

    def __init__(self) -> None:
        self.containers = self
        self.left = 0

    def create(self, _: str, *, entrypoint: Sequence[str], environment: Mapping[str, str], **__: Any) -> Any:
        self.left += 1
        done: list[bytes] = []

        def start() -> None:
            try:
                shown = subprocess.run(entrypoint, env=dict(environment), stdout=subprocess.PIPE, check=True)
            except FileNotFoundError as error:
                raise APIError("400", explanation=f"no such program {entrypoint[0]}") from error
            done.append(shown.stdout)

        return SimpleNamespace(
            start=start,
            wait=lambda timeout: {"StatusCode": 0},
            logs=lambda stdout=True, stderr=True: done[0] if stdout else b"",
            get_archive=lambda path: (archive(path), {}),
            remove=self.remove,
        )

    def remove(self, *, force: bool) -> None:
        self.left -= force

    def close(self) -> None:
        assert not self.left


def archive(path: str) -> Iterable[bytes]:
    """As the Engine packs it: a link is packed as a link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(path, Path(path).name)
    content = packed.getvalue()
    return (content[at : at + 65536] for at in range(0, len(content), 65536))


@pytest.fixture
def this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_build, "connect", ThisMachine)


@pytest.mark.usefixtures("this_machine")
class TestImageBytes:
    def test_code_and_data_of_the_driver_and_its_libraries_count(self, tmp_path: Path) -> None:
        assert image_bytes("any", MEMORY) == build_bytes(MEMORY)
        link = tmp_path / "kvdyno-memory"
        link.symlink_to(MEMORY)
        assert image_bytes("any", link) == build_bytes(MEMORY)

    def test_a_driver_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        nowhere = tmp_path / "driver"
        with pytest.raises(EngineError, match=f"the size of {nowhere} cannot be read: no such program"):
            image_bytes("any", nowhere)


@pytest.mark.docker
def test_a_driver_has_the_same_size_in_an_image(client: DockerClient) -> None:
    image = make_driver_image(client, MEMORY, engine="memory", source="none")
    assert image_bytes(image, Path("/usr/local/bin/kvdyno-memory")) == build_bytes(MEMORY)
    assert not client.api.containers(all=True)
