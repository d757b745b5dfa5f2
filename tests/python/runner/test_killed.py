"""A harness killed in mid-run: its driver dies with it, and the next sweep removes all that it left."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fakes.groups import groups_like

from kvdyno.model.point import Point, Run
from kvdyno.model.project import Project
from kvdyno.runner import Runner
from kvdyno.runner.cage import wait_until
from kvdyno.store import RunStore

from .conftest import Sink, can_cap, is_dead

HARNESS = """
import pickle, sys
from pathlib import Path
from kvdyno.runner import Runner
from kvdyno.store import RunStore

project, run, uncapped, runners = pickle.loads(Path(sys.argv[1]).read_bytes())
store = RunStore(project.runs)
with Runner(project, sweep_id="killed", loads=store, uncapped=uncapped, runners=runners) as runner:
    run_dir = store.begin(run)
    store.commit(runner.execute(run, run_dir=run_dir, order=1, progress=print), run_dir=run_dir)
"""


def start_harness(tmp_path: Path, job: object, *, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    """`before` stands before the harness's command line."""
    (tmp_path / "job").write_bytes(pickle.dumps(job))
    (tmp_path / "harness.py").write_text(HARNESS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    command = [*before, sys.executable, str(tmp_path / "harness.py"), str(tmp_path / "job")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_kill_9_in_mid_run_loses_that_run_only(
    project: Project, sink: Sink, loaded_point: Point, tmp_path: Path
) -> None:
    pid_file = tmp_path / "driver.pid"
    hanging = Run(replace(loaded_point, properties={"fake": "hang", "fake.pid": str(pid_file)}), 1)
    with start_harness(tmp_path, (project, hanging, not can_cap(), ["local"])) as harness:
        assert harness.stdout
        for line in harness.stdout:
            if "measure" in line and pid_file.exists():
                break
        harness.kill()
        harness.stdout.close()
    driver = int(pid_file.read_text())
    wait_until(lambda: is_dead(driver), seconds=20, failure="the driver outlives its harness")
    store = RunStore(project.runs)
    assert [r.point.slug for r in store.records()] == ["fake.5KB.load"], "what was finished is kept"
    assert not store.corrupt_records()
    assert len(store.abandoned()) == 1
    [left] = (project.data / "work").iterdir()

    with Runner(project, sweep_id="next", loads=sink, uncapped=not can_cap()) as runner:
        assert left.name in runner.removed_leftovers
        if can_cap():
            assert not groups_like(f"{left.name}*")
        assert not left.exists()
        assert len(store.clean()) == 1
        run = Run(loaded_point, 1)
        record = runner.execute(run, run_dir=store.begin(run), order=1, progress=lambda line: None)
    assert record.status == "ok"
    assert not sink.records, "the snapshot that the killed sweep had finished is used"
