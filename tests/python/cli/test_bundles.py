"""`kvdyno export` and `import`: results in one file, for another machine."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kvdyno.model.bundle import Bundle
from kvdyno.store import bundled, write_bundle

from .conftest import Checkout, make_checkout

Member = tuple[tarfile.TarInfo, bytes]
#: A member as it shall be; None leaves it out.
Change = Callable[[tarfile.TarInfo, bytes], Member | None]


PAGE = "reports/tiny-quick-uncapped/report.html"


@pytest.fixture
def bundle(measured: Checkout, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.tar.gz"
    answer = measured.kvdyno("export", "tiny", "--uncapped", "--output", str(path), "--json")
    assert answer.status == 0, answer.err
    assert (answer.json["runs"], answer.json["experiment"]) == (8, "tiny")
    return path


@pytest.fixture
def elsewhere(tmp_path: Path) -> Checkout:
    """A checkout where nothing is built or measured."""
    checkout = make_checkout(tmp_path / "elsewhere")
    for binary in checkout.binaries.iterdir():
        binary.unlink()
    return checkout


def alter(bundle: Path, change: Change) -> None:
    """Writes the bundle again with each member changed."""
    members = []
    with tarfile.open(bundle) as archive:
        for member in archive:
            stream = archive.extractfile(member)
            assert stream
            members.append(change(member, stream.read()))
    with tarfile.open(bundle, "w:gz") as archive:
        for member, content in filter(None, members):
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_a_report_is_made_elsewhere(bundle: Path, elsewhere: Checkout) -> None:
    taken = elsewhere.kvdyno("import", str(bundle))
    assert taken.status == 0, taken.err
    first, command = taken.out.splitlines()
    assert first == "8 runs, 8 of them new"
    assert command.startswith("kvdyno report tiny --profile quick --builds-of ")
    report = elsewhere.kvdyno(*command.split()[1:], "--uncapped", "--json")
    assert (report.status, report.json["reused"]) == (0, 8), report.err


def test_it_holds_sources_and_the_page(bundle: Path) -> None:
    with tarfile.open(bundle) as archive:
        names = archive.getnames()
        assert {member.uname for member in archive} == {""}
    assert names[0] == "bundle.json"
    assert {"sources/experiments/tiny.yaml", "sources/workloads/a.properties"} <= set(names)
    assert [name for name in names if name.endswith("report.html")] == [PAGE]


def test_its_page_leads_to_its_records(bundle: Path, tmp_path: Path) -> None:
    with tarfile.open(bundle) as archive:
        archive.extractall(tmp_path)  # Python 3.11.2, which is Debian's, knows no filter
    page = tmp_path / PAGE
    links = re.findall(r'href="([^"#]+record\.json)"', page.read_text())
    assert len(links) == 8
    assert all((page.parent / link).is_file() for link in links)


def test_importing_again_changes_nothing(bundle: Path, elsewhere: Checkout) -> None:
    elsewhere.kvdyno("import", str(bundle))
    before = {path: path.stat().st_mtime_ns for path in (elsewhere.root / "results").rglob("*.json")}
    again = elsewhere.kvdyno("import", str(bundle))
    assert again.out.startswith("8 runs, 0 of them new\n")
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_sources_that_differ_are_named(bundle: Path, elsewhere: Checkout) -> None:
    path = elsewhere.root / "experiments" / "tiny.yaml"
    path.write_text(path.read_text().replace("title: Tiny", "title: Other"))
    taken = elsewhere.kvdyno("import", str(bundle))
    assert taken.status == 0
    assert "note: experiments/tiny.yaml is not what was measured" in taken.err


def test_another_run_of_the_same_id_is_kept(bundle: Path, elsewhere: Checkout) -> None:
    elsewhere.kvdyno("import", str(bundle))
    changed, gone, *_ = elsewhere.records()
    changed.write_text(changed.read_text() + "\n")
    shutil.rmtree(gone.parent)
    refused = elsewhere.kvdyno("import", str(bundle))
    assert refused.status == 7
    assert "another run has this id" in refused.err
    assert len(elsewhere.records()) == 7, "nothing was taken"


def damage(member: tarfile.TarInfo, content: bytes) -> Member:
    return member, content[:-1] + b"x" if member.name.endswith("record.json") else content


def lose_records(member: tarfile.TarInfo, content: bytes) -> Member | None:
    return None if member.name.endswith("record.json") else (member, content)


def lose_the_list(member: tarfile.TarInfo, content: bytes) -> Member | None:
    return None if member.name == "bundle.json" else (member, content)


def come_from_later(member: tarfile.TarInfo, content: bytes) -> Member:
    if member.name == "bundle.json":
        content = content.replace(b"kvdyno.bundle/1", b"kvdyno.bundle/9")
    return member, content


def lead_out(member: tarfile.TarInfo, content: bytes) -> Member:
    """The list names it as well: only the name gives it away."""
    name = "runs/../../../outside"
    if member.name == "bundle.json":
        listed = json.loads(content)
        moved = next(each for each in listed["files"] if each.endswith("record.json"))
        listed["files"][name] = listed["files"].pop(moved)
        content = json.dumps(listed).encode()
    elif member.name.endswith("record.json"):
        member.name = name
    return member, content


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (damage, "the file is damaged"),
        (lose_records, "is missing: the file was cut"),
        (lose_the_list, "expected bundle.json as its first member"),
        (come_from_later, "a newer kvdyno wrote it"),
        (lead_out, "is not in its list"),
    ],
)
def test_what_is_not_whole_is_refused(bundle: Path, elsewhere: Checkout, change: Change, said: str) -> None:
    alter(bundle, change)
    refused = elsewhere.kvdyno("import", str(bundle))
    assert refused.status == 7
    assert said in refused.err
    assert elsewhere.records() == []
    assert not list((elsewhere.root / "results").glob(".import-*"))
    assert not list(elsewhere.root.parent.rglob("outside"))


def test_other_files_are_no_bundles(bundle: Path, elsewhere: Checkout, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(gzip.compress(b"text"))
    assert "expected a bundle of `kvdyno export`" in elsewhere.kvdyno("import", str(other)).err
    other.write_bytes(bundle.read_bytes()[:2000])
    assert elsewhere.kvdyno("import", str(other)).status == 7
    assert elsewhere.kvdyno("import", str(tmp_path / "none")).status == 2


def test_nothing_recorded_is_nothing_to_export(checkout: Checkout) -> None:
    refused = checkout.kvdyno("export", "tiny", "--uncapped")
    assert refused.status == 7
    assert "no record belongs to experiment 'tiny'" in refused.err


@pytest.mark.parametrize(
    ("member", "version"),
    [
        ("runs/x-0123456789ab/20260101T000000Z-r1-abcdef/record.json", "kvdyno.record/9"),
        ("sweeps/20260101T000000-abcdef01.json", "kvdyno.sweep/9"),
    ],
)
def test_what_a_newer_kvdyno_stored_is_refused(
    elsewhere: Checkout, tmp_path: Path, member: str, version: str
) -> None:
    stored, path = tmp_path / "stored.json", tmp_path / "later.tar.gz"
    stored.write_text(json.dumps({"schema_version": version}))
    members = {member: stored}
    names = {"experiment": "tiny", "profile": "quick", "commit": None, "sweeps": (), "hosts": ()}
    bundle = Bundle.model_validate({**names, "runs": 1, "files": bundled(members)})
    write_bundle(path, bundle, members)
    refused = elsewhere.kvdyno("import", str(path))
    assert refused.status == 7
    assert f"found {version}: a newer kvdyno wrote it" in refused.err
    assert "update kvdyno" in refused.err
    assert elsewhere.records() == []
    assert not (elsewhere.root / "results" / "sweeps").exists()
