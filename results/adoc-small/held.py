"""Writes held.csv: the highest rates at which the imitated disk worked, from the records of its runs.

held.py results/runs/*.few-operations.*/*/record.json
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

_FIELDS = ("rate", "kind", "runs", "value", "unit")


def main() -> None:
    """Reads the records named as arguments, writes the table beside this script."""
    records = [json.loads(Path(name).read_text("utf-8")) for name in sys.argv[1:]]
    held = [record["runner"]["details"]["device_held"] for record in records if record["status"] == "ok"]
    with Path(__file__).with_name("held.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=_FIELDS, lineterminator="\n")
        writer.writeheader()
        for rate in held[0]:
            unit = "byte/s" if "bytes" in rate else "op/s"
            for kind in ("limit", "highest"):
                row = (rate, kind, len(held), max(seen[rate][kind] for seen in held), unit)
                writer.writerow(dict(zip(_FIELDS, row, strict=True)))


if __name__ == "__main__":
    main()
