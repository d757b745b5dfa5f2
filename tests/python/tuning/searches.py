"""Whole searches on a simulated engine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.projects import make_project

from kvdyno import pipeline
from kvdyno.model.project import Project
from kvdyno.model.search import SearchFound

from .surfaces import ENGINE, Simulation, add_engine, no_report, number, silent

REPOSITORY = Path(__file__).parents[3]
SEARCH = sys.modules["kvdyno.pipeline.search"]
BENCH = sys.modules["kvdyno.pipeline.search_bench"]
ASKED = pipeline.SearchRequest(
    engine=ENGINE,
    workloads=("a",),
    objectives=("throughput", "read.p99"),
    budget_seconds=1e6,
    tries=8,
    unseen=("c",),
    dataset="8GiB",
)


def filters_pay(properties: Mapping[str, str], _workload: str) -> float | None:
    """Filters make everything faster, by a factor of 2 at 20 bits; caches above 64 MiB are too much."""
    if number(properties, "cache_size", 0) > 64 << 20:
        return None
    return 50_000 * (1 + number(properties, "filter_bits", 0) / 20)


def searched_project(folder: Path) -> Project:
    """A made project with an engine to search."""
    project = make_project(folder)
    add_engine(project)
    (project.root / "paper").symlink_to(REPOSITORY / "paper")
    return project


def search(
    project: Project, simulation: Simulation, monkeypatch: pytest.MonkeyPatch, **changes: Any
) -> SearchFound:
    monkeypatch.setattr(BENCH, "sweep", simulation)
    monkeypatch.setattr(SEARCH, "write_report", no_report)
    asked = replace(ASKED, **changes)
    return pipeline.search(project, asked, how=pipeline.SweepSettings(), watch=silent)
