"""`kvdyno publish`, `derive` and `prose` as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Checkout

ORIGIN = """\
schema_version: kvdyno.origin/1
question: Which?
command: simulate.py
seeded: true
files: [data.csv]
"""
METRICS = """\
label,engine,preset,workload,run_id,sweep_id,repetition,load,status,phase,metric,value,unit
a,a,default,p,1,s,1,1,ok,run,throughput,100,op/s
b,b,default,p,2,s,1,1,ok,run,throughput,200,op/s
a,a,default,p,3,s,2,1,ok,run,throughput,100,op/s
b,b,default,p,4,s,2,1,ok,run,throughput,220,op/s
"""
ASKED = """\
metrics:
  file: metrics.csv
  baseline: a
  tables: [{id: ratio, rows: [workload], columns: [engine], ratio_to: a}]
"""


@pytest.fixture
def folder(checkout: Checkout) -> Path:
    folder = checkout.root / "results" / "trial"
    folder.mkdir(parents=True)
    (folder / "origin.yaml").write_text(ORIGIN + ASKED)
    (folder / "data.csv").write_text("value\n1\n")
    (folder / "metrics.csv").write_text(METRICS)
    (folder / "text.md.j2").write_text('b: {{ cell("ratio.csv", engine="b").brief }}\n{{ made() }}\n')
    (folder / "README.md").write_text("<!-- from results/trial/text.md.j2 -->\n<!-- /from -->\n")
    return folder


def test_tables_are_derived_and_documents_rendered(checkout: Checkout, folder: Path) -> None:
    derived = checkout.kvdyno("derive")
    assert derived.status == 0, derived.err
    assert f"derived {folder / 'ratio.csv'}" in derived.out
    assert checkout.kvdyno("derive").out == "no table has changed\n"
    document = folder / "README.md"
    assert checkout.kvdyno("prose", str(document)).out == f"rendered {document}\n"
    assert "b: 2.10\n- `simulate.py`. It is seeded" in document.read_text()
    assert checkout.kvdyno("prose", str(document)).out == "no document has changed\n"
    document.write_text(document.read_text().replace("2.10", "2.11"))
    assert checkout.kvdyno("prose").out == f"rendered {document}\n", "without a name: all that have blocks"


def test_a_stray_file_is_named(checkout: Checkout, folder: Path) -> None:
    (folder / "stray.csv").write_text("")
    answer = checkout.kvdyno("derive")
    assert answer.status == 3
    assert "expected only data that it names, found stray.csv" in answer.err


def test_what_was_not_measured_is_not_published(checkout: Checkout) -> None:
    answer = checkout.kvdyno("publish", "tiny", "--as", "tiny", "--state", "nothing else running")
    assert answer.status == 7
    assert "kvdyno run tiny" in answer.err
    assert not (checkout.root / "results" / "tiny").exists()


def test_an_engine_that_is_not_known_is_not_published(checkout: Checkout) -> None:
    words = ("publish", "tiny", "--as", "tiny", "--state", "busy", "--engines", "memroy", "--repeat", "2")
    answer = checkout.kvdyno(*words)
    assert answer.status != 0
    assert "did you mean 'memory'" in answer.err


@pytest.mark.parametrize("figure", ["throughput", "throughput=shown.png", "throughput=/tmp/shown.svg"])
def test_a_figure_goes_to_a_file_of_the_checkout(measured: Checkout, figure: str) -> None:
    words = ("publish", "tiny", "--as", "tiny", "--state", "busy", "--figure", figure)
    answer = measured.kvdyno(*words)
    assert answer.status == 2
    assert "expected ID=FILE.svg" in answer.err
