"""Instructions by call stack, from `valgrind --tool=callgrind`.

Callgrind counts what the clients' loops execute (`Client::Work` of the driver), and keeps the callers of each
function apart, so that its output names whole stacks.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kvdyno.errors import EngineError, HostError
from kvdyno.model.calls import CallProfile, Stack

from .fixed import FixedRun

_VALGRIND = "valgrind"
#: The function inside which instructions count, as callgrind's pattern and as its output spells it.
_COUNTED, _SYMBOL = "kvdyno::Client::Work", b"kvdyno6Client4Work"
_CALLERS = 40
_SECONDS = 300
_LOG_LINES = 8
_COST = re.compile(r"^[+\-*\d]\S* (\d+)$")


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which(_VALGRIND) is not None


def count_calls(binary: Path, run: FixedRun, *, scratch: Path) -> CallProfile:
    """Instructions per operation of the driver's fixed run, by stack.

    `scratch` is an empty folder for stores and output. Raises HostError without valgrind, EngineError when
    the driver fails under it or never enters a client's loop.
    """
    _demand_client(binary)
    runs = {"shorter": run.of(run.shorter), "longer": run.of(run.longer)}
    with ThreadPoolExecutor(len(runs)) as side_by_side:
        counts = side_by_side.map(lambda name: _stacks(_run(binary, runs[name], folder=scratch / name)), runs)
        shorter, longer = counts
    stacks = {
        stack: (count - shorter.get(stack, 0)) / run.counted
        for stack, count in longer.items()
        if count > shorter.get(stack, 0)
    }
    return CallProfile(run.counted, stacks)


def _demand_client(binary: Path) -> None:
    """Raises EngineError for a program without the counted function, before valgrind runs it for nothing."""
    if _SYMBOL not in binary.read_bytes():
        raise EngineError(
            f"expected a driver that has {_COUNTED}, found none in its symbols", where=str(binary)
        )


def _run(binary: Path, properties: Mapping[str, str], *, folder: Path) -> Path:
    """Callgrind's output of a run that loads a store and measures."""
    (folder / "store").mkdir(parents=True)
    asked, counts = folder / "point.properties", folder / "callgrind.out"
    asked.write_text("".join(f"{name}={text}\n" for name, text in sorted(properties.items())), "utf-8")
    command = [
        *(_VALGRIND, "--tool=callgrind", f"--callgrind-out-file={counts}"),
        # Threads take turns by instructions, so that background work meets clients at much the same moments.
        "--fair-sched=yes",
        *(f"--toggle-collect={_COUNTED}*", f"--separate-callers={_CALLERS}"),
        *("--compress-strings=no", "--compress-pos=no"),
        *(str(binary), "-load", "-run", "-P", str(asked)),
        *("-p", f"data.dir={folder / 'store'}", "-p", f"output.dir={folder}"),
    ]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={"PATH": os.defpath, "LC_ALL": "C", "LD_BIND_NOW": "1"},
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise HostError("no such program", where=_VALGRIND, remedy="apt-get install valgrind") from error
    except subprocess.TimeoutExpired as error:
        raise EngineError(f"did not end under valgrind within {_SECONDS} s", where=str(binary)) from error
    if done.returncode != 0 or not counts.is_file():
        end = "\n".join(f"    {line}" for line in done.stdout.splitlines()[-_LOG_LINES:])
        raise EngineError(f"fails under valgrind; its output ended with:\n{end}", where=str(binary))
    return counts


def _stacks(path: Path) -> Mapping[Stack, int]:
    """Instructions by stack, from the client's loop inwards."""
    found: defaultdict[Stack, int] = defaultdict(int)
    with path.open(encoding="utf-8", errors="replace") as lines:
        for function, cost in _own_costs(lines):
            stack = tuple(reversed(function.split("'")))
            begin = next((n for n, name in enumerate(stack) if name.startswith(_COUNTED)), None)
            if begin is not None:
                found[stack[begin:]] += cost
    return found


def _own_costs(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Each function, with its callers behind "'", and costs of its own lines; costs of calls are left out."""
    function, is_call = "", False
    for line in lines:
        if line.startswith("fn="):
            function = line[3:].rstrip("\n")
        elif line.startswith("calls="):
            is_call = True
        elif cost := _COST.match(line):
            if not is_call:
                yield function, int(cost[1])
            is_call = False
