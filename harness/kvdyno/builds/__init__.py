"""Builds: an engine's library from an archive of a package registry, and the drivers that load it.

What a version is and where its build lies is `kvdyno.model.versions`'s business.
"""

from .archive import get_archive
from .build import build_here, build_version, run_conformance
from .look import VersionState, needed_packages, version_states, wanted_versions, wanted_without_version
from .revision import (
    Revision,
    build_revision,
    build_tree,
    changed_sources,
    commit_of,
    commits_between,
    tree_key,
)
from .work import Step

__all__ = [
    "Revision",
    "Step",
    "VersionState",
    "build_here",
    "build_revision",
    "build_tree",
    "build_version",
    "changed_sources",
    "commit_of",
    "commits_between",
    "get_archive",
    "needed_packages",
    "run_conformance",
    "tree_key",
    "version_states",
    "wanted_versions",
    "wanted_without_version",
]
