"""Change points: the revisions from which on a track is another, as apache-otava finds them.

Otava (Fleming and others: Hunter, ICPE 2023) splits a series where both sides differ most, and keeps the
splits that a t-test finds significant. It runs as a program in an environment of its own.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ruamel.yaml import YAML

from kvdyno.errors import HostError
from kvdyno.model.history import Change, Entry, Track

from .tracks import ordered

#: With fewer entries, a side of a split has too few for a test at otava's level.
LEAST_ENTRIES = 6
_SECONDS = 300
_BEFORE_ALL = "1970-01-02"
_FIRST_DAY = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)


def change_points(entries: Iterable[Entry], *, program: Path) -> tuple[Change, ...]:
    """The change points of every track that has enough entries, in the order of tracks and of time.

    A track whose entries all have a ratio to one anchor is judged by that, any other by its values. `program`
    is otava's. Raises HostError when it is missing or fails.
    """
    if not program.is_file():
        raise HostError("apache-otava is not installed", where=str(program), remedy="harness/setup.sh otava")
    tracks = {
        f"track{number}": (track, mine)
        for number, (track, mine) in enumerate(ordered(entries).items())
        if len(mine) >= LEAST_ENTRIES
    }
    if not tracks:
        return ()
    with tempfile.TemporaryDirectory(prefix="kvdyno-otava-") as folder:
        said = _run(program, {name: _values(mine) for name, (_, mine) in tracks.items()}, Path(folder))
    return tuple(change for name, found in said.items() for change in _changes(*tracks[name], found))


def _values(entries: Sequence[Entry]) -> list[float]:
    anchors = {entry.anchor for entry in entries}
    if len(anchors) == 1 and anchors != {""} and all(entry.ratio for entry in entries):
        return [entry.ratio or 0.0 for entry in entries]
    return [entry.value for entry in entries]


def _run(program: Path, series: dict[str, list[float]], folder: Path) -> dict[str, list[dict[str, str]]]:
    """Otava's change points of each series."""
    tests = {}
    for name, values in series.items():
        file = folder / f"{name}.csv"
        file.write_text(_table(values), "utf-8")
        tests[name] = {
            "type": "csv", "file": str(file), "time_column": "time",
            "metrics": {"value": {"direction": 1, "scale": 1}},
        }  # fmt: skip
    config = folder / "otava.yaml"
    with config.open("w", encoding="utf-8") as stream:
        YAML(typ="safe").dump({"tests": tests}, stream)
    command = [str(program), "analyze", *series, "--config-file", str(config), "--output", "json"]
    done = subprocess.run(
        [*command, "--since", _BEFORE_ALL],
        capture_output=True, text=True, check=False, timeout=_SECONDS, cwd=folder,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(lines) != len(series):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise HostError(f"apache-otava ended with {done.returncode}: {last}", where=str(program))
    return {
        name: [change for point in points for change in point["changes"]]
        for line in lines
        for name, points in json.loads(line).items()
    }


def _table(values: Sequence[float]) -> str:
    """Otava needs a time for each row. Days: only the order counts, and two entries may share a moment."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["time", "value"])
    for number, value in enumerate(values):
        day = _FIRST_DAY + datetime.timedelta(days=number)
        writer.writerow([day.strftime("%Y-%m-%d %H:%M:%S %z"), repr(value)])
    return text.getvalue()


def _changes(track: Track, entries: Sequence[Entry], found: Iterable[dict[str, str]]) -> Iterable[Change]:
    for each in found:
        before, after = float(each["mean_before"]), float(each["mean_after"])
        yield Change(track, entries[int(each["index"])].revision, after / before if before else None)
