"""Points: what the driver gets, what scales, and when an identity changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import engines

from kvdyno.errors import SpecError
from kvdyno.plan import estimate

from .helpers import plan_of, point_of

TEXT = """\
title: A test
engines: [rocksdb]
grid:
  workload: [a]
  distribution: [zipf-simple]
  dataset: [64GiB]
  threads: [2]
properties: {fieldcount: 1, fieldlength: 800}
cap: 16GiB
phases: {warmup: 1s, measure: {operations: 80e6, seconds: 3s, bytes: 1GiB}}
"""


def changed(old: str, new: str, *, text: str = TEXT) -> str:
    assert old in text
    return text.replace(old, new)


def test_a_point_at_paper_scale_and_at_a_64th() -> None:
    paper, quick = point_of(TEXT, profile="paper"), point_of(TEXT)
    assert (paper.cap_bytes, quick.cap_bytes) == (16 << 30, 256 << 20)
    assert (paper.axes["dataset"], quick.axes["dataset"]) == (64 << 30, 1 << 30)
    assert (paper.slug, quick.slug) == ("rocksdb.a.zipf-simple.64GiB.t2", "rocksdb.a.zipf-simple.1GiB.t2")
    assert dict(quick.properties) == {
        "readproportion": "0.5",
        "updateproportion": "0.5",
        "requestdistribution": "zipfian",
        "zipfian_const": "0.8",
        "fieldcount": "1",
        "fieldlength": "800",
        "recordcount": str((1 << 30) // 814),
        "threadcount": "2",
        "operationcount": "1250000",
        "measure.seconds": "3",
        "measure.bytes": str(16 << 20),
        "warmup.seconds": "1",
        "drain": "true",
        "memory.cap": str(256 << 20),
    }
    assert quick.phases == ("warmup", "measure", "drain")
    assert quick.axes["engine"] == "rocksdb"
    assert quick.axes["preset"] == "default"


def test_the_dataset_holds_as_many_records_as_fit() -> None:
    dataset = point_of(TEXT).dataset
    assert dataset is not None
    assert dataset.records == (1 << 30) // (4 + 10 + 800)
    assert dataset.bytes == dataset.records * 814
    assert dict(dataset.properties) == {
        "recordcount": str(dataset.records),
        "keyprefix": "user",
        "zeropadding": "10",
        "fieldcount": "1",
        "fieldlength": "800",
        "insertorder": "ordered",
        "seed": "1",
        "rocksdb.bloom_bits": "0",
        "rocksdb.write_buffer_size": str(64 << 20),
        "rocksdb.compression": "none",
        "memory.cap": str(256 << 20),
    }


def test_a_dataset_smaller_than_a_record() -> None:
    with pytest.raises(SpecError, match="expected at least one record of 814 bytes, found 1"):
        plan_of(changed("64GiB", "64"))


def test_written_options_scale_and_defaults_do_not() -> None:
    text = changed("[rocksdb]", "[{engine: rocksdb, preset: tuned, options: {write_buffer_size: 1GiB}}]")
    properties = point_of(text).properties
    assert properties["rocksdb.block_cache"] == str((5 << 30) // 64)
    assert properties["rocksdb.write_buffer_size"] == str(16 << 20)
    assert properties["rocksdb.bloom_bits"] == "10"
    assert "rocksdb.compression" not in properties


def test_a_value_that_cannot_scale_so_far_is_kept_at_its_limit() -> None:
    plan = plan_of(changed("[rocksdb]", "[{engine: rocksdb, options: {write_buffer_size: 1MiB}}]"))
    assert plan.points[0].properties["rocksdb.write_buffer_size"] == str(64 << 10)
    assert plan.notes == ("rocksdb: write_buffer_size = 1MiB at profile quick is kept at its limit, 64KiB",)


def test_an_experiments_skew_wins_over_the_published_one() -> None:
    text = changed("fieldcount: 1", "fieldcount: 1, zipfian_const: 0.99")
    assert point_of(text).properties["zipfian_const"] == "0.99"
    composite = point_of(changed("zipf-simple", "zipf-composite")).properties
    assert (composite["requestdistribution"], composite["zipfian_const"]) == ("zipf-composite", "0.8")
    assert "zipfian_const" not in point_of(changed("zipf-simple", "uniform")).properties
    own = point_of(changed("  distribution: [zipf-simple]\n", "")).properties
    assert own["requestdistribution"] == "zipfian"
    assert "zipfian_const" not in own


def test_an_axis_applies_to_the_engines_that_know_it() -> None:
    text = changed("[rocksdb]", "[chunks, leveldb]") + "repetitions: 1\n"
    plan = plan_of(changed("  threads: [2]\n", "  threads: [2]\n  log_limit: [128KiB, 2MiB]\n", text=text))
    assert sorted(point.slug for point in plan.points) == [
        "chunks.a.zipf-simple.1GiB.t2.log_limit-2KiB",
        "chunks.a.zipf-simple.1GiB.t2.log_limit-32KiB",
        "leveldb.a.zipf-simple.1GiB.t2",
    ]
    limits = {point.axes["log_limit"]: point.properties for point in plan.points if "log_limit" in point.axes}
    assert limits[2048]["chunks.log_limit"] == "2048"


def test_an_axis_can_be_a_property_of_the_driver() -> None:
    text = changed("fieldcount: 1, fieldlength: 800", "fieldcount: 1")
    plan = plan_of(changed("  threads: [2]\n", "  threads: [2]\n  fieldlength: [100, 1KiB]\n", text=text))
    lengths = [(point.properties["fieldlength"], point.properties["recordcount"]) for point in plan.points]
    assert lengths == [("100", str((1 << 30) // 114)), ("1024", str((1 << 30) // 1038))]


def test_a_load_is_measured_from_an_empty_store() -> None:
    text = changed("zipf-simple", "zipf-simple, zipf-composite")
    plan = plan_of(changed("workload: [a]", "workload: [load]", text=text))
    (point,) = plan.points
    assert point.slug == "rocksdb.load.1GiB.t2"
    assert point.phases == ("load", "settle")
    assert point.dataset is None
    assert point.properties["recordcount"] == str((1 << 30) // 814)
    assert not {"doload", "dotransaction", "operationcount", "requestdistribution"} & set(point.properties)


def test_slugs_are_safe_and_unique() -> None:
    text = changed("fieldcount: 1", "fieldcount: 1, zeropadding: 12")
    plan = plan_of(changed("  threads: [2]\n", "  threads: [2]\n  keyprefix: [a/b, 'a:b']\n", text=text))
    first, second = (point.slug for point in plan.points)
    assert first != second
    assert first.startswith("rocksdb.a.zipf-simple.1GiB.t2.keyprefix-a_b.")


@pytest.mark.parametrize(
    "engines_asked",
    ["[rocksdb, {engine: rocksdb, label: again}]", "[rocksdb, {engine: rocksdb, preset: plain}]"],
)
def test_one_point_under_two_names_is_refused(engines_asked: str) -> None:
    known = engines.catalog()
    known["rocksdb"] = replace(known["rocksdb"], presets={"default": {}, "plain": {}})
    with pytest.raises(SpecError, match=r"found 'rocksdb\.a.*' and '(again|rocksdb-plain)\.a.*'") as raised:
        plan_of(changed("[rocksdb]", engines_asked), catalog=known)
    assert "leave one of them out" in str(raised.value.remedy)


CHANGES_RESULT = [
    ("threads: [2]", "threads: [1]"),
    ("zipf-simple", "uniform"),
    ("cap: 16GiB", "cap: 8GiB"),
    ("warmup: 1s", "warmup: 2s"),
    ("seconds: 3s", "seconds: 4s"),
    ("[rocksdb]", "[{engine: rocksdb, options: {block_cache: 1GiB}}]"),
    ("[rocksdb]", "[{engine: rocksdb, options: {bloom_bits: 10}}]"),
    ("fieldlength: 800", "fieldlength: 400"),
    ("fieldlength: 800", "fieldlength: 800, seed: 2"),
    ("dataset: [64GiB]", "dataset: [32GiB]"),
    ("[rocksdb]", "[leveldb]"),
]
CHANGES_DATA = [*CHANGES_RESULT[-5:], ("cap: 16GiB", "cap: 8GiB")]


@pytest.mark.parametrize(("old", "new"), CHANGES_RESULT)
def test_an_identity_changes_with_what_changes_the_result(old: str, new: str) -> None:
    assert point_of(changed(old, new)).identity != point_of(TEXT).identity


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: A test", "title: Another"),
        ("[rocksdb]", "[{engine: rocksdb, label: other}]"),
        ("cap: 16GiB", "cap: 16GiB\ntimeout: 1h\nrepetitions: 7"),
        ("threads: [2]", "threads: [2, 4]"),
    ],
)
def test_an_identity_does_not_change_with_anything_else(old: str, new: str) -> None:
    assert point_of(changed(old, new)).identity == point_of(TEXT).identity


@pytest.mark.parametrize(("old", "new"), CHANGES_RESULT)
def test_a_dataset_changes_only_with_what_shapes_data(old: str, new: str) -> None:
    before, after = point_of(TEXT).dataset, point_of(changed(old, new)).dataset
    assert before is not None
    assert after is not None
    assert (before.identity != after.identity) == ((old, new) in CHANGES_DATA)


def test_another_build_is_another_point_and_another_dataset() -> None:
    rebuilt = engines.catalog()
    rebuilt["rocksdb"] = replace(rebuilt["rocksdb"], binary_sha256="f" * 64)
    before, after = point_of(TEXT), point_of(TEXT, catalog=rebuilt)
    assert before.identity != after.identity
    assert before.dataset is not None
    assert after.dataset is not None
    assert before.dataset.identity != after.dataset.identity


def test_the_estimate_counts_each_load_once() -> None:
    plan = plan_of(changed("workload: [a]", "workload: [a, c]") + "repetitions: 3\n")
    total = estimate(plan)
    dataset = plan.points[0].dataset
    assert dataset is not None
    assert total.seconds == pytest.approx(
        total.load_seconds + 3 * sum(p.expected_seconds for p in plan.points)
    )
    assert total.load_seconds == pytest.approx(estimate(plan_of(TEXT)).load_seconds)
    assert total.disk_bytes > 2 * dataset.bytes


def test_an_estimate_follows_the_phases() -> None:
    timed = changed(", bytes: 1GiB", "")
    short, long = point_of(timed), point_of(timed.replace("seconds: 3s", "seconds: 13s"))
    assert point_of(TEXT).expected_seconds < short.expected_seconds, "its bytes are written sooner"
    assert long.expected_seconds == pytest.approx(short.expected_seconds + 10)
    few = point_of(changed("operations: 80e6", "operations: 64"))
    assert few.expected_seconds < short.expected_seconds
    assert point_of(changed("[64GiB]", "[4GiB]")).expected_disk_bytes < short.expected_disk_bytes
