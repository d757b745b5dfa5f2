"""From LaTeX to a PDF that passes its checks: nothing undefined or overfull, fonts embedded, no raster."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kvdyno.errors import HostError, SpecError

_TOOLS = ("latexmk", "pdflatex", "pdffonts", "pdfimages")
_TIMEOUT_SECONDS = 300
_LOG_LINES = 15
_ERROR = re.compile(r"^(?:\./)?([^\s:]+\.tex):(\d+): (.+)$", re.MULTILINE)
_WARNINGS = re.compile(
    r"^(?:LaTeX Warning: (?P<warning>(?:Reference|Citation|Label) .+|Float too large .+)"
    r"|(?P<box>Overfull \\[hv]box .+))$",
    re.MULTILINE,
)
_LINES = re.compile(r"(?:on input line|at lines?) (\d+)")
_PAGES = re.compile(r"Output written on .+ \((\d+) pages?")
#: LaTeX breaks its log's lines there, which would hide a warning's end.
_LOG_WIDTH = "10000"


def check_tools() -> None:
    """Raise HostError if a program is missing, before anything is made."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise HostError(
            f"expected {', '.join(_TOOLS)}, found no {' and no '.join(missing)}",
            remedy="harness/setup.sh latex installs them; --tex-only writes LaTeX without them",
        )


def build_pdf(source: Path, *, epoch: int) -> tuple[Path, int]:
    """The PDF beside `source`, and its pages. Equal sources and `epoch` (Unix seconds) give equal bytes.

    Raises HostError if a program is missing, SpecError if LaTeX fails or a check refuses its result, with
    file and line.
    """
    check_tools()
    command = ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-file-line-error"]
    settings = {"SOURCE_DATE_EPOCH": str(epoch), "FORCE_SOURCE_DATE": "1", "max_print_line": _LOG_WIDTH}
    try:
        done = subprocess.run(
            [*command, "-silent", source.name],
            cwd=source.parent,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SpecError(f"LaTeX did not end within {_TIMEOUT_SECONDS} s", where=str(source)) from error
    log = _log(source)
    if done.returncode:
        raise _failure(source, log or done.stderr.decode(errors="replace"))
    pdf = source.with_suffix(".pdf")
    found = [*log_complaints(log, source), *_font_complaints(pdf), *_raster_complaints(pdf)]
    if found:
        listed = "".join(f"\n  {complaint}" for complaint in found)
        raise SpecError(f"the PDF does not pass: {len(found)} complaints{listed}", where=str(source))
    pages = _PAGES.search(log)
    return pdf, int(pages[1]) if pages else 0


def log_complaints(log: str, source: Path) -> Iterator[str]:
    """What is wrong with a PDF that LaTeX made all the same: "paper.tex:12: Overfull …"."""
    for found in _WARNINGS.finditer(log):
        text = found["warning"] or found["box"]
        line = _LINES.search(text)
        yield f"{source.name}:{line[1]}: {text}" if line else text


def _log(source: Path) -> str:
    try:
        return source.with_suffix(".log").read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _failure(source: Path, log: str) -> SpecError:
    end = "\n".join(f"  | {line}" for line in log.rstrip().splitlines()[-_LOG_LINES:])
    found = _ERROR.search(log)
    where = f"{source.parent / found[1]}:{found[2]}" if found else str(source)
    return SpecError(f"LaTeX failed: {found[3] if found else 'no reason given'}\n{end}", where=where)


def _font_complaints(pdf: Path) -> Iterator[str]:
    for line in _asked("pdffonts", str(pdf)):
        if "Type 3" in line:
            yield f"a font of pixels or drawings (Type 3): {line.split()[0]}"
        elif line.split()[-5] != "yes":  # emb, before sub, uni and the object's two numbers
            yield f"a font that is not embedded: {line.split()[0]}"


def _raster_complaints(pdf: Path) -> Iterator[str]:
    for line in _asked("pdfimages", "-list", str(pdf)):
        yield f"a picture of pixels on page {line.split()[0]}"


def _asked(*command: str) -> list[str]:
    """The lines of a program's table, below its two lines of heads."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    return done.stdout.splitlines()[2:]
