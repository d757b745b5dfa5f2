"""Records of another results folder: brought once, never over what is here, refused with the reason."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from kvdyno.store import bring, finished

from .conftest import Checkout, make_checkout


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = make_checkout(tmp_path_factory.mktemp("there"))
    answer = checkout.kvdyno("run", "tiny", "--uncapped", "--repeat", "1")
    assert answer.status == 0, answer.err
    return checkout


@pytest.fixture
def there(measured: Checkout, tmp_path: Path) -> Path:
    """The results of another machine."""
    return Path(shutil.copytree(measured.root / "results", tmp_path / "there"))


@pytest.fixture
def here(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path / "here")


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_report_is_made_of_records_that_were_brought(here: Checkout, there: Path) -> None:
    runs = len(finished(there))
    first = here.kvdyno("sync", str(there), "--json")
    assert (first.status, first.json) == (0, {"new": runs, "same": 0, "refused": []})
    assert contents(here.runs) == contents(there / "runs")
    assert contents(here.root / "results" / "sweeps") == contents(there / "sweeps")
    assert not any((here.root / "results" / ".incoming").iterdir())
    again = here.kvdyno("sync", str(there))
    assert again.out == f"0 runs new, {runs} the same, 0 refused\n"
    assert here.kvdyno("report", "tiny", "--uncapped", "--repeat", "1", "--json").status == 0


def test_what_is_refused_is_named_and_the_rest_is_brought(here: Checkout, there: Path) -> None:
    here.kvdyno("sync", str(there))
    ours, *rest = finished(here.root / "results")
    shutil.rmtree(here.runs)
    shutil.copytree(there / ours.relative_to(here.root / "results"), ours)
    (ours / "record.json").write_text((ours / "record.json").read_text() + " ")
    kept = contents(ours)
    cut, newer, lacking, renamed = (there / run.relative_to(here.root / "results") for run in rest[:4])
    (cut / "record.json").write_text("{")
    record = json.loads((newer / "record.json").read_text())
    (newer / "record.json").write_text(json.dumps(record | {"schema_version": "kvdyno.record/99"}))
    (lacking / "driver.log").unlink()
    renamed.rename(renamed.with_name(renamed.name[:-6] + "000000"))
    answer = here.kvdyno("sync", str(there), "--json")
    assert answer.status == 7
    assert answer.json["new"] == len(rest) - 4
    reasons = " ".join(each["reason"] for each in answer.json["refused"])
    assert len(answer.json["refused"]) == 5
    for words in ("another run has this id", "kvdyno.record/99", "expected driver.log beside it"):
        assert words in reasons
    assert f"found that of {renamed.name}" in reasons
    assert str(cut / "record.json") in answer.err
    assert contents(ours) == kept
    assert len(finished(here.root / "results")) == 1 + answer.json["new"]


def test_a_sweep_of_the_same_id_stays_what_it_is_here(here: Checkout, there: Path) -> None:
    here.kvdyno("sync", str(there))
    (path,) = (here.root / "results" / "sweeps").glob("*.json")
    changed = path.read_text().replace('"tiny"', '"other"')
    path.write_text(changed)
    (there / "sweeps" / "damaged.json").write_text("{")
    answer = here.kvdyno("sync", str(there))
    assert answer.status == 7
    assert "another sweep has this id" in answer.err
    assert "damaged.json: expected a sweep that can be read here" in answer.err
    assert path.read_text() == changed


def test_many_may_bring_the_same_at_once(here: Checkout, there: Path) -> None:
    target = here.root / "results"
    done = []
    threads = [
        threading.Thread(target=lambda n=n: done.append(bring(there, target=target, sender=f"host{n}")))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4
    assert [each.refused for each in done] == [()] * 4
    assert contents(here.runs) == contents(there / "runs")
    assert not any((target / ".incoming").iterdir())


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system that holds a part of the runs."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_keeps_whole_runs_and_the_same_command_goes_on(
    here: Checkout, there: Path, full: Path
) -> None:
    stopped = here.kvdyno("sync", str(there), "--results", str(full))
    assert stopped.status == 7
    assert "No space left on device" in stopped.err
    assert "run the same command again" in stopped.err
    whole = contents(there / "runs")
    assert contents(full / "runs").items() <= whole.items()
    subprocess.run(["mount", "-o", "remount,size=64m", str(full)], check=True)
    assert here.kvdyno("sync", str(there), "--results", str(full)).status == 0
    assert contents(full / "runs") == whole


def test_a_folder_without_runs_is_no_source(here: Checkout, tmp_path: Path) -> None:
    answer = here.kvdyno("sync", str(tmp_path / "none"))
    assert answer.status == 2
    assert "expected a results folder" in answer.err


def test_records_go_through_a_url_and_arrive_as_they_were(
    measured: Checkout, here: Checkout, tmp_path: Path
) -> None:
    url = (tmp_path / "bucket" / "results").as_uri()
    runs = len(finished(measured.root / "results"))
    sent = measured.kvdyno("sync", "--to", url, "--json")
    assert (sent.status, sent.json) == (0, {"new": runs, "same": 0, "refused": []})
    assert measured.kvdyno("sync", "--to", url).out == f"0 runs new, {runs} the same, 0 refused\n"
    brought = here.kvdyno("sync", url, "--json")
    assert (brought.status, brought.json) == (0, {"new": runs, "same": 0, "refused": []})
    assert here.kvdyno("sync", url).out == f"0 runs new, {runs} the same, 0 refused\n"
    assert contents(here.runs) == contents(measured.runs)
    assert contents(here.root / "results/sweeps") == contents(measured.root / "results/sweeps")
    assert not any((here.root / "results" / ".incoming").iterdir())


def test_what_a_url_has_of_another_id_is_refused(here: Checkout, there: Path) -> None:
    url = there.as_uri()
    here.kvdyno("sync", url)
    changed, cut, *_ = (there / run.relative_to(here.root / "results") for run in finished(here.runs.parent))
    (changed / "record.json").write_text((changed / "record.json").read_text() + " ")
    shutil.rmtree(here.runs / cut.parent.name / cut.name)
    (cut / "record.json").write_text("{")
    for arguments, refused in (((url,), 2), (("--to", url), 1)):
        answer = here.kvdyno("sync", *arguments, "--json")
        assert answer.status == 7
        assert len(answer.json["refused"]) == refused
        assert "one has this id" in answer.err or "another run has this id" in answer.err
    assert (changed / "record.json").read_text().endswith(" ")


def test_a_part_that_was_sent_is_no_run_and_sending_goes_on(
    measured: Checkout, here: Checkout, tmp_path: Path
) -> None:
    bucket = tmp_path / "bucket"
    measured.kvdyno("sync", "--to", bucket.as_uri())
    half = finished(bucket)[0]
    (half / "record.json").unlink()
    runs = len(finished(measured.root / "results"))
    assert here.kvdyno("sync", bucket.as_uri(), "--json").json["new"] == runs - 1
    assert measured.kvdyno("sync", "--to", bucket.as_uri(), "--json").json["new"] == 1
    assert here.kvdyno("sync", bucket.as_uri(), "--json").json["new"] == 1
    assert contents(here.runs) == contents(measured.runs)


class QuotaError(Exception):
    """What a backend raises that is no OSError."""


class Bucket(LocalFileSystem):
    """Files behind quota://, of which a test makes some calls fail."""

    protocol = "quota"
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(LocalFileSystem._strip_protocol(str(path).removeprefix("quota://")))


@pytest.mark.parametrize(
    ("call", "brought", "sends", "words"),
    [
        ("__init__", False, False, "cannot open it"),
        ("find", False, False, "cannot list"),
        ("get_file", False, False, "cannot fetch"),
        ("cat_file", True, False, "cannot read"),
        ("find", True, True, "cannot list"),
        ("makedirs", True, True, "cannot make the folder"),
        ("put_file", True, True, "cannot send"),
    ],
)
def test_a_backends_own_error_names_url_call_and_remedy_and_the_same_command_goes_on(
    here: Checkout, there: Path, tmp_path: Path, call: str, brought: bool, sends: bool, words: str
) -> None:
    fsspec.register_implementation("quota", Bucket, clobber=True)
    url = f"quota://{tmp_path / 'bucket' if sends else there}"
    if brought:
        assert here.kvdyno("sync", str(there)).status == 0
    arguments = ("--to", url) if sends else (url,)

    def refuse(*_: object, **__: object) -> None:
        raise QuotaError("403, over quota")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bucket, call, refuse)
        failed = here.kvdyno("sync", *arguments)
    assert failed.status == 7
    assert failed.err.startswith(f"error: {url}: {words}")
    assert "QuotaError: 403, over quota" in failed.err
    assert "remedy: look at the URL, its credentials and the network" in failed.err
    assert here.kvdyno("sync", *arguments).status == 0
    assert contents(tmp_path / "bucket" / "runs" if sends else here.runs) == contents(there / "runs")


@pytest.mark.parametrize(("failure", "status"), [(QuotaError("403"), 7), (PermissionError("403"), 7)])
def test_a_folder_that_cannot_be_looked_at_is_not_taken_for_none(
    here: Checkout, tmp_path: Path, failure: Exception, status: int
) -> None:
    fsspec.register_implementation("quota", Bucket, clobber=True)

    def refuse(*_: object, **__: object) -> None:
        raise failure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bucket, "find", lambda *_: [])
        patch.setattr(Bucket, "info", refuse)
        failed = here.kvdyno("sync", f"quota://{tmp_path / 'none'}")
    assert failed.status == status
    assert "403" in failed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "expected SOURCE or --to URL"),
        (("/a", "--to", "file:///b"), "expected SOURCE or --to URL"),
        (("--to", "/b"), "expected a URL, found /b"),
        (("nothing://x",), "cannot open nothing://x"),
        (("--to", "s3://bucket"), "expected a package for s3://"),
        (("file:///nowhere/at/all",), "expected a results folder"),
    ],
)
def test_a_place_that_cannot_be_meant_is_an_error(
    here: Checkout, arguments: tuple[str, ...], words: str
) -> None:
    answer = here.kvdyno("sync", *arguments)
    assert answer.status == 2
    assert words in " ".join(answer.err.split())
