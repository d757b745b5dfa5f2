"""The holder: the shell that is a container's first process, and the driver's parent.

A container's counters go when its last process ends, an exit status goes with its Engine, and a driver as
first process would be spared its own signals. So a shell stays inside: it sends all output and progress to
files of this machine, passes SIGTERM on, copies the counters out before it leaves, and ends everything when
the harness is gone: that holds the other end of the leash.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvdyno.model.image import DATA

from .cage import LAUNCH_FAILED, read_counter, read_number
from .disk import remove_tree

#: The descriptor that the driver writes its progress to.
PROGRESS_FD = 3

_FOLDER = ".holder"
_PROGRESS, _LEASH = "progress", "leash"
_CPU_FILES = ("cpuacct/cpuacct.usage", "cpu.stat")
_NANOSECONDS, _MICROSECONDS = 1e-9, 1e-6

# $0 is the holder's folder, $1 the log, $2 the files to copy, the rest the driver's command line. It knows
# only what every shell does: an image may hold no more.
_SCRIPT = f"""
[ -w "$0/{_PROGRESS}" ] && [ -w "$1" ] && [ -w {DATA} ] || exit {LAUNCH_FAILED}
exec >> "$1" 2>&1 {PROGRESS_FD}> "$0/{_PROGRESS}"
files=$2
shift 2
(read -r _ < "$0/{_LEASH}"; kill -KILL -1) {PROGRESS_FD}>&- &
"$@" &
driver=$!
trap 'kill -TERM $driver' TERM
wait $driver
status=$?
while kill -0 $driver 2> /dev/null; do
  wait $driver
  status=$?
done
for file in $files; do
  [ -r "/sys/fs/cgroup/$file" ] || continue
  while read -r line; do echo "$line"; done < "/sys/fs/cgroup/$file" > "$0/${{file##*/}}"
done
exit $status
"""


@dataclass(frozen=True)
class Holder:
    """This machine's side of one holder. The container sees `output`, the run's folder, as `inside`."""

    output: Path
    inside: Path
    progress: int
    leash: int

    @staticmethod
    def make(output: Path, *, inside: Path) -> Holder:
        """Make the pipes, and open them: neither waits for the other side. Raises OSError."""
        folder = output / _FOLDER
        folder.mkdir()
        for name in (_PROGRESS, _LEASH):
            os.mkfifo(folder / name)
        progress = os.open(folder / _PROGRESS, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        leash = os.open(folder / _LEASH, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        return Holder(output=output, inside=inside, progress=progress, leash=leash)

    @property
    def report(self) -> Path:
        """Where the copies are, under the names that the kernel gave them."""
        return self.output / _FOLDER

    def command(self, argv: Sequence[str], *, log: Path, counters: Sequence[str]) -> list[str]:
        """`argv` below a holder that copies these files of the container's cgroup."""
        inside_log = self.inside / log.relative_to(self.output)
        files = " ".join((*counters, *_CPU_FILES))
        return ["/bin/sh", "-c", _SCRIPT, str(self.inside / _FOLDER), str(inside_log), files, *argv]

    def cpu_seconds(self) -> float:
        """CPU time of all that was in the container; 0 if that was not reported."""
        nanoseconds = read_number(self.report / "cpuacct.usage")
        if nanoseconds is not None:
            return nanoseconds * _NANOSECONDS
        return read_counter(self.report / "cpu.stat", "usage_usec") * _MICROSECONDS

    def close(self) -> None:
        """Let go of the leash: whatever is still inside ends. The report goes too."""
        os.close(self.progress)
        os.close(self.leash)
        remove_tree(self.report)
