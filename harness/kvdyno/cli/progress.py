"""The live display of a sweep: point, repetition, phase, op/s, time left.

On a terminal two lines are redrawn below a list of finished runs; elsewhere (a log, CI) there is the list.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from kvdyno.model.point import Run
from kvdyno.model.record import Record
from kvdyno.runner import Progress

from .app import say_waiting
from .pages.shapes import counted, harmless

_BAR_CELLS = 24


class Forecast:
    """The work ahead, in expected seconds: runs, and the loads that they need first.

    How long it will still take is what the plan expects of it, at the pace of what is done.
    """

    def __init__(self, todo: Sequence[Run]) -> None:
        datasets = {run.dataset.identity: run.dataset for run in todo if run.dataset}
        self._runs = {(run.point.identity, run.repetition): run.point.expected_seconds for run in todo}
        self._loads = {identity: dataset.expected_seconds for identity, dataset in datasets.items()}
        self._expected = self._spent = 0.0

    def ended(self, record: Record, *, seconds: float) -> None:
        """A run or a load took `seconds`. After a run, its dataset needs no load any more."""
        expected = self._runs.pop((record.point.identity, record.repetition), None)
        if expected is None:
            expected = self._loads.pop(record.point.identity, 0.0)
        self._loads.pop(record.point.dataset or "", None)
        self._expected += expected
        self._spent += seconds

    def seconds_left(self, *, current: float) -> float:
        """Seconds that the whole sweep still takes, when what runs now has run for `current` seconds."""
        pace = self._spent / self._expected if self._expected else 1.0
        return max(0.0, pace * (sum(self._runs.values()) + sum(self._loads.values())) - current)


class SweepDisplay:
    """Watches a sweep (see pipeline.Observer). A context: leaving it restores the terminal."""

    def __init__(
        self, console: Console, forecast: Forecast, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._forecast = forecast
        self._clock = clock
        self._total = self._number = 0
        self._run: Run | None = None
        self._load: Run | None = None
        self._latest: Progress | None = None
        self._begun = clock()
        # Live asks at once for what to draw.
        self._live = Live(console=console, get_renderable=self.__rich__, refresh_per_second=4, transient=True)

    def __enter__(self) -> SweepDisplay:
        """Start drawing, on a terminal."""
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing."""
        self._run = self._load = self._latest = None
        self._live.stop()

    def waiting(self, holder: str) -> None:
        """See pipeline.Observer."""
        say_waiting(holder)

    def started(self, total: int, *, confined: str, removed: Sequence[str]) -> None:
        """See pipeline.Observer."""
        self._total = total
        for name in removed:
            self._console.print(f"removed what a killed sweep left: {name}", soft_wrap=True)
        if total:
            self._console.print(f"{counted(total, 'run')} to measure, confined by {confined}")
        else:
            self._console.print("every run is stored already: nothing to measure")

    def load_started(self, run: Run) -> None:
        """See pipeline.Observer."""
        self._load, self._latest = run, None
        self._begun = self._clock()

    def run_started(self, run: Run, *, number: int) -> None:
        """See pipeline.Observer."""
        self._run, self._number, self._latest = run, number, None
        self._begun = self._clock()

    def progress(self, progress: Progress) -> None:
        """See pipeline.Observer."""
        self._latest = progress

    def run_ended(self, record: Record) -> None:
        """See pipeline.Observer. Loads end too, without being counted."""
        seconds = self._clock() - self._begun
        self._forecast.ended(record, seconds=seconds)
        line = self._ended_line(record, seconds, is_load=self._load is not None)
        self._console.print(line, soft_wrap=True)
        self._begun, self._load, self._latest = self._clock(), None, None

    def _ended_line(self, record: Record, seconds: float, *, is_load: bool) -> Text:
        width = len(str(self._total))
        repetition = None if is_load else record.repetition
        line = self._heading(record.point.slug, repetition=repetition, width=width)
        if record.status != "ok":
            reason = record.failure.reason.splitlines()[0] if record.failure else ""
            indent = "\n" + " " * (2 * width + 3)
            return line.append(indent + record.status.replace("_", " "), "bold red").append(
                f": {harmless(reason)}"
            )
        phase = record.phase("run") or record.phase("build")
        throughput = phase.metrics.get("throughput") if phase else None
        if throughput:
            line.append(f"  {throughput.value:,.0f} {throughput.unit}", "bold")
        return line.append(f"  {seconds:.1f} s", "dim")

    def _heading(self, slug: str, *, repetition: int | None, width: int) -> Text:
        """What runs; a load has no repetition, and is not counted."""
        if repetition is None:
            return Text.assemble(("load".rjust(2 * width + 1) + "  ", "dim"), slug)
        place = f"{self._number:>{width}}/{self._total}  "
        return Text.assemble((place, "dim"), slug, (f" r{repetition}", "dim"))

    def __rich__(self) -> Group:
        """What is drawn now."""
        shown = self._load or self._run
        now = self._latest
        if shown is None and now is None:
            return Group()
        repetition = shown.repetition if shown and not self._load else None
        slug = shown.point.slug if shown else "snapshots"
        where = self._heading(slug, repetition=repetition, width=0)
        filled = round((now.fraction or 0.0) * _BAR_CELLS) if now else 0
        how_far = Text.assemble(
            (f"{now.phase if now else 'preparing':<10}", "bold"),
            ("━" * filled, "green"),
            ("━" * (_BAR_CELLS - filled), "dim"),
            f"  {now.rate:,.0f} {now.unit}" if now else "",
            (
                f"  {_clock_face(self._forecast.seconds_left(current=self._clock() - self._begun))} left",
                "dim",
            ),
        )
        lines = (where, how_far)
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)


def _clock_face(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _Budget(Forecast):
    """A gate takes at most its budget; what it will need is not known beforehand."""

    def __init__(self, seconds: float, *, clock: Callable[[], float]) -> None:
        super().__init__(())
        self._clock = clock
        self._end = clock() + seconds

    def seconds_left(self, *, current: float) -> float:  # noqa: ARG002 - a budget includes what runs now
        """Seconds until the budget ends."""
        return max(0.0, self._end - self._clock())


class GateDisplay(SweepDisplay):
    """Watches every sweep of a gate; each of them measures one pair."""

    def __init__(
        self, console: Console, *, budget_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console, _Budget(budget_seconds, clock=clock), clock=clock)
        self._announced = False

    def started(self, total: int, *, confined: str, removed: Sequence[str]) -> None:
        """See pipeline.Observer. What is the same for all pairs is printed once."""
        for name in removed:
            self._console.print(f"removed what a killed sweep left: {name}", soft_wrap=True)
        if total and not self._announced:
            self._announced = True
            self._console.print(f"measuring pairs, confined by {confined}")
        self._total = total
