"""Points: what the driver gets, what scales, and when an identity changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import engines

from kvdyno.errors import SpecError
from kvdyno.model.engine import Preset
from kvdyno.model.experiment import DeviceLimits
from kvdyno.plan import estimate, select
from kvdyno.plan.estimate import (
    LOAD_BYTES_PER_SECOND,
    OPERATIONS_PER_SECOND,
    SETTLE_SECONDS,
    SPACE_AMPLIFICATION,
    START_SECONDS,
)

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
        "series.interval": "0.1",
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
    with pytest.raises(SpecError, match="expected at least one record of 814 B, found 1 B"):
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
    assert plan.notes[0] == "rocksdb: write_buffer_size = 1 MiB at profile quick is kept at its limit, 64 KiB"


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
    known["rocksdb"] = replace(known["rocksdb"], presets={"default": Preset(), "plain": Preset()})
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
    ("fieldlength: 800", "fieldlength: 800, insertorder: hashed"),
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


@pytest.mark.parametrize("policy", ["cold", "warm"])
def test_a_cache_policy_makes_another_point_on_the_same_data(policy: str) -> None:
    default, other = point_of(TEXT), point_of(changed("cap: 16GiB", f"cap: 16GiB\ncache: {policy}"))
    assert (default.cache, other.cache) == ("snapshot-read", policy)
    assert other.identity != default.identity
    assert default.dataset
    assert other.dataset == default.dataset, "snapshots are shared"
    said = point_of(changed("cap: 16GiB", "cap: 16GiB\ncache: snapshot-read"))
    assert said.identity == default.identity


HDD = "devices:\n  hdd: {write_bytes_per_second: 4MiB, read_iops: 100}\n"
DEVICES = HDD + "  ssd: {write_bytes_per_second: 450MiB}\n"


def with_devices(names: str, *, text: str = TEXT, devices: str = DEVICES) -> str:
    return changed("  threads: [2]\n", f"  threads: [2]\n  device: [{names}]\n", text=text) + devices


def test_a_device_is_an_axis_whose_rates_make_another_point() -> None:
    plan = plan_of(with_devices("full-speed, ssd, hdd") + "repetitions: 1\n")
    assert [point.axes["device"] for point in plan.points] == ["full-speed", "ssd", "hdd"]
    assert [point.slug for point in plan.points] == [
        "rocksdb.a.zipf-simple.1GiB.t2.full-speed",
        "rocksdb.a.zipf-simple.1GiB.t2.ssd",
        "rocksdb.a.zipf-simple.1GiB.t2.hdd",
    ]
    free, ssd, hdd = plan.points
    assert (free.device, free.identity) == (None, point_of(TEXT).identity)
    assert ssd.device == DeviceLimits(name="ssd", write_bytes_per_second=450 << 20), "rates do not scale"
    assert hdd.device == DeviceLimits(name="hdd", write_bytes_per_second=4 << 20, read_iops=100)
    assert len({point.identity for point in plan.points}) == 3
    assert len({point.dataset.identity for point in plan.points if point.dataset}) == 1
    assert all("device" not in point.properties for point in plan.points)
    assert [point.axes["device"] for point in select(plan, only=["device=hdd"]).points] == ["hdd"]


def test_the_rates_of_a_device_are_its_identity_and_its_name_is_not() -> None:
    text = with_devices("hdd", devices="devices: {hdd: {read_iops: 100}}\n")
    renamed = with_devices("slow", devices="devices: {slow: {read_iops: 100}}\n")
    assert point_of(renamed).identity == point_of(text).identity
    assert point_of(changed("100", "101", text=text)).identity != point_of(text).identity
    both = with_devices("hdd, slow", devices="devices: {hdd: {read_iops: 100}, slow: {read_iops: 100}}\n")
    with pytest.raises(SpecError, match=r"found '.*\.hdd' and '.*\.slow': same .* rates of the disk"):
        plan_of(both)


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


def test_a_measured_load_is_expected_to_take_its_time_and_to_write_what_fits_in() -> None:
    timed = changed("fieldcount: 1", "fieldcount: 1, load.seconds: 8s")
    loads = changed("workload: [a]", "workload: [load]", text=timed)
    free, _, hdd = plan_of(with_devices("full-speed, ssd, hdd", text=loads) + "repetitions: 1\n").points
    for point in (free, hdd):
        assert point.expected_seconds == pytest.approx(START_SECONDS + 8 + SETTLE_SECONDS)
    assert free.expected_disk_bytes == pytest.approx(8 * LOAD_BYTES_PER_SECOND * SPACE_AMPLIFICATION)
    assert hdd.expected_disk_bytes == pytest.approx(8 * (4 << 20) * SPACE_AMPLIFICATION)
    (ample,) = plan_of(changed("8s", "1h", text=loads)).points
    assert ample.expected_disk_bytes == pytest.approx((1 << 30) * SPACE_AMPLIFICATION, rel=1e-3)


def test_a_slower_device_makes_what_writes_take_longer() -> None:
    counted = changed(", seconds: 3s, bytes: 1GiB", "")
    free, ssd, hdd = plan_of(with_devices("full-speed, ssd, hdd", text=counted), profile="paper").points
    assert ssd.expected_seconds == free.expected_seconds, "the assumed rate is below the device's"
    longer = 80e6 * 0.5 * 814 / (4 << 20) - 80e6 / OPERATIONS_PER_SECOND
    assert hdd.expected_seconds - free.expected_seconds == pytest.approx(longer)
    gets = changed("workload: [a]", "workload: [c]", text=counted)
    free, hdd = plan_of(with_devices("full-speed, hdd", text=gets, devices=HDD), profile="paper").points
    assert hdd.expected_seconds == free.expected_seconds
