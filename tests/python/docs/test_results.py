"""Committed numbers: derived from their data, rendered into documents, and from a place that is named."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from kvdyno import pipeline
from kvdyno.model.project import Project
from kvdyno.pipeline import committed
from kvdyno.report.prose import fill_blocks

PROJECT = Project.find(start=Path(__file__).parent)
ROOT = PROJECT.root
TYPED = Path(__file__).with_name("typed_numbers.yaml")

_BLOCK = re.compile(r"<!-- from [\w./-]+ -->\n.*?<!-- /from -->|```.*?```", re.DOTALL)
_NUMBER = r"(?<![\w.@-])\d[\d,]*(?:\.\d+)?"
_MEASURED = re.compile(
    "|".join(
        (
            rf"{_NUMBER} \({_NUMBER} to {_NUMBER}\)",
            rf"{_NUMBER} ?[kM]?op/s\b",
            rf"{_NUMBER} (?:gets|puts|scans|operations|reads) a second",
            rf"{_NUMBER} ?(?:µs|us|ns)\b",
            r"(?<![\w.])\d+\.\d+ times\b",
            r"(?<![\w.])\d+\.\d+ (?:ms|s|%|MiB|MB|GB)(?!\w)",
        )
    )
)


def _listed(pattern: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", pattern], capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]


def _typed() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = YAML(typ="safe").load(TYPED)
    return found


def _numbers(document: Path) -> list[str]:
    """Those outside blocks and code that look like results of a measurement."""
    return [match[0] for match in _MEASURED.finditer(_BLOCK.sub("", document.read_text("utf-8")))]


def test_tables_are_as_their_metrics_give_them() -> None:
    assert pipeline.derive(PROJECT, write=False) == (), "run: make results"


@pytest.mark.parametrize(
    ("present", "same"),
    [
        ("a,1.0000000000000002,ok\n", True),
        ("a,1.00001,ok\n", False),
        ("a,1.0,undecided\n", False),
        ("a,1.0\n", False),
        ("a,1.0,ok\nb,1.0,ok\n", False),
    ],
)
def test_a_digit_that_processors_round_differently_is_no_change(present: str, same: bool) -> None:
    assert committed.same_table(present, "a,1.0,ok\n") is same


def test_documents_are_rendered_from_their_data() -> None:
    origins = pipeline.origins(PROJECT)
    stale = [
        str(document.relative_to(ROOT))
        for document in _listed("*.md")
        if fill_blocks(document, root=ROOT, origins=origins) != document.read_text("utf-8")
    ]
    assert stale == [], "run: make results"


def test_every_folder_of_results_names_its_origin() -> None:
    data = {path for path in _listed("results/*") if path.name != "README.md"}
    folders = {path.parents[1 if path.parent.name == "figures" else 0] for path in data}
    folders -= {PROJECT.history, PROJECT.committed}
    assert folders == set(pipeline.origins(PROJECT))
    assert [
        folder.name
        for folder in folders
        if folder.parent == PROJECT.committed and not (folder / "README.md").exists()
    ] == []


def test_every_figure_of_a_document_is_named_by_an_origin() -> None:
    named = {name for origin in pipeline.origins(PROJECT).values() for name in origin.figures}
    drawn = {*_listed("docs/images/*.svg"), *_listed("results/*/figures/*.svg")}
    assert {str(path.relative_to(ROOT)) for path in drawn} == named


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext: harness/setup.sh latex")
def test_the_paper_shows_the_sweeps_that_are_published() -> None:
    command = ["pdftotext", str(ROOT / "docs" / "evendb-small.pdf"), "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    letters = re.sub(r"[\s-]", "", text)  # lines break inside of names
    lacking = [
        folder.name
        for folder, origin in committed.origins_below(PROJECT.committed / "evendb-small").items()
        if origin.metrics
        for sweep in origin.sweeps
        if sweep.replace("-", "") not in letters
    ]
    assert lacking == [], "run: make paper (docs/paper.md), and copy the PDF"


def test_a_measured_number_is_found() -> None:
    text = "149 gets a second, 27 kop/s, 1.23 (1.1 to 1.3), 22 µs, 1.34 times, 0.09 %; RocksDB 11.8.1 and 2 s"
    found = [match[0] for match in _MEASURED.finditer(text)]
    assert found == ["149 gets a second", "27 kop/s", "1.23 (1.1 to 1.3)", "22 µs", "1.34 times", "0.09 %"]


@pytest.mark.parametrize(
    "document", [*_listed("README.md"), *_listed("docs/*.md")], ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_number_is_typed_without_a_reason(document: Path) -> None:
    reasons = _typed().get(str(document.relative_to(ROOT)), {})
    allowed = {number for numbers in reasons.values() for number in numbers}
    found = set(_numbers(document))
    assert found - allowed == set(), f"render it from results/, or give a reason in {TYPED.name}"
    assert allowed - found == set(), f"no longer in the document: remove it from {TYPED.name}"
