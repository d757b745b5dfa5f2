"""What the caches hold when a run starts: the policies of model.experiment.CachePolicy, put into effect."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from .cage import LAUNCH_FAILED

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")

# $0 is the store. Files are read in the order of their names: a cap too small for all keeps the last ones.
# Beyond what every shell knows it needs `cat`: an image may hold no more.
_READ_THEN_EXEC = f"""
visit() {{
  for file in "$1"/* "$1"/.[!.]*; do
    if [ -d "$file" ]; then visit "$file"
    elif [ -e "$file" ]; then cat "$file" || exit {LAUNCH_FAILED}
    fi
  done
}}
[ -r "$0" ] || exit {LAUNCH_FAILED}
visit "$0" > /dev/null
exec "$@"
"""


def warmed(store: Path, argv: Sequence[str]) -> list[str]:
    """`argv` behind a reader of the whole store.

    It runs where `argv` will, inside the cage: pages are charged to the first process that touches them, so
    only such a reader's are the run's own, under its cap.
    """
    return ["/bin/sh", "-c", _READ_THEN_EXEC, str(store), *argv]


def drop_caches(*, file: Path = _DROP_CACHES) -> bool:
    """Have the kernel drop all clean pages, names and inodes of this machine; whether it did (root may)."""
    os.sync()
    try:
        file.write_text("3")
    except OSError:
        return False
    return True
