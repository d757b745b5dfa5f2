"""An engine that misbehaves as a point's properties say: the runner's fake driver, as a built binary."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kvdyno.model.engine import OptionDescription

from .engines import YCSB_PROPERTIES, describe, option

NAME = "fakedb"

_FAKE_DRIVER = Path(__file__).parents[1] / "runner" / "fake_driver.py"

_PROPERTIES = (
    *YCSB_PROPERTIES,
    option("fake", "text", ""),
    option("fake.bytes", "bytes", "0"),
    option("fake.load", "text", "", shapes_data=True),
)

_SCRIPT = """\
#!/bin/sh
if [ "$1" = --describe ]; then
  cat <<'END'
{description}
END
  exit
fi
{before}
exec {python} -S -E {driver} "$@" $more
"""

# One measured run stays until a test ends it.
_HANG_ONCE = """\
if [ "$1" = -run ]; then
  echo >> {calls}
  [ "$(wc -l < {calls})" != {hanging} ] || more='-p fake=hang'
fi
"""


def build_fake(
    binaries: Path,
    *,
    calls: Path | None = None,
    hanging: int = 3,
    options: tuple[OptionDescription, ...] = (),
) -> Path:
    """The binary kvdyno-fakedb in `binaries`; the driver's property `fake` sets how it fails.

    With `calls` the measured run of number `hanging` hangs, whatever was asked: a line in that file is a
    measured run. `options` change nothing.
    """
    described = describe(NAME, options=options, properties=_PROPERTIES)
    description = described.model_dump(mode="json", exclude_none=True)
    path = binaries / f"kvdyno-{NAME}"
    path.write_text(
        _SCRIPT.format(
            description=json.dumps(description),
            before=_HANG_ONCE.format(calls=calls, hanging=hanging) if calls else "",
            python=sys.executable,
            driver=_FAKE_DRIVER,
        )
    )
    path.chmod(0o755)
    return path
