"""What tests of several stages share: the Docker Engine, one of the tests' own where root can start one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest
from docker import DockerClient
from fakes.containers import PrivateEngine, private_engine

from kvdyno.errors import HostError
from kvdyno.host.docker_engine import connect

# Tests need what set-up installs, not versions that take minutes to build.
os.environ["KVDYNO_VERSIONS"] = "system"


@pytest.fixture(scope="session")
def own_engine() -> Iterator[PrivateEngine | HostError]:
    with contextlib.ExitStack() as stack:
        try:
            yield stack.enter_context(private_engine())
        except HostError as reason:
            yield reason


@pytest.fixture
def private(own_engine: PrivateEngine | HostError) -> PrivateEngine:
    """An Engine that the test may end."""
    if isinstance(own_engine, HostError):
        pytest.skip(str(own_engine))
    return own_engine


@pytest.fixture
def client(own_engine: PrivateEngine | HostError, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerClient]:
    if isinstance(own_engine, PrivateEngine):
        monkeypatch.setenv("DOCKER_HOST", own_engine.address)
    try:
        connected = connect()
    except HostError as reason:
        pytest.skip(f"{own_engine}; {reason}")
    with contextlib.closing(connected):
        yield connected
