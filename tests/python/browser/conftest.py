"""Debian's Chromium, driven by playwright, and two pages for it: one like a quickstart's, one of 120 points.

KVDYNO_TEST_BROWSER=1 asks for these tests, `harness/setup.sh browser` installs what they need. Screenshots
stay under build/page/.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes_records import MIB, SIZES, Fake, Losses, Sweep, fake_sweep

from kvdyno.analysis import analyse
from kvdyno.model.record import Metric, Outcome
from kvdyno.report import write_report

ROOT = Path(__file__).parents[3]
SHOTS = ROOT / "build" / "page"
COMMANDS = ("make experiment EXPERIMENT=quickstart PROFILE=small",)
_WIDTH, _HEIGHT = 1280, 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    wanted = os.environ.get("KVDYNO_TEST_BROWSER") == "1"
    reason = "takes a minute and a browser: KVDYNO_TEST_BROWSER=1 asks for it"
    for item in items:
        if not wanted and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@dataclass
class Visit:
    """A page in the browser, its messages and its requests."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def shot(self, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=True)


Visitor = Callable[..., Visit]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (harness/requirements-dev.in)"
    )
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed: harness/setup.sh browser")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=sandbox)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Visitor]:
    """Opens a page in a window of its own: `visit(path, fragment, width=…, dark=…, script=…)`."""
    contexts = []

    def opened(
        path: Path, fragment: str = "", *, width: int = _WIDTH, dark: bool = False, script: bool = True
    ) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": _HEIGHT},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
        )
        contexts.append(context)
        found = Visit(context.new_page())
        found.page.on("console", lambda message: found.messages.append(message.text))
        found.page.on("pageerror", lambda error: found.messages.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.goto(f"file://{path}{fragment}")
        return found

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    script = ROOT / ".kvdyno" / "axe" / "package" / "axe.min.js"
    if not script.is_file():
        pytest.skip("axe-core is not installed: harness/setup.sh browser")
    return script.read_text("utf-8")


def _written(sweep: Sweep, out: Path) -> Path:
    found = analyse(sweep.experiment, sweep.plan, sweep.records, run_dirs=sweep.run_dirs)
    return write_report(found, sweep.experiment, out=out, commands=COMMANDS).html


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 points of two engines, one run lost."""
    folder = tmp_path_factory.mktemp("results")
    lost: Losses = {("leveldb", "C", SIZES[2], 2): "out_of_memory"}
    fake = Fake(folder=folder / "runs", repetitions=3, statuses=lost)
    return _written(with_counters(fake_sweep(fake)), folder / "reports" / "quickstart-small")


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 points with as many counters and series as an engine reports."""
    folder = tmp_path_factory.mktemp("results")
    sizes = tuple(16 * MIB << step for step in range(15))
    sweep = with_counters(fake_sweep(Fake(folder=folder / "runs", repetitions=3, sizes=sizes)))
    return _written(sweep, folder / "reports" / "wide-small")


def with_counters(sweep: Sweep) -> Sweep:
    """The sweep with sixty counters of the engine in each phase, and twenty more series."""
    names = [f"engine.counter_{number}_bytes" for number in range(60)]
    records = []
    for place, record in enumerate(sweep.records):
        outcome = record.outcome
        if outcome is not None:
            outcome = _more(outcome, names, seed=place)
            path = sweep.run_dirs[record.run_id] / "series.csv"
            path.write_text(_more_series(path.read_text(), names[:20], seed=place))
        records.append(record.model_copy(update={"outcome": outcome}))
    return Sweep(sweep.experiment, sweep.plan, tuple(records), sweep.run_dirs)


def _more(outcome: Outcome, names: list[str], *, seed: int) -> Outcome:
    more = {n: Metric(value=(7919 * (seed + at)) % 99991 * 1e3, unit="byte") for at, n in enumerate(names)}
    phases = tuple(p.model_copy(update={"metrics": {**p.metrics, **more}}) for p in outcome.phases)
    assert outcome.series
    columns = {**outcome.series.columns, **dict.fromkeys(names[:20], "byte")}
    series = outcome.series.model_copy(update={"columns": columns})
    return outcome.model_copy(update={"phases": phases, "series": series})


def _more_series(text: str, names: list[str], *, seed: int) -> str:
    head, *rows = text.splitlines()
    lines = [",".join([head, *names])]
    for at, row in enumerate(rows):
        values = [(104729 * (seed + at) + 31 * place) % 99991 * 1000 for place in range(len(names))]
        lines.append(",".join([row, *map(str, values)]))
    return "\n".join(lines) + "\n"
