"""Commits that no branch holds: this checkout's sources with a slower get, and a history of several.

The same base gives the same commits, so that an interrupted measurement goes on.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

_FILE = "engines/chunkstore/CMakeLists.txt"
_DEFAULT = "set(CHUNKSTORE_TEST_SLOWDOWN_GET 0 CACHE"
_WHO = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (
        ("NAME", "bench-gate"),
        ("EMAIL", "bench-gate@localhost"),
        ("DATE", "2026-01-01T00:00:00Z"),
    )
}


def slower(root: Path, base: str, *, instructions: int) -> str:
    """A commit after `base` whose gets execute so many instructions in vain."""
    return _commit(root, base, _slowed(_text(root, base), instructions), subject="a slower get")


def history(root: Path, base: str, *, commits: int, planted: int, instructions: int) -> tuple[str, ...]:
    """Commits after `base`, oldest first: each changes a comment of the sources, number `planted` (from 1)
    the cost of a get as well."""
    made: list[str] = []
    text = _text(root, base)
    for number in range(1, commits + 1):
        text += f"\n# Commit {number} of a made history.\n"
        if number == planted:
            text = _slowed(text, instructions)
        made.append(_commit(root, made[-1] if made else base, text, subject=f"commit {number}"))
    return tuple(made)


def _slowed(text: str, instructions: int) -> str:
    if text.count(_DEFAULT) != 1:
        raise ValueError(f"{_FILE}: expected one line with {_DEFAULT!r}, found {text.count(_DEFAULT)}")
    return text.replace(_DEFAULT, _DEFAULT.replace(" 0 ", f" {instructions} "))


def _text(root: Path, commit: str) -> str:
    return _git(root, "show", f"{commit}:{_FILE}")


def _commit(root: Path, parent: str, text: str, *, subject: str) -> str:
    """The parent with another text of the file; neither index, branch nor files of the checkout change."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"GIT_INDEX_FILE": str(Path(folder) / "index"), **_WHO}
        blob = _git(root, "hash-object", "-w", "--stdin", text=text).strip()
        _git(root, "read-tree", parent, own=own)
        _git(root, "update-index", "--cacheinfo", f"100644,{blob},{_FILE}", own=own)
        tree = _git(root, "write-tree", own=own).strip()
        return _git(root, "commit-tree", tree, "-p", parent, "-m", subject, own=own).strip()


def _git(root: Path, *arguments: str, text: str | None = None, own: dict[str, str] | None = None) -> str:
    command = ["git", "-C", str(root), *arguments]
    environment = {**os.environ, **(own or {})}
    return subprocess.run(
        command, input=text, env=environment, capture_output=True, text=True, check=True
    ).stdout
