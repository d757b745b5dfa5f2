"""A bundle: records of an experiment with all that a reader elsewhere needs, in one file.

A gzipped tar of `bundle.json`, the list; `runs/` and `sweeps/` as they lie below results/; `sources/`, the
experiment file, profiles and workloads; and `report/`, the page made of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from .engine import Frozen

LIST = "bundle.json"
BUNDLE_SCHEMA = "kvdyno.bundle/1"

#: What becomes a record or a sweep where the bundle is imported; nothing else is unpacked.
STORED = re.compile(r"(runs/[^/]+/[^/]+|sweeps)/[^/]+")


class BundledFile(Frozen):
    """A member's size and the SHA-256 of its bytes."""

    bytes: int
    sha256: str


class Bundle(Frozen):
    """What is in a bundle. `commit` is that of the sources; None where they are in no checkout of git."""

    schema_version: Literal["kvdyno.bundle/1"] = "kvdyno.bundle/1"
    experiment: str
    profile: str
    commit: str | None
    sweeps: tuple[str, ...]
    hosts: tuple[str, ...]
    runs: int
    files: Mapping[str, BundledFile]
