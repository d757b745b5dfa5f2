"""What the caches hold when a run starts: the policies of model.experiment.CachePolicy, put into effect."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from .cage import LAUNCH_FAILED

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")

# $0 is the store. Files are read in the order of their names: a cap too small for all keeps the last ones.
# Beyond what every shell knows it needs `cat`, and `dd` for sparse files: an image may hold no more.
_READ_THEN_EXEC = """
visit() {
  for file in "$1"/* "$1"/.[!.]*; do
    if [ -d "$file" ]; then visit "$file"
    elif [ -e "$file" ]; then
      case ${file#"$0"/} in
      %(sparse)s
      *) cat "$file" ;;
      esac || exit %(failed)d
    fi
  done
}
[ -r "$0" ] || exit %(failed)d
visit "$0" > /dev/null
exec "$@"
"""
_READ_PART = 'dd if="$file" bs=1048576 iflag=skip_bytes,count_bytes skip=%d count=%d 2> /dev/null'

# An argument may have 128 KiB.
_PARTS_MAX = 400


def warmed(store: Path, argv: Sequence[str], *, sparse: Mapping[str, Sequence[range]]) -> list[str]:
    """`argv` behind a reader of the whole store, but for the holes of its `sparse` files.

    It runs where `argv` will, inside the cage: pages are charged to the first process that touches them, so
    only such a reader's are the run's own, under its cap.
    """
    budget = _PARTS_MAX // max(1, len(sparse))
    cases = [f"{shlex.quote(name)}) {_reading(joined(parts, budget))} ;;" for name, parts in sparse.items()]
    script = _READ_THEN_EXEC % {"sparse": "\n      ".join(cases), "failed": LAUNCH_FAILED}
    return ["/bin/sh", "-c", script, str(store), *argv]


def _reading(parts: Sequence[range]) -> str:
    return " && ".join(_READ_PART % (part.start, len(part)) for part in parts) or ":"


def joined(parts: Sequence[range], at_most: int) -> list[range]:
    """At most so many parts, or one: the smallest gaps between them are closed."""
    left = list(parts)
    gap = 4096
    while len(left) > max(1, at_most):
        closer: list[range] = left[:1]
        for part in left[1:]:
            if part.start - closer[-1].stop <= gap:
                closer[-1] = range(closer[-1].start, part.stop)
            else:
                closer.append(part)
        left, gap = closer, 2 * gap
    return left


def drop_caches(*, file: Path = _DROP_CACHES) -> bool:
    """Have the kernel drop all clean pages, names and inodes of this machine; whether it did (root may)."""
    os.sync()
    try:
        file.write_text("3")
    except OSError:
        return False
    return True
