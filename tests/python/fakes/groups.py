"""Control groups on this machine, beside tests that make and remove others."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from pathlib import Path


def groups_like(pattern: str) -> list[Path]:
    """Groups that vanish meanwhile are passed over, where `Path.glob` fails."""
    walk = os.walk("/sys/fs/cgroup")
    return [Path(parent, name) for parent, names, _ in walk for name in names if fnmatch(name, pattern)]
