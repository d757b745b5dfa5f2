"""`make cluster`: the tests' cluster, to try sweeps on it by hand until Ctrl-C."""

from __future__ import annotations

import shutil
import signal
import sys
import threading

from cli.conftest import REPOSITORY

from .slurm import TestCluster, missing

_FOLDER = REPOSITORY / "build" / "cluster"


def main(hosts: int) -> int:
    """Start it, say how to use it, wait, stop it. Fails where Slurm cannot run."""
    if reason := missing():
        print(f"error: {reason}", file=sys.stderr)
        return 5
    if _FOLDER.exists():
        print(
            f"error: a cluster runs here, or was killed: {_FOLDER}; remove it if none runs", file=sys.stderr
        )
        return 5
    _FOLDER.mkdir(parents=True)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    names = tuple(f"host{number}" for number in range(1, hosts + 1))
    cluster = TestCluster(_FOLDER / "slurm", _FOLDER / "data", names=names)
    for data in (cluster.data, *(cluster.folder / "hosts" / name / "data" for name in names)):
        data.mkdir(parents=True)
        (data / "engines").symlink_to(REPOSITORY / ".kvdyno" / "engines")
    try:
        cluster.start()
        _say(cluster)
        ended.wait()
    finally:
        cluster.stop()
        shutil.rmtree(_FOLDER)
    return 0


def _say(cluster: TestCluster) -> None:
    conf, data = cluster.environment["SLURM_CONF"], cluster.data
    (_FOLDER / "env").write_text(
        f"export SLURM_CONF='{conf}' KVDYNO_DATA='{data}' PATH=\"$PATH:/usr/sbin\"\n"
    )
    print(
        f"{', '.join(cluster.names)} take jobs. In another terminal:\n\n"
        f"  . {_FOLDER.relative_to(REPOSITORY)}/env\n"
        f"  .venv/bin/kvdyno run quickstart --runner slurm --hosts {len(cluster.names)}\n\n"
        "Ctrl-C ends the cluster, with all that runs on it.",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
