"""Prose numbers, and the words that say where they are from, come from files beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdyno.errors import SpecError
from kvdyno.model.origin import MachineWords, Origin
from kvdyno.report.origins import made_list
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


def test_rows_are_named_by_several_columns_and_a_missing_value_is_a_dash(tmp_path: Path) -> None:
    template = '{{ pivot("ratios.csv", rows=["unit", "workload"], columns=["engine", "n"]) }}'
    document = _document(tmp_path, template)
    with (tmp_path / "data" / "ratios.csv").open("a") as stream:
        stream.write("e,leveldb,,,,0,ratio,timeout,\n")
    assert fill_blocks(document, root=tmp_path).splitlines()[2:7] == [
        "| unit | workload | chunkstore, 3 | leveldb, 1 | leveldb, 3 | leveldb, 0 |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        "| ratio | p | 2.26 (2.05 to 2.48) | 0.610 |  |  |",
        "| op/s | c |  |  | 48.7 kop/s (44.1 kop/s to 54.7 kop/s) |  |",
        "| ratio | e |  |  |  | – |",
    ]


_MACHINE = MachineWords(virtual=True, cores=2, memory="24 GiB", disk="ext4 on a virtual disk")


def _origin(**changes: object) -> Origin:
    return Origin.model_validate(
        {
            "schema_version": "kvdyno.origin/1",
            "question": "Which is faster?",
            "command": "kvdyno run quickstart",
            "commit": "0123456789abcdef",
            "date": "2026-11-23",
            "state": "nothing else running",
            "machines": [_MACHINE],
            "sweeps": ["20261123T000000-00000000"],
            "runs": 48,
            "repetitions": 3,
            "files": ["ratios.csv"],
            **changes,
        }
    )


def test_text_beside_numbers_names_command_date_and_machine(tmp_path: Path) -> None:
    document = _document(tmp_path, "{{ origin().made }}; {{ origin().revision }}.")
    text = fill_blocks(document, root=tmp_path, origins={tmp_path / "data": _origin()})
    assert text.splitlines()[2] == (
        "`kvdyno run quickstart`, 2026-11-23, a virtual machine with 2 cores, 24 GiB, "
        "ext4 on a virtual disk, nothing else running; `0123456`."
    )


def test_where_numbers_are_from_is_a_list_that_names_what_was_not_kept(tmp_path: Path) -> None:
    document = _document(tmp_path, '{{ made("inside") }}')
    origin = _origin(commit="not kept", modified="not kept", sweeps="not kept", runs="not kept")
    text = fill_blocks(document, root=tmp_path, origins={tmp_path / "data" / "inside": origin})
    assert text.splitlines()[2:7] == [
        "- `kvdyno run quickstart`, 2026-11-23, nothing else running.",
        "- A virtual machine with 2 cores, 24 GiB, ext4 on a virtual disk.",
        "- Commit not kept; 3 repetitions; runs not kept.",
        "- Sweeps: not kept.",
        "- Data that is not derived: `ratios.csv`.",
    ]
    seeded = Origin(schema_version="kvdyno.origin/1", question="?", command="simulate.py", seeded=True)
    assert made_list(seeded) == "- `simulate.py`. It is seeded: the same numbers on every machine."


def test_a_folder_without_an_origin_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"data: expected origin\.yaml, found none"):
        fill_blocks(_document(tmp_path, "{{ made() }}"), root=tmp_path)
