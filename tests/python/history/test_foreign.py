"""Files of other tools: read, written, and refused."""

from __future__ import annotations

import json

import pytest

from kvdyno.errors import StoreError
from kvdyno.history import Format, export_text, import_text
from kvdyno.model.history import Entry

#: The columns and comments of tools/benchmark.sh; two versions of one test, one cell without a number.
REPORT = """\
# ops_sec - operations per second
# u_cpu - #seconds/1000 of user CPU
ops_sec\tmb_sec\tlsm_sz\tblob_sz\tc_wgb\tw_amp\tc_mbps\tc_wsecs\tc_csecs\tb_rgb\tb_wgb\tusec_op\tp50\tp99\tp99.9\tp99.99\t\
pmax\tuptime\tstall%\tNstall\tu_cpu\ts_cpu\trss\ttest\tdate\tversion\tjob_id
51234\t20.5\t8GB\t0GB\t10.1\t7.3\t60.0\t170\t160\t0\t0\t312.4\t280.1\t900\t1500\t2500\t9000\t1800\t1.5\t12\t0.4\tna\t7.0\t\
overwrite.t16.s0\t2022-01-26T18:38:17.000\t6.28.2\tjob-1
60000\t24.0\t8GB\t0GB\t10.1\t6.9\t60.0\t170\t160\t0\t0\t260.0\t250.0\t800\t1400\t2400\t8000\t1800\t0.0\t0\t0.4\t0.1\t7.0\t\
overwrite.t16.s0\t2022-02-26T18:38:17.000\t6.29.1\tjob-1
"""
BENCHER = {"chunkstore/suite quick/c/throughput": {"value": 5.5}}


def imported(text: str, revision: str | None = None) -> tuple[Entry, ...]:
    return import_text(text, name="file.x", host="there", at="2026-11-23T00:00:00+00:00", revision=revision)


def test_a_report_of_rocksdb_has_a_track_per_test_and_metric() -> None:
    found = {(each.metric, each.revision): each for each in imported(REPORT)}
    first = found["throughput", "6.28.2"]
    assert (first.value, first.unit, first.point, first.suite) == (51234, "op/s", "overwrite.t16.s0", "job-1")
    assert first.at == "2022-01-26T18:38:17+00:00"
    assert found["rocksdb.user_seconds", "6.28.2"].value == pytest.approx(400)
    assert found["rocksdb.stall_share", "6.28.2"].value == pytest.approx(0.015)
    assert ("rocksdb.system_seconds", "6.28.2") not in found, "na is no number"
    assert first.host == "there"


def test_a_report_survives_the_way_out_and_back() -> None:
    entries = imported(REPORT)
    again = imported(export_text(entries, form="rocksdb"))
    assert {(e.metric, e.revision, e.value) for e in again} == {
        (e.metric, e.revision, e.value) for e in entries
    }


def test_bencher_needs_a_revision() -> None:
    text = json.dumps({"get": {"latency": {"value": 88.0, "lower_value": 87.4, "upper_value": 88.9}}})
    with pytest.raises(StoreError, match="which revision"):
        imported(text)
    (found,) = imported(text, revision="v1")
    assert (found.point, found.metric, found.value, found.low, found.high) == (
        "get",
        "latency",
        88.0,
        87.4,
        88.9,
    )


@pytest.mark.parametrize("form", ["bencher", "github"])
def test_own_names_survive_the_way_out_and_back(form: Format) -> None:
    entry = Entry(
        at="2026-11-22", host="h", revision="r", subject="chunkstore", suite="s quick", point="c.512MiB.t2",
        metric="read.latency.p99", phase="measure", unit="ns", value=100.0, low=90.0, high=110.0, n=5,
    )  # fmt: skip
    (again,) = imported(export_text([entry], form=form), revision="r")
    assert (again.subject, again.suite, again.point, again.metric) == (
        entry.subject, entry.suite, entry.point, entry.metric,
    )  # fmt: skip
    assert (again.value, again.low, again.high) == (100.0, 90.0, 110.0)


def test_the_data_of_github_action_benchmark_has_revisions_of_its_own() -> None:
    bench = {"name": "scan", "unit": "ns/iter", "value": 120, "range": "± 5"}
    commits = [{"commit": {"id": "0123456789abcdef"}, "date": 1726580215345, "benches": [bench]}]
    script = "window.BENCHMARK_DATA = " + json.dumps({"entries": {"Engine": commits}})
    (found,) = imported(script)
    assert (found.revision, found.suite, found.unit) == ("0123456789ab", "Engine", "ns/iter")
    assert (found.value, found.low, found.high) == (120, 115, 125)
    assert found.at.startswith("2024-09-17T")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,value\na,1\n", "without the column 'ops_sec'"),
        ("{", "expected JSON"),
        ("[]", "found none"),
        ('{"a": 1}', "expected an object"),
        ('{"a": {"b": {"value": "fast"}}}', "expected a number"),
    ],
)
def test_other_files_are_refused(text: str, expected: str) -> None:
    with pytest.raises(StoreError, match=expected):
        imported(text, revision="r")
