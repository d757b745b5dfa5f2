"""The Docker runner against a real Engine, with a driver that is a shell script: every ending is a record.

The Engine is the tests' own where root can start one, so that it may be ended; else the machine's, without
the tests that end it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from docker import APIClient, DockerClient
from fakes.containers import NAME, PrivateEngine, make_image

from kvdyno.errors import EngineError, HostError, Interrupted
from kvdyno.host.owner import LABEL_OWNER, owned_name
from kvdyno.model.image import driver_path
from kvdyno.model.point import Point, Run
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.schema import validate
from kvdyno.runner import Progress, Runner
from kvdyno.runner import docker as docker_module
from kvdyno.runner import docker_cage as cage_module
from kvdyno.runner.cage import wait_until

from .conftest import MIB, Sink, dead_name
from .test_killed import start_harness
from .test_throttle import SLOW_WRITES

pytestmark = pytest.mark.docker


@pytest.fixture
def docker_point(client: DockerClient, point: Point) -> Point:
    image = make_image(client)
    engine = replace(
        point.engine,
        name=NAME,
        binary=Path(driver_path(NAME)),
        binary_sha256=image.removeprefix("sha256:"),
        image=image,
    )
    return replace(point, engine=engine, phases=("measure",), properties={})


def silent(line: Progress) -> None: ...


Enter = Callable[..., contextlib.AbstractContextManager[Runner]]
Execute = Callable[..., Record]


@pytest.fixture
def enter(project: Project, sink: Sink) -> Enter:
    """A runner for Docker, not entered yet."""

    def make(sweep_id: str = "test", *, cpus: tuple[int, ...] | None = None) -> Runner:
        return Runner(project, sweep_id=sweep_id, loads=sink, runners=["docker"], cpus=cpus)

    return make


@pytest.fixture
def execute(enter: Enter, docker_point: Point, tmp_path: Path) -> Execute:
    def run(
        fake: str = "",
        *,
        progress: Callable[[Progress], None] = lambda line: None,
        cpus: tuple[int, ...] | None = None,
        **changes: Any,
    ) -> Record:
        run_dir = tmp_path / "run"
        run_dir.mkdir()
        point = replace(docker_point, properties={"fake": fake} if fake else {}, **changes)
        with enter(cpus=cpus) as runner:
            return runner.execute(Run(point, 1), run_dir=run_dir, order=0, progress=progress)

    return run


def containers(client: DockerClient) -> list[str]:
    return [each["Names"][0].lstrip("/") for each in client.api.containers(all=True)]


def test_a_good_run_is_a_valid_record(
    client: DockerClient, execute: Execute, docker_point: Point, tmp_path: Path
) -> None:
    seen: list[Progress] = []
    record = execute(progress=seen.append)
    assert (record.status, record.failure) == ("ok", None)
    validate(record.model_dump(mode="json"), schema="record", where="record")
    assert [line.phase for line in seen] == ["measure"]
    assert record.runner.name == "docker"
    assert record.runner.capped
    details = record.runner.details
    assert details["image"] == docker_point.engine.image
    assert details["container_engine"].endswith(client.version()["Version"])
    assert details["seccomp"]
    assert details["peak_bytes"] > 0
    assert not containers(client)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "driver.log",
        "outcome.json",
        "point.properties",
    ]
    assert {path.stat().st_uid for path in (tmp_path / "run").iterdir()} == {os.geteuid()}


@pytest.mark.parametrize(
    ("fake", "status", "said"),
    [
        ("crash", "crash", "SIGSEGV"),
        ("wrong data", "wrong_data", "expected stamp 1, found 2"),
        ("half an outcome", "failed", "outcome"),
        ("eat", "out_of_memory", "cap of 64 MiB"),
        ("eat in a child", "out_of_memory", "cap of 64 MiB"),
    ],
)
def test_bad_endings_are_failures_with_reasons(execute: Execute, fake: str, status: str, said: str) -> None:
    record = execute(fake)
    assert record.status == status
    assert record.failure
    assert said in record.failure.reason
    assert (record.outcome is not None) == (fake == "eat in a child"), "its driver ended well"


def test_a_crash_keeps_the_end_of_the_log(execute: Execute) -> None:
    record = execute("crash")
    assert record.failure
    assert "about to crash" in record.failure.log_tail


def test_page_cache_that_fills_the_cap_is_no_failure(execute: Execute) -> None:
    record = execute("cache")
    assert record.status == "ok"
    assert 60 * MIB < record.runner.details["peak_bytes"] <= 64 * MIB, "charged inside, and the cap binds"


def test_a_hanging_driver_times_out(execute: Execute) -> None:
    record = execute("hang", timeout_seconds=0.5)
    assert record.status == "timeout"


def test_a_slow_disk_is_slow_and_is_counted(execute: Execute) -> None:
    record = execute("write", device=SLOW_WRITES)
    assert record.status == "ok"
    assert record.runner.details["seconds"] > 0.5, "the rule lets far less through at once"
    phases = {each["phase"]: each for each in record.runner.details["phases"]}
    assert list(phases) == ["measure", "drain"]
    # On cgroup v1 the store is on a disk of its own, whose counters are the run's.
    assert sum(each.get("io_write_bytes", each["disk_write_bytes"]) for each in phases.values()) >= 4 * MIB
    held = record.runner.details["device_held"]["write_bytes_per_second"]
    assert held["held"], held
    assert held["highest"] > 0.5 * MIB
    assert phases["drain"]["anonymous_bytes"] > 0


def test_the_driver_may_do_next_to_nothing(execute: Execute, tmp_path: Path) -> None:
    execute("probe")
    said = (tmp_path / "run" / "driver.log").read_text()
    assert [line for line in said.splitlines() if line.startswith("wrote")] == [
        "wrote /data/x",
        "wrote /output/x",
        "wrote /tmp/x",
    ]
    for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in said
    assert "Uid:\t0\t" not in said
    assert "eth" not in said, "there is no network"


def test_the_driver_has_its_cpus_and_the_harness_open_files(execute: Execute, tmp_path: Path) -> None:
    last = max(os.sched_getaffinity(0))
    execute("probe", cpus=(last,))
    said = (tmp_path / "run" / "driver.log").read_text()
    assert f"Cpus_allowed_list:\t{last}\n" in said
    (files,) = (line.split()[3:5] for line in said.splitlines() if line.startswith("Max open files"))
    assert set(files) == {str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])}


def test_folders_that_may_not_be_written_are_named(execute: Execute, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's containers are the user's own")
    monkeypatch.setattr(cage_module, "give", lambda places, owner: None)
    record = execute()
    assert record.status == "failed"
    assert record.failure
    assert "may not write to the folders mounted at /data and /output" in record.failure.reason


def test_a_kill_from_outside_is_no_crash(client: DockerClient, execute: Execute) -> None:
    record = execute("hang", progress=lambda line: client.api.kill(containers(client)[0]))
    assert record.status == "failed"
    assert record.failure
    assert "SIGKILL from outside" in record.failure.reason


def test_a_removed_container_is_reported(client: DockerClient, execute: Execute) -> None:
    record = execute(
        "hang", progress=lambda line: client.api.remove_container(containers(client)[0], force=True)
    )
    assert record.status == "failed"
    assert record.failure
    assert "removed from outside" in record.failure.reason


def test_a_container_whose_removal_has_begun_is_reported(
    client: DockerClient, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Engine kills what runs in it, and takes its time to remove the rest."""
    inspect = APIClient.inspect_container

    def slow(api: APIClient, name: str) -> dict[str, Any]:
        found = inspect(api, name)
        if not found["State"]["Running"]:
            found["State"]["Status"] = "removing"
        return found

    monkeypatch.setattr(APIClient, "inspect_container", slow)
    record = execute("hang", progress=lambda line: client.api.kill(containers(client)[0]))
    assert record.failure
    assert "removed from outside" in record.failure.reason


def test_a_colon_in_the_data_path_is_no_separator(
    client: DockerClient, docker_point: Point, sink: Sink, project: Project, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run:1"
    run_dir.mkdir()
    elsewhere = replace(project, data=tmp_path / "data: of a disk, ro")
    with Runner(elsewhere, sweep_id="test", loads=sink, runners=["docker"]) as runner:
        record = runner.execute(Run(docker_point, 1), run_dir=run_dir, order=0, progress=silent)
    assert (record.status, record.failure) == ("ok", None)


def test_an_image_that_has_gone_ends_the_sweep(execute: Execute, docker_point: Point) -> None:
    gone = replace(docker_point.engine, image="sha256:" + "0" * 64)
    with pytest.raises(EngineError, match="its image has gone") as raised:
        execute(engine=gone)
    assert "make images" in str(raised.value.remedy)


def test_ctrl_c_leaves_no_container(client: DockerClient, execute: Execute, project: Project) -> None:
    def interrupt(line: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        execute("hang", progress=interrupt)
    assert not containers(client)
    assert not list((project.data / "work").glob("*/store"))


def test_a_warm_store_is_read_inside_the_container(execute: Execute, loaded_point: Point) -> None:
    record = execute(dataset=loaded_point.dataset, cache="warm")
    assert record.status == "ok", record.failure
    assert record.runner.details["cache_policy"] == "warm"


def test_a_load_and_a_run_from_its_snapshot(
    execute: Execute, docker_point: Point, loaded_point: Point, sink: Sink
) -> None:
    record = execute(dataset=loaded_point.dataset)
    assert record.status == "ok"
    assert [load.status for load in sink.records] == ["ok"]


def test_what_a_killed_harness_leaves_ends_by_itself_and_is_removed(
    client: DockerClient, enter: Enter, docker_point: Point, project: Project, tmp_path: Path
) -> None:
    job = project, Run(replace(docker_point, properties={"fake": "hang"}), 1), False, ["docker"]
    with start_harness(tmp_path, job) as harness:
        assert harness.stdout
        assert "measure" in harness.stdout.readline()
        harness.kill()
        harness.stdout.close()
    [left] = containers(client)
    wait_until(
        lambda: not client.api.inspect_container(left)["State"]["Running"],
        seconds=20,
        failure="the driver outlives its harness",
    )
    with enter("next") as runner:
        assert left in runner.removed_leftovers
    assert not containers(client)


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {LABEL_OWNER: owned_name("living")},
        {LABEL_OWNER: dead_name(namespace=1)},
    ],
)
def test_what_others_own_stays(
    client: DockerClient, enter: Enter, docker_point: Point, labels: dict[str, str]
) -> None:
    container = client.containers.create(docker_point.engine.image, labels=labels)
    try:
        with enter() as runner:
            assert runner.removed_leftovers == ()
        assert container.name in containers(client)
    finally:
        container.remove()


def test_a_paused_leftover_is_removed(client: DockerClient, enter: Enter, docker_point: Point) -> None:
    container = client.containers.create(
        docker_point.engine.image,
        labels={LABEL_OWNER: dead_name()},
        entrypoint=["/bin/sleep", "600"],
        network_mode="none",
    )
    container.start()
    container.pause()
    with enter() as runner:
        assert container.name in runner.removed_leftovers
    assert not containers(client)


# Docker's own client leaves its socket open where no Engine listens any more.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestAnEngineThatGoesAway:
    @pytest.fixture(autouse=True)
    def _no_socket_left(self) -> Iterator[None]:
        yield
        gc.collect()

    def test_takes_one_run_with_it(
        self, client: DockerClient, private: PrivateEngine, enter: Enter, docker_point: Point, tmp_path: Path
    ) -> None:
        back = threading.Thread(target=private.start)

        def crash(line: Progress) -> None:
            private.kill()
            back.start()

        for name in ("first", "second"):
            (tmp_path / name).mkdir()
        hanging = replace(docker_point, properties={"fake": "hang"})
        with enter() as runner:
            lost = runner.execute(Run(hanging, 1), run_dir=tmp_path / "first", order=0, progress=crash)
            good = runner.execute(Run(docker_point, 1), run_dir=tmp_path / "second", order=1, progress=silent)
        back.join()
        assert lost.status == "failed"
        assert lost.failure
        assert "the Docker Engine went away" in lost.failure.reason
        assert good.status == "ok"
        assert not containers(client)

    def test_and_stays_away_ends_the_sweep(
        self,
        private: PrivateEngine,
        enter: Enter,
        docker_point: Point,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(docker_module, "GRACE_SECONDS", 0.1)
        with enter() as runner:
            private.kill()
            try:
                with pytest.raises(HostError, match="was not back within") as raised:
                    runner.execute(Run(docker_point, 1), run_dir=tmp_path, order=0, progress=silent)
            finally:
                private.start()
        assert "goes on where it stopped" in str(raised.value.remedy)
