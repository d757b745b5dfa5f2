"""The laws are sharp enough to see a generator that is slightly wrong, and sound ones pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from docker import DockerClient
from fakes.containers import make_driver_image, make_image

from kvdyno.errors import EngineError, HostError
from kvdyno.model.image import driver_path
from kvdyno.model.project import Project
from kvdyno.selftest.generators import check_generators, chi_square


def _driver() -> Path:
    return Project.find().binaries / "kvdyno-noop"


def test_the_drivers_generators_follow_their_laws() -> None:
    checks = check_generators(_driver())
    assert len(checks) >= 9
    assert [check for check in checks if not check.holds(checks=len(checks))] == []


@pytest.mark.parametrize(("theta", "holds"), [(0.8, True), (0.81, False), (0.79, False)])
def test_a_skew_that_is_off_by_a_hundredth_fails(theta: float, holds: bool) -> None:
    weights = np.arange(1, 1001, dtype=float) ** -0.8
    drawn = np.arange(1, 1001, dtype=float) ** -theta
    rng = np.random.default_rng(3)
    counts = rng.multinomial(1_000_000, drawn / drawn.sum())
    assert chi_square("zipf", counts, weights / weights.sum()).holds(checks=10) == holds


def test_p_values_of_sound_draws_are_uniform() -> None:
    law = np.arange(1, 301, dtype=float) ** -0.8
    rng = np.random.default_rng(4)
    p = [chi_square("zipf", rng.multinomial(20_000, law / law.sum()), law).p for _ in range(400)]
    assert 0.45 < np.mean(p) < 0.55
    assert np.mean(np.array(p) < 0.05) < 0.09


def _script(folder: Path, text: str) -> Path:
    path = folder / "kvdyno-fake"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_driver_that_cannot_draw_is_named(tmp_path: Path) -> None:
    old = _script(tmp_path, "echo 'kvdyno-fake: --draw: expected a flag' >&2; exit 1")
    with pytest.raises(EngineError, match="expected draws, found: kvdyno-fake: --draw") as caught:
        check_generators(old)
    assert str(old) in str(caught.value)
    with pytest.raises(EngineError, match="cannot be asked"):
        check_generators(tmp_path / "absent")


def test_a_driver_that_favours_a_key_fails(tmp_path: Path) -> None:
    rows = "\\n".join(f"key,{key},{50 if key else 4000}" for key in range(20_000))
    biased = _script(tmp_path, f"printf 'what,name,times\\noperation,read,1000\\n{rows}\\n'")
    first = check_generators(biased)[0]
    assert first.name == "keys of uniform"
    assert not first.holds(checks=10)


@pytest.mark.docker
def test_a_driver_draws_in_its_image(client: DockerClient) -> None:
    image = make_driver_image(client, _driver(), engine="noop", source="none")
    checks = check_generators(Path(driver_path("noop")), image=image)
    assert [check.name for check in checks] == [check.name for check in check_generators(_driver())]
    assert all(check.holds(checks=len(checks)) for check in checks)
    assert not client.api.containers(all=True)


@pytest.mark.docker
def test_an_image_that_is_absent_or_cannot_draw_is_named(client: DockerClient) -> None:
    binary = Path(driver_path("noop"))
    with pytest.raises(EngineError, match=r"cannot be asked for draws: .*[Nn]o such image") as caught:
        check_generators(binary, image="sha256:" + "0" * 64)
    assert (caught.value.remedy, f"in sha256:{'0' * 64}" in str(caught.value)) == ("make images", True)
    silent = make_image(client, script="#!/bin/sh\necho no draws here >&2\nexit 7\n")
    with pytest.raises(EngineError, match="expected draws, found: no draws here"):
        check_generators(Path(driver_path("shelldb")), image=silent)
    assert not client.api.containers(all=True)


def test_an_engine_that_has_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(HostError, match="no Docker Engine answers"):
        check_generators(Path(driver_path("noop")), image="sha256:0")
