"""Records and a bundle that earlier commits wrote, in version 1, are read and shown as today's are.

tests/fixtures/earlier holds what the code of two commits wrote about runs of the engine noop: `records` are
4931639's, `bundle.tar.gz` is 0d3ca9a's, without a page. Kernel, mount options, paths are shortened there.
"""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from .conftest import REPOSITORY, Checkout, make_checkout

EARLIER = REPOSITORY / "tests" / "fixtures" / "earlier"
BUNDLE = EARLIER / "bundle.tar.gz"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Checkout:
    """A checkout with the bundle's experiment, in which nothing is built or measured."""
    checkout = make_checkout(tmp_path / "elsewhere")
    with tarfile.open(BUNDLE) as archive:
        for name in ("experiments/earlier.yaml", "experiments/profiles.yaml"):
            stream = archive.extractfile(f"sources/{name}")
            assert stream
            (checkout.root / name).write_bytes(stream.read())
    for binary in checkout.binaries.iterdir():
        binary.unlink()
    return checkout


def test_a_report_is_made_of_an_earlier_bundle(elsewhere: Checkout) -> None:
    taken = elsewhere.kvdyno("import", str(BUNDLE))
    assert taken.status == 0, taken.err
    first, command = taken.out.splitlines()
    assert first == "1 run, 1 of them new"
    [path] = elsewhere.records()
    document = json.loads(path.read_text())
    assert document["schema_version"] == "kvdyno.record/1", "a record stays as it was written"
    assert "series.interval" not in document["point"]["properties"], "plans did not set it then"

    report = elsewhere.kvdyno(*command.split()[1:], "--uncapped", "--json")
    assert (report.status, report.json["reused"]) == (0, 1), report.err
    page = elsewhere.root / "results" / "reports" / "earlier-quick-uncapped" / "report.html"
    [link] = set(re.findall(r'href="([^"#]+record\.json)"', page.read_text()))
    assert (page.parent / link).samefile(path)


def test_earlier_records_are_shown(checkout: Checkout) -> None:
    """Today's fields refuse `probes`, which these have."""
    shutil.copytree(EARLIER / "records", checkout.runs)
    for path in checkout.records():
        assert json.loads(path.read_text())["probes"] == {}
    shown = checkout.kvdyno("show", "--json")
    assert shown.status == 0, shown.err
    assert shown.err == "", "none is corrupt"
    query = "select distinct slug, status from metrics order by slug"
    asked = checkout.kvdyno("show", "--sql", query, "--json")
    assert asked.json == [
        {"slug": "noop.1MiB.37458a77.load", "status": "ok"},
        {"slug": "noop.c.1MiB", "status": "ok"},
    ]
