"""What each start of the command pays for, whatever it is asked."""

from __future__ import annotations

import subprocess
import sys

#: Took three tenths of a start (CPU time), and few commands need it.
DEAR = "scipy.stats"


def test_a_command_starts_without_what_few_need() -> None:
    script = f"import sys, kvdyno.cli; print({DEAR!r} in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert found.stdout == "False\n"
