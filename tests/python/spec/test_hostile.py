"""Hostile files: each is an error of ours, with its line, at once, and of bounded length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import engines
from fakes.projects import EXPERIMENT, make_project

from kvdyno.errors import KvdynoError, SpecError
from kvdyno.host.external import external_engine
from kvdyno.model.document import read_document
from kvdyno.model.engine import Engine
from kvdyno.model.project import Project
from kvdyno.plan import make_plan
from kvdyno.spec import list_experiments, load_experiment

from .test_load import FULL

VALUES = (
    "!x [a]",
    "!x {a: b}",
    "!x a",
    "!!binary aGVsbG8=",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!!python/object:os.system x",
    "!!int x",
    "2026-01-01",
    ".nan",
    ".inf",
    "-.inf",
    "1e400",
    "1e308",
    "9" * 400,
    "-" + "9" * 400,
    "9" * 5000,
    "'" + "x" * 100_000 + "'",
    "[[[[[[a]]]]]]",
    "{a: {b: {c: d}}}",
    "{[a]: b}",
    "{a: 1, a: 2}",
    "&x [*x]",
    "&x {a: *x}",
    '"\\0"',
    '"a\\nb=5"',
    '"\\e[31m"',
    '"\\uD800"',
    "null",
    "[]",
    "{}",
    "[null]",
    "true",
    "''",
)


def places(value: Any, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Each key's and item's."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [(*place, step) for step, _ in inside]
    return found + [each for step, item in inside for each in places(item, (*place, step))]


def flow(value: Any, *, place: tuple[str | int, ...], raw: str) -> str:
    """The value as YAML in one line, with `raw` at the place."""
    if not place:
        return raw

    def inner(step: str | int, item: Any) -> str:
        return flow(item, place=place[1:], raw=raw) if step == place[0] else spelled(item)

    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {inner(key, item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(inner(index, item) for index, item in enumerate(value)) + "]"


def spelled(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {spelled(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(spelled, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path / "checkout")


def write(project: Project, text: str) -> None:
    (project.experiments / "test.yaml").write_text(text, encoding="utf-8")


def mistake_of(project: Project, catalog: Mapping[str, Engine]) -> str:
    """The message of an error of ours; "" where there is a plan."""
    try:
        experiment = load_experiment("test", project=project, catalog=catalog)
        make_plan(experiment, catalog=catalog, project=project)
    except KvdynoError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("raw", VALUES, ids=lambda raw: raw[:20])
def test_a_hostile_value_at_any_key(raw: str, project: Project, tmp_path: Path) -> None:
    path = tmp_path / "full.yaml"
    path.write_text(FULL)
    tree: Mapping[str, Any] = read_document(path).data
    catalog = engines.ageing_catalog()
    for place in places(tree):
        write(project, flow(tree, place=place, raw=raw))
        said = mistake_of(project, catalog)
        assert len(said.encode()) < 3000


@pytest.mark.parametrize(
    ("written", "line", "said"),
    [
        ("title: !x [a]", 1, "expected a value without a tag, found '!x'"),
        ("title: !!set {a}", 1, "expected a value without a tag, found '!!set'"),
        ('title: "a\\e[31m"', 1, "expected text without control characters"),
        ("title: A\n1: a\n'1': b", 3, "key '1' stands here twice"),
        ("title: A\ntitle: B", 2, "found duplicate key"),
        ("title: A\nsame_within: .nan", 2, "same_within: expected a finite number"),
        ("title: A\nage: .inf", 2, "age: expected a finite number"),
        ("title: A\nrepetitions: " + "9" * 400, 2, "repetitions: expected at most 1000"),
        ("title: A\ncap: " + "9" * 400, 2, "cap: expected a size"),
        ("title: A\ncap: 8EiB", 2, "cap: expected less than 8 EiB"),
        ("title: A\nbaseline: " + "x" * 1000, 2, "x … x"),
        ("title: " + "[" * 40 + "]" * 40, 1, "32 deep"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(
    written: str, line: int, said: str, project: Project
) -> None:
    write(project, EXPERIMENT.replace("title: A test", written))
    with pytest.raises(SpecError) as raised:
        load_experiment("test", project=project, catalog=engines.catalog())
    assert said in str(raised.value)
    assert f"test.yaml:{line}: " in str(raised.value)
    assert len(str(raised.value)) < 400


def test_aliases_in_aliases_stand_for_more_than_a_person_writes(tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    path.write_text("\n".join(lines))
    with pytest.raises(SpecError, match="expected at most 20,000 values") as raised:
        read_document(path)
    assert str(raised.value.where).endswith("bomb.yaml:5")
    assert "aliases" in str(raised.value.remedy)


def test_a_file_larger_than_any_experiment(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text("# " + "x" * (300 << 10))
    with pytest.raises(SpecError, match="expected at most 256 KiB, found more"):
        read_document(path)


def test_one_bad_file_hides_no_good_one(project: Project) -> None:
    write(project, EXPERIMENT)
    for index, raw in enumerate(VALUES):
        (project.experiments / f"bad{index}.yaml").write_text(
            f"title: {raw}\n{raw}: {raw}\n", encoding="utf-8"
        )
    (project.experiments / "folder.yaml").mkdir()
    listed = {each.name: each for each in list_experiments(project)}
    assert len(listed) == len(VALUES) + 2
    assert (listed.pop("test").title, len(listed)) == ("A test", len(VALUES) + 1)
    assert all(each.problem for each in listed.values())


OPTIONS = EXPERIMENT.replace(
    "engines: [rocksdb, leveldb]", "engines: [{engine: foreign, options: {%s}}, leveldb]"
)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (r'"a\nrecordcount=5": 1', "expected a name of letters, digits"),
        (r'a: "1\nrecordcount=5"', "a: expected one line without control characters"),
        (r'a: "1\trecordcount=5"', "a: expected one line without control characters"),
        ("a=recordcount: 5", "expected a name of letters, digits"),
        ("a b: 5", "expected a name of letters, digits"),
        ("a: ' 5'", "a: expected one line without control characters and spaces around it"),
    ],
)
def test_an_option_that_no_engine_describes_is_one_line(option: str, said: str, project: Project) -> None:
    foreign = engines.engine("foreign")
    description = foreign.description.model_copy(update={"accepts_other_options": True})
    catalog = {**engines.catalog(), "foreign": replace(foreign, description=description)}
    write(project, OPTIONS % option)
    with pytest.raises(SpecError) as raised:
        load_experiment("test", project=project, catalog=catalog)
    assert said in str(raised.value)
    assert "test.yaml:2: " in str(raised.value)
    write(project, OPTIONS % "cache_size: 8388608")
    assert load_experiment("test", project=project, catalog=catalog).engines[0].options == {
        "cache_size": "8388608"
    }


def test_an_external_engine_that_is_no_program(project: Project) -> None:
    (project.root / "folder").mkdir()
    (project.root / "plain").write_text("x")
    (project.root / "text").write_text("x")
    (project.root / "text").chmod(0o755)
    (project.root / "loop").symlink_to("loop")
    for path, said in (
        ("folder", "found a folder"),
        ("plain", "found a file that may not be run"),
        ("text", "found what cannot be run: Exec format error"),
        ("loop", "found"),
        ("absent", "found nothing"),
        ("x" * 300, "found what cannot be run: File name too long"),
    ):
        write(project, EXPERIMENT.replace("leveldb]", f"{{engine: lmdb, external: {path}}}]"))
        with pytest.raises(KvdynoError, match="expected an executable ycsb binary") as raised:
            load_experiment("test", project=project, catalog=engines.catalog())
        assert said in str(raised.value)


def test_an_external_engines_name_is_a_word(project: Project) -> None:
    text = r'engines: [{engine: "lmdb\nrecordcount=5", external: /bin/true}]'
    write(project, EXPERIMENT.replace("engines: [rocksdb, leveldb]", text))
    with pytest.raises(SpecError, match="engine: expected letters, digits"):
        load_experiment("test", project=project, catalog=engines.catalog())
    assert external_engine(Path("/bin/true"), name="lmdb").external
