"""The schemas and the Python types agree, and a mismatch names its place."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from fakes import engines
from jsonschema import Draft7Validator
from pydantic import BaseModel

from kvdyno.errors import EngineError, StoreError
from kvdyno.model import record
from kvdyno.model.engine import BuildIdentity, DriverIdentity, EngineIdentity, OptionDescription, OptionType
from kvdyno.model.schema import SchemaName, load_schema, parse_json, upgraded, validate

NAMES: tuple[SchemaName, ...] = get_args(SchemaName)


def outcome(**changes: Any) -> dict[str, Any]:
    phase = {"name": "run", "covers": ["measure", "drain"], "started_at": 1.0, "seconds": 2.0, "metrics": {}}
    document = {
        "schema_version": record.OUTCOME_SCHEMA,
        "driver": {"name": "ycsb", "version": "1"},
        "engine": {"name": "x", "version": "1", "summary": "", "caveats": [], "write_once_files": []},
        "build": {"compiler": "", "flags": "", "type": "", "sanitizer": ""},
        "status": "ok",
        "error": None,
        "options": {},
        "properties": {"recordcount": "10"},
        "phases": [phase | {"metrics": {"throughput": {"value": 1.5, "unit": "op/s"}}}],
        "series": {"file": "series.csv", "interval_seconds": 1, "columns": {"rate": "op/s"}},
        "histograms": "latency.hlog",
        "events": "events.csv",
    }
    return document | changes


def whole_record(**changes: Any) -> record.Record:
    point = record.RecordedPoint(
        slug="x", identity="1", engine="x", preset="default", label="x", binary_sha256="2",
        axes={"threads": 2, "sync": False}, properties={}, phases=("measure",), dataset=None, cap_bytes=0,
    )  # fmt: skip
    return record.Record(
        run_id="r", sweep_id="s", repetition=1, order=0,
        started_at="2026-01-02T03:04:05.678Z", ended_at="2026-01-02T03:04:06+00:00", point=point,
        runner=record.RunnerFacts(name="local", capped=True, cgroup="/x", cpus="0-1"),
        environment=record.Environment(host_id="h", facts={"cpu": {"count": 2}}),
        status="ok", outcome=record.Outcome.model_validate(outcome()),
    ).model_copy(update=changes)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_is_a_draft_7_schema(name: SchemaName) -> None:
    Draft7Validator.check_schema(load_schema(name))


def test_what_the_model_writes_is_valid() -> None:
    validate(whole_record().model_dump(mode="json"), schema="record", where="x")
    failed = whole_record(
        status="crash", outcome=None, failure=record.Failure(reason="died", signal="SIGSEGV")
    )
    validate(failed.model_dump(mode="json"), schema="record", where="x")
    described = engines.describe("rocksdb", options=engines.ROCKS_OPTIONS)
    validate(described.model_dump(mode="json", exclude_none=True), schema="describe", where="x")


def test_an_outcome_is_read_by_the_model() -> None:
    validate(outcome(), schema="outcome", where="x")
    assert record.Outcome.model_validate(outcome()).phases[0].metrics["throughput"].unit == "op/s"


@pytest.mark.parametrize(
    ("schema", "definition", "model"),
    [
        ("record", None, record.Record),
        ("record", "point", record.RecordedPoint),
        ("record", "failure", record.Failure),
        ("record", "runner", record.RunnerFacts),
        ("record", "environment", record.Environment),
        ("outcome", None, record.Outcome),
        ("outcome", "phase", record.PhaseOutcome),
        ("outcome", "metric", record.Metric),
        ("outcome", "series", record.SeriesFile),
        ("outcome", "error", record.OutcomeError),
        ("outcome", "driver", DriverIdentity),
        ("outcome", "engine", EngineIdentity),
        ("outcome", "build", BuildIdentity),
        ("describe", "option", OptionDescription),
    ],
)
def test_schema_and_model_have_the_same_fields(
    schema: SchemaName, definition: str | None, model: type[BaseModel]
) -> None:
    document = load_schema(schema)
    described = document["definitions"][definition] if definition else document
    assert set(described["properties"]) == set(model.model_fields)


def test_schema_and_model_have_the_same_words() -> None:
    statuses = load_schema("record")["properties"]["status"]["enum"]
    types = load_schema("describe")["definitions"]["option"]["properties"]["type"]["enum"]
    assert set(statuses) == set(get_args(record.RunStatus))
    assert set(types) == set(get_args(OptionType))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "fine"}, '$.status: expected one of ok, failed, interrupted; found "fine"'),
        ({"options": {"a": 1}}, "$.options.a: expected string, found 1"),
        ({"surprise": 1}, "('surprise' was unexpected)"),
        ({"schema_version": "kvdyno.outcome/2"}, '$.schema_version: expected "kvdyno.outcome/1"'),
    ],
)
def test_a_mismatch_names_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(StoreError) as raised:
        validate(outcome(**change), schema="outcome", where="run/outcome.json")
    assert raised.value.where == "run/outcome.json"
    assert message in raised.value.message


def test_a_mismatch_inside_a_records_outcome() -> None:
    document = whole_record().model_dump(mode="json")
    document["outcome"]["phases"][0]["seconds"] = -1
    with pytest.raises(StoreError, match=r"\$\.outcome\.phases\[0\]\.seconds"):
        validate(document, schema="record", where="x")


@pytest.mark.parametrize("fraction", [None, 0, 0.31, 1])
def test_progress(fraction: float | None) -> None:
    line = {
        "phase": "load",
        "elapsed": 3.0,
        "fraction": fraction,
        "operations": 12,
        "rate": 4.0,
        "unit": "op/s",
    }
    validate(line, schema="progress", where="x")
    with pytest.raises(EngineError, match=r"\$\.fraction"):
        validate(line | {"fraction": 1.5}, schema="progress", where="x", error=EngineError)


@pytest.mark.parametrize("text", ["{", '{"a": NaN}', b"\xff", ""])
def test_parse_json_rejects(text: str | bytes) -> None:
    with pytest.raises(StoreError, match="expected JSON, found"):
        parse_json(text, where="x")


STEPS = (lambda document: {**document, "two": True}, lambda document: {**document, "three": document["two"]})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"schema_version": "a/1"}, {"schema_version": "a/3", "two": True, "three": True}),
        ({"schema_version": "a/2", "two": 2}, {"schema_version": "a/3", "two": 2, "three": 2}),
        ({"schema_version": "a/3"}, {"schema_version": "a/3"}),
        ({"schema_version": "a/0"}, {"schema_version": "a/0"}),
        ({"schema_version": "b/1"}, {"schema_version": "b/1"}),
        ([], []),
    ],
)
def test_each_step_leads_to_the_next_version(found: Any, expected: Any) -> None:
    assert upgraded(found, known="a/3", steps=STEPS, where="x") == expected


def test_a_newer_version_and_fields_of_another_are_refused() -> None:
    with pytest.raises(StoreError, match="expected a/3, found a/4: a newer kvdyno wrote it"):
        upgraded({"schema_version": "a/4"}, known="a/3", steps=STEPS, where="x")
    with pytest.raises(StoreError, match="expected the fields of a/2: KeyError"):
        upgraded({"schema_version": "a/2"}, known="a/3", steps=STEPS, where="x")


def test_every_version_of_a_record_has_its_step() -> None:
    assert f"kvdyno.record/{len(record.RECORD_STEPS) + 1}" == record.RECORD_SCHEMA
    assert load_schema("record")["properties"]["schema_version"]["const"] == record.RECORD_SCHEMA
