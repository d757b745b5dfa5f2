"""Experiments that the harness writes itself: to a file that a person may read and run, then to a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from kvdyno.errors import StoreError
from kvdyno.model.point import Plan
from kvdyno.store import make_folder

from .sweep import Observer

#: Makes an observer for the plan that is measured next.
Watch = Callable[[Plan], AbstractContextManager[Observer]]


def write_yaml(path: Path, document: Mapping[str, Any]) -> Path:
    """Write the document as YAML, in place of what was there; returns its path. The file appears whole or not
    at all. Raises StoreError.
    """
    make_folder(path.parent)
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 110
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            yaml.dump(dict(document), stream)
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write: {error.strerror}", where=str(path)) from error
    return path
