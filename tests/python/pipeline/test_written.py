"""Experiments that the harness writes itself appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml.representer import RepresenterError

from kvdyno.errors import StoreError
from kvdyno.pipeline.written import write_yaml


def test_a_write_that_ends_early_leaves_what_was_there(tmp_path: Path) -> None:
    path = write_yaml(tmp_path / "new" / "try.yaml", {"title": "Try 1"})
    with pytest.raises(RepresenterError):
        write_yaml(path, {"title": "Try 2", "engines": object()})
    assert path.read_text() == "title: Try 1\n"


def test_a_place_that_takes_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "try.yaml").mkdir()
    with pytest.raises(StoreError, match=r"try\.yaml: cannot write"):
        write_yaml(tmp_path / "try.yaml", {"title": "Try 1"})
