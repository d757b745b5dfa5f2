"""What sweeps share, whatever they see of the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.engines import catalog

from kvdyno.errors import BusyError
from kvdyno.model.project import Project
from kvdyno.pipeline import locking
from kvdyno.pipeline.locking import machine_places, sweep_lock
from kvdyno.pipeline.selftest import compare_tools
from kvdyno.runner import cgroup_root


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(root=tmp_path, results=tmp_path / "results", data=tmp_path / "data")


def test_the_machines_cgroups_are_among_them() -> None:
    """A container with the machine's cgroups sees them, but has a /run/lock of its own."""
    assert cgroup_root() in (*machine_places(), None)


def test_folders_that_do_not_exist_need_no_lock(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "machine_places", lambda: (tmp_path / "lock",))
    with sweep_lock(project):
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_the_data_folder_is_guarded_whatever_the_machine(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(locking, "machine_places", lambda: (tmp_path / "lock",))
    with sweep_lock(replace(project, data=tmp_path / "ours")):
        with pytest.raises(BusyError), sweep_lock(replace(project, data=tmp_path / "theirs")):
            pass
        monkeypatch.setattr(locking, "machine_places", lambda: ())
        with sweep_lock(replace(project, data=tmp_path / "theirs")):
            pass
        with pytest.raises(BusyError), sweep_lock(replace(project, data=tmp_path / "ours")):
            pass


def test_tools_are_not_compared_beside_a_sweep(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "machine_places", lambda: (tmp_path / "lock",))
    stores = project.data / "work" / "agreement" / "ours"
    stores.mkdir(parents=True)
    engine = next(iter(catalog().values()))
    with sweep_lock(project), pytest.raises(BusyError):
        compare_tools(project, engine=engine, tool=lambda store: pytest.fail("ran"), repetitions=3, say=print)
    assert stores.exists(), "another self-test may work there"
