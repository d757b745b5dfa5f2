"""The command line: the only part of kvdyno that prints or exits."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from rich.text import Text

from kvdyno.errors import HostError, KvdynoError

# For their commands, in the order in which help lists them.
from . import (  # isort: skip
    measure,
    records,
    hosts,
    show,
    claims,
    paper,
    tuning,
    advise,
    regress,
    bisect,
    history,
    bundles,
    publish,
    engines,
    images,
    selftest,
    machine,
)
from .app import app, error_console
from .pages.shapes import harmless

__all__ = [
    "advise",
    "bisect",
    "bundles",
    "claims",
    "engines",
    "history",
    "hosts",
    "images",
    "machine",
    "main",
    "measure",
    "paper",
    "publish",
    "records",
    "regress",
    "selftest",
    "show",
    "tuning",
]


def main() -> None:
    """Entry point: errors go to stderr with the exit status of their kind, never as a stack trace."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, _as_interrupt)
    try:
        app()
    except KvdynoError as error:
        _fail(error)
    except OSError as error:
        _fail(HostError(error.strerror or str(error), where=error.filename and str(error.filename)))


def _fail(error: KvdynoError) -> None:
    error_console.print(Text.assemble(("error: ", "bold red"), harmless(str(error))), soft_wrap=True)
    sys.exit(error.exit_status)


def _as_interrupt(_number: int, _frame: FrameType | None) -> None:
    """A polite request to end, and a closed terminal, are treated like Ctrl-C: everything is put back."""
    raise KeyboardInterrupt
