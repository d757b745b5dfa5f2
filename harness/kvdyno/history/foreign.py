"""The files of other tools: what they hold as entries, and entries as what they read.

- RocksDB's reports: the tab-separated report.tsv that tools/benchmark.sh writes and benchmark_compare.sh
  collects, a row per test and version;
- Bencher's metric format: {benchmark: {measure: {"value", "lower_value", "upper_value"}}};
- github-action-benchmark: a list of {"name", "unit", "value", "range"}, and its data.js of many commits.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

from kvdyno.errors import StoreError
from kvdyno.model.history import Entry
from kvdyno.model.schema import parse_json

Format = Literal["rocksdb", "bencher", "github"]

#: report.tsv's columns, in its order.
_COLUMNS = (
    *("ops_sec", "mb_sec", "lsm_sz", "blob_sz", "c_wgb", "w_amp", "c_mbps", "c_wsecs", "c_csecs"),
    *("b_rgb", "b_wgb", "usec_op", "p50", "p99", "p99.9", "p99.99", "pmax", "uptime"),
    *("stall%", "Nstall", "u_cpu", "s_cpu", "rss", "test", "date", "version", "job_id"),
)
#: Those that are kept: our metric, its unit, and what the column's numbers are multiplied by.
_KEPT: Mapping[str, tuple[str, str, float]] = {
    "ops_sec": ("throughput", "op/s", 1),
    "w_amp": ("rocksdb.w_amp", "ratio", 1),
    "usec_op": ("rocksdb.usec_op", "us", 1),
    "p50": ("rocksdb.p50", "us", 1),
    "p99": ("rocksdb.p99", "us", 1),
    "p99.9": ("rocksdb.p99.9", "us", 1),
    "p99.99": ("rocksdb.p99.99", "us", 1),
    "pmax": ("rocksdb.pmax", "us", 1),
    "stall%": ("rocksdb.stall_share", "ratio", 0.01),
    "u_cpu": ("rocksdb.user_seconds", "s", 1000),
    "s_cpu": ("rocksdb.system_seconds", "s", 1000),
}
_SCRIPT = "window.BENCHMARK_DATA"
_NAMED = re.compile(r"(?P<subject>[^/]+)/(?P<suite>[^/]+)/(?P<point>[^/]+)/(?P<metric>[^/]+)")


def import_text(text: str, *, name: str, host: str, at: str, revision: str | None) -> tuple[Entry, ...]:
    """The entries of a file called `name`, of whichever format it is.

    `host` names the machine that measured. `at` and `revision` complete files that have none of their own.
    Raises StoreError for a file of none of the formats, for a damaged one, and where a revision is needed.
    """
    found = _Imported(name, host=host, at=at, revision=revision)
    if text.lstrip().startswith(_SCRIPT):
        script = text.partition("=")[2].strip().rstrip(";")
        entries = tuple(found.of_commits(parse_json(script, where=name)))
    elif text.lstrip()[:1] in ("{", "["):
        entries = tuple(found.of_json(parse_json(text, where=name)))
    else:
        entries = tuple(found.of_report(text))
    if not entries:
        raise StoreError("expected measurements, found none", where=name)
    return entries


def export_text(entries: Sequence[Entry], *, form: Format) -> str:
    """The entries in another tool's form. Those of Bencher and GitHub hold one revision: the last is taken
    of each benchmark.
    """
    if form == "rocksdb":
        return _report(entries)
    last = {(_benchmark(each), each.metric): each for each in entries}
    if form == "bencher":
        document: dict[str, dict[str, Any]] = {}
        for (benchmark, metric), entry in last.items():
            document.setdefault(benchmark, {})[metric] = _bencher(entry)
        return json.dumps(document, indent=1) + "\n"
    return (
        json.dumps([_github(f"{benchmark}/{metric}", e) for (benchmark, metric), e in last.items()], indent=1)
        + "\n"
    )


class _Imported:
    """Entries of one file."""

    def __init__(self, name: str, *, host: str, at: str, revision: str | None) -> None:
        self._name, self._host, self._at, self._revision = name, host, at, revision
        self._stem = PurePath(name).stem

    def of_report(self, text: str) -> Iterator[Entry]:
        """RocksDB's table; lines that begin with # explain its columns."""
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        rows = csv.DictReader(lines, delimiter="\t")
        missing = [name for name in ("ops_sec", "test", "version") if name not in (rows.fieldnames or ())]
        if missing:
            raise StoreError(
                "expected a report.tsv of RocksDB, JSON of Bencher or of github-action-benchmark; "
                f"found a file without the column {missing[0]!r}",
                where=self._name,
            )
        for number, row in enumerate(rows, 1):
            if not row["test"] or not row["version"]:
                raise StoreError("expected a test and a version", where=f"{self._name}, row {number}")
            for column, (metric, unit, factor) in _KEPT.items():
                if (value := _number(row.get(column))) is not None:
                    yield Entry(
                        at=_iso(row.get("date")) or self._at, host=self._host, revision=row["version"],
                        subject="rocksdb", suite=row.get("job_id") or self._stem, point=row["test"],
                        metric=metric, unit=unit, value=value * factor, source=self._name,
                    )  # fmt: skip

    def of_json(self, document: Any) -> Iterator[Entry]:
        """Bencher's object, or a list or object of github-action-benchmark."""
        if isinstance(document, list):
            yield from self.of_benches(document, suite=self._stem, at=self._at, revision=self._demanded())
        elif isinstance(document, dict) and isinstance(document.get("entries"), dict):
            yield from self.of_commits(document)
        elif isinstance(document, dict):
            revision = self._demanded()
            for benchmark, measures in document.items():
                for measure, found in self._object(measures, benchmark).items():
                    values = self._object(found, f"{benchmark}: {measure}")
                    ends = (_number(values.get(key)) for key in ("lower_value", "upper_value"))
                    yield self._entry(
                        f"{benchmark}/{measure}", values.get("value"), ends=tuple(ends), unit="",
                        suite=self._stem, at=self._at, revision=revision,
                    )  # fmt: skip

    def of_commits(self, document: Any) -> Iterator[Entry]:
        """The data of github-action-benchmark: suites of commits."""
        for suite, commits in self._object(self._object(document, "file").get("entries"), "entries").items():
            for number, each in enumerate(commits, 1):
                place = f"{suite}, entry {number}"
                commit = self._object(self._object(each, place).get("commit"), place)
                date = datetime.datetime.fromtimestamp(float(each.get("date", 0)) / 1000, datetime.UTC)
                yield from self.of_benches(
                    each.get("benches", ()),
                    suite=suite,
                    at=date.isoformat(),
                    revision=str(commit.get("id"))[:12],
                )

    def of_benches(self, benches: Iterable[Any], *, suite: str, at: str, revision: str) -> Iterator[Entry]:
        """A list of github-action-benchmark. A range is a half-width, such as "± 3.2"."""
        for number, each in enumerate(benches, 1):
            bench = self._object(each, f"{suite}, bench {number}")
            half = _number(str(bench.get("range", "")).lstrip("±+-/ "))
            value = _number(bench.get("value"))
            ends = (value - half, value + half) if value is not None and half is not None else (None, None)
            unit = str(bench.get("unit", ""))
            yield self._entry(
                str(bench.get("name")), value, ends=ends, unit=unit, suite=suite, at=at, revision=revision
            )

    def _entry(
        self,
        name: str,
        value: Any,
        *,
        ends: tuple[float | None, ...],
        unit: str,
        suite: str,
        at: str,
        revision: str,
    ) -> Entry:
        """A benchmark's entry. What kvdyno exported has its own names again."""
        number = _number(value)
        if number is None:
            raise StoreError(f"expected a number as the value of {name!r}, found {value!r}", where=self._name)
        ours = _NAMED.fullmatch(name)
        benchmark, _, metric = name.rpartition("/")
        return Entry(
            at=at, host=self._host, revision=revision,
            subject=ours["subject"] if ours else self._stem,
            suite=ours["suite"] if ours else suite,
            point=ours["point"] if ours else benchmark or name,
            metric=ours["metric"] if ours else metric,
            unit=unit, value=number, low=ends[0], high=ends[1], source=self._name,
        )  # fmt: skip

    def _object(self, found: Any, place: str) -> dict[str, Any]:
        if not isinstance(found, dict):
            raise StoreError(f"{place}: expected an object, found {type(found).__name__}", where=self._name)
        return found

    def _demanded(self) -> str:
        if self._revision is None:
            raise StoreError(
                "the file does not say which revision it measured",
                where=self._name,
                remedy="name it: --revision",
            )
        return self._revision


def _number(text: Any) -> float | None:
    """The number, if it is one; tables have "na" and empty cells."""
    if isinstance(text, bool) or text is None:
        return None
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _iso(text: str | None) -> str | None:
    """report.tsv's date, such as 2022-01-26T18:38:17.000, as UTC; None if it is none."""
    try:
        found = datetime.datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found.replace(tzinfo=found.tzinfo or datetime.UTC).astimezone(datetime.UTC).isoformat()


def _benchmark(entry: Entry) -> str:
    return f"{entry.subject}/{entry.suite}/{entry.point}"


def _bencher(entry: Entry) -> dict[str, float]:
    ends = {"lower_value": entry.low, "upper_value": entry.high}
    return {"value": entry.value, **{key: end for key, end in ends.items() if end is not None}}


def _github(name: str, entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "unit": entry.unit, "value": entry.value}
    if entry.low is not None and entry.high is not None:
        found["range"] = f"± {max(entry.high - entry.value, entry.value - entry.low):.6g}"
    return {**found, "extra": f"revision {entry.revision}, n = {entry.n}, host {entry.host}"}


def _report(entries: Sequence[Entry]) -> str:
    """A row per test and version, with the columns that our metrics have."""
    names = {metric: (column, factor) for column, (metric, _, factor) in _KEPT.items()}
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in entries:
        if entry.metric in names:
            column, factor = names[entry.metric]
            key = (entry.subject, entry.suite, entry.point, entry.revision)
            row = rows.setdefault(
                key,
                {
                    "test": entry.point,
                    "date": entry.at[:19],
                    "version": entry.revision,
                    "job_id": entry.suite,
                },
            )
            row[column] = f"{entry.value / factor:.6g}"
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=_COLUMNS, delimiter="\t", lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows.values())
    return out.getvalue()
