"""The fake sweep as a paper's chapter, and a paper of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes_records import SIZES, Fake, Losses, Sweep, fake_sweep

from kvdyno.analysis import analyse
from kvdyno.model.papers import Chapter, Paper
from kvdyno.model.results import Analysis
from kvdyno.report import make_chapter

BASE = Path(__file__).parents[3] / "paper" / "base"


@pytest.fixture(scope="package")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """One point lost all its runs."""
    statuses: Losses = {("leveldb", "C", SIZES[2], r): "out_of_memory" for r in (1, 2, 3)}
    folder = tmp_path_factory.mktemp("runs")
    fake = Fake(folder=folder, repetitions=3, files=False, workloads=("P", "A", "C"), statuses=statuses)
    return fake_sweep(fake)


@pytest.fixture(scope="package")
def analysis(sweep: Sweep) -> Analysis:
    return analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the paper is made, its figures in it."""
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="package")
def chapter(sweep: Sweep, analysis: Analysis, folder: Path) -> Chapter:
    return make_chapter(analysis, sweep.experiment, folder=folder, inside=Path("figures/quickstart"))


@pytest.fixture
def paper() -> Paper:
    return Paper.model_validate(
        {
            "schema_version": "kvdyno.paper/1",
            "title": "Trial & error",
            "reproduces": "a trial",
            "abstract": "abstract.tex.j2",
            "sections": [{"title": "Results", "text": "text.tex.j2", "experiments": ["quickstart"]}],
        }
    )


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """The paper's own text."""
    (tmp_path / "abstract.tex.j2").write_text(
        r'Puts: \VAR{value("quickstart", engine="RocksDB", workload="P", dataset="4GiB")}.'
    )
    (tmp_path / "text.tex.j2").write_text(
        r'\VAR{claim("quickstart", "P-always")} \VAR{see("figure", "quickstart", "throughput")}.'
    )
    return tmp_path
