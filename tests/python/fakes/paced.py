"""An engine whose rate is an option: what a gate finds is known beforehand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .engines import YCSB_PROPERTIES, describe, option

NAME = "paced"

_FOLDER = Path(__file__).parents[1] / "runner"

_OPTIONS = (
    option("rate", "real", "1000", least=0),
    option("jitter", "real", "0", least=0),
    option("misses", "integer", "0", least=0),
    option("silent", "bool", "false"),
    option("fails", "bool", "false"),
    option("block", "bytes", "4096", least=1, shapes_data=True),
)
_PROPERTIES = (*YCSB_PROPERTIES, option("mix.seed", "integer", "1"))

_SCRIPT = """\
#!{python} -SE
import sys
sys.path.insert(0, {folder!r})
import fake_driver
from pathlib import Path

if sys.argv[1:] == ["--describe"]:
    print({description!r})
    sys.exit()
flags, properties = fake_driver.arguments()
store = Path(properties["data.dir"])
if "-load" in flags:
    fake_driver.load(store)
    (store / "FORMAT").write_text({form!r})
elif (found := (store / "FORMAT").read_text()) != {form!r}:
    message = f"open FORMAT: expected {form}, found {{found}}"
    fake_driver.fail(properties, 2, word="corruption", message=message)
if properties.get("paced.fails") == "true" and "-run" in flags:
    fake_driver.fail(properties, 3, word="corruption", message="key 7: expected stamp 1, found 2")
document = fake_driver.outcome(["load", "settle"] if "-load" in flags else ["measure", "drain"])
# A repetition's weather disturbs both arms alike.
weather = 1 + 0.05 * (int(properties.get("mix.seed", "1")) % 3)
own = 1 + float(properties.get("paced.jitter", "0")) * (int(properties.get("mix.seed", "1")) % 2)
rate = float(properties.get("paced.rate", "1000")) * weather * own
for phase in document["phases"]:
    phase["metrics"]["throughput"]["value"] = rate
    if properties.get("paced.silent") != "true":
        misses = float(properties.get("paced.misses", "{misses}"))
        phase["metrics"]["read.not_found"] = dict(value=misses, unit="op")
fake_driver.finish(properties, document, 0)
{padding}
"""

SUITE = """\
title: A gate
engines: [paced]
grid:
  workload: [c]
  dataset: [256MiB]
cap: 2GiB
repetitions: 12
gate:
  metrics: [{metric: throughput, phase: measure}, {metric: read.not_found, phase: measure, exact: true}]
  margin: 0.05
  budget: 10min
"""


def build_paced(binaries: Path, *, form: str = "1", misses: int = 0, padding: int = 0) -> Path:
    """The binary kvdyno-paced in `binaries`, which opens stores of its own form alone.

    Without the option its gets miss `misses` keys. It is larger by `padding` bytes.
    """
    description = describe(NAME, options=_OPTIONS, properties=_PROPERTIES)
    text = json.dumps(description.model_dump(mode="json", exclude_none=True))
    path = binaries / f"kvdyno-{NAME}"
    words = {"python": sys.executable, "folder": str(_FOLDER), "description": text, "form": form}
    path.write_text(_SCRIPT.format(**words, misses=misses, padding="#" * padding))
    path.chmod(0o755)
    return path
