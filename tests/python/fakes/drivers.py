"""An engine that misbehaves as a point's properties say: the runner's fake driver, as a built binary."""

from __future__ import annotations

import json
import sys
from pathlib import Path

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

# Its third measured run stays until a test ends it.
_HANG_ONCE = """\
if [ "$1" = -run ]; then
  echo >> {calls}
  [ "$(wc -l < {calls})" != 3 ] || more='-p fake=hang'
fi
"""


def build_fake(binaries: Path, *, calls: Path | None = None) -> Path:
    """The binary kvdyno-fakedb in `binaries`; the driver's property `fake` sets how it fails.

    With `calls` its third measured run hangs, whatever was asked: a line in that file is a measured run.
    """
    description = describe(NAME, properties=_PROPERTIES).model_dump(mode="json", exclude_none=True)
    path = binaries / f"kvdyno-{NAME}"
    path.write_text(
        _SCRIPT.format(
            description=json.dumps(description),
            before=_HANG_ONCE.format(calls=calls) if calls else "",
            python=sys.executable,
            driver=_FAKE_DRIVER,
        )
    )
    path.chmod(0o755)
    return path
