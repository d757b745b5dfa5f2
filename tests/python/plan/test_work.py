"""How often planning does what it need not do for each point."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fakes import engines

from kvdyno.model import options
from kvdyno.plan import make, resolve

from .helpers import plan_of

TEXT = """\
title: A test
engines: [rocksdb, chunks]
grid:
  workload: [a, c]
  dataset: [{sizes}]
  threads: [1, 2, 3, 4, 5]
cap: 2GiB
"""


def work_of(sizes: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, Counter[str]]:
    """Points of a plan, and how often texts of properties and files of workloads were read."""
    calls: Counter[str] = Counter()
    parse, read = options.parse_value, make.read_properties

    def parsed(option: options.OptionDescription, value: options.AxisValue) -> options.AxisValue:
        calls["values"] += 1
        return parse(option, value)

    def opened(path: Path) -> object:
        calls["files"] += 1
        return read(path)

    with monkeypatch.context() as patch:
        patch.setattr(resolve, "parse_value", parsed)
        patch.setattr(make, "read_properties", opened)
        text = TEXT.format(sizes=", ".join(f"{256 + size}MiB" for size in range(sizes)))
        return len(plan_of(text, catalog=engines.catalog()).points), calls


def test_a_plan_reads_a_workload_once_and_a_value_once_for_each_text(monkeypatch: pytest.MonkeyPatch) -> None:
    few, few_calls = work_of(2, monkeypatch)
    many, many_calls = work_of(12, monkeypatch)
    assert (few, many) == (40, 240)
    assert few_calls["files"] == many_calls["files"] == 2
    # More points bring new record counts, and the operations that follow from them; nothing else is new.
    assert (many_calls["values"] - few_calls["values"]) / (many - few) < 1
