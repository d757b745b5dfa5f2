"""Prose numbers come from data beside them, and committed documents are up to date."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kvdyno.errors import SpecError
from kvdyno.model.project import Project
from kvdyno.report.prose import fill_blocks

_TABLE = """workload,engine,value,low,high,n,unit,status,lost
p,chunkstore,2.2612,2.05,2.4811,3,ratio,ok,
p,leveldb,0.61,,,1,ratio,ok,
c,leveldb,48712.4,44100,54700,3,op/s,ok,
"""


def _document(folder: Path, template: str) -> Path:
    (folder / "data").mkdir()
    (folder / "data" / "ratios.csv").write_text(_TABLE)
    (folder / "data" / "head.md.j2").write_text(template)
    document = folder / "page.md"
    document.write_text("Before.\n<!-- from data/head.md.j2 -->\nold\n<!-- /from -->\nAfter.\n")
    return document


def test_a_block_is_rendered_and_the_rest_kept(tmp_path: Path) -> None:
    template = (
        'Puts: {{ cell("ratios.csv", workload="p", engine="chunkstore") }} times, '
        '{{ cell("ratios.csv", workload="p", engine="leveldb") }}; gets '
        '{{ cell("ratios.csv", workload="c").brief }} of {{ rows("ratios.csv") | length }}.'
    )
    document = _document(tmp_path, template)
    assert fill_blocks(document, root=tmp_path) == (
        "Before.\n<!-- from data/head.md.j2 -->\n"
        "Puts: 2.26 (2.05 to 2.48) times, 0.610; gets 48.7 kop/s of 3.\n<!-- /from -->\nAfter.\n"
    )


def test_a_table_stands_in_the_files_order_with_gaps(tmp_path: Path) -> None:
    template = '{{ pivot("ratios.csv", rows="workload", columns="engine") }}'
    assert fill_blocks(_document(tmp_path, template), root=tmp_path).splitlines()[2:6] == [
        "| workload | chunkstore | leveldb |",
        "| --- | ---: | ---: |",
        "| p | 2.26 (2.05 to 2.48) | 0.610 |",
        "| c |  | 48.7 kop/s (44.1 kop/s to 54.7 kop/s) |",
    ]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ('{{ cell("ratios.csv", workload="p") }}', "expected one row with workload=p, found 2"),
        ('{{ cell("ratios.csv", wokload="p") }}', "expected a column 'wokload'"),
        ('{{ pivot("ratios.csv", rows="wokload", columns="engine") }}', "expected a column 'wokload'"),
        ('{{ cell("absent.csv") }}', "No such file"),
        ("{{ undefined_name }}", "undefined_name"),
    ],
)
def test_what_a_template_gets_wrong_is_reported(tmp_path: Path, template: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fill_blocks(_document(tmp_path, template), root=tmp_path)


def _committed() -> list[Path]:
    root = Project.find(start=Path(__file__).parent).root
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "*.md"], capture_output=True, text=True, check=True
    )
    return [root / name for name in listed.stdout.split()]


def test_committed_documents_are_rendered_from_their_data() -> None:
    root = Project.find(start=Path(__file__).parent).root
    stale = [
        str(document.relative_to(root))
        for document in _committed()
        if fill_blocks(document, root=root) != document.read_text("utf-8")
    ]
    assert stale == [], "run: make prose"
