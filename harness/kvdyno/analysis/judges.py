"""How gauges are judged: by which factor a run, a host or a stretch of runs must differ from the others."""

from __future__ import annotations

from dataclasses import dataclass

#: Fewer records than this of a host define no normal.
NORMAL_RECORDS = 5
#: Modified z-scores above are outliers: Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993.
OUTLIER = 3.5
_Z_SCALE = 0.6745


@dataclass(frozen=True)
class Judge:
    """How a gauge is judged: by which factor it must be worse than normal; whether more of it is better."""

    gauge: str
    factor: float
    what: str
    unit: str
    remedy: str
    more_is_better: bool = False

    def is_off(self, value: float, *, normal: float, deviation: float) -> bool:
        """Worse than normal by the factor, and further off than the host's own scatter explains."""
        worse = normal / value if self.more_is_better else value / normal
        scattered = deviation and _Z_SCALE * abs(value - normal) / deviation <= OUTLIER
        return worse > self.factor and not scattered


_SLOW_DISK = "see with iostat what else uses the disk; measure these runs again (--force --only)"
JUDGES = (
    Judge("disk.read_4k_p50_us", 2, "4 KiB reads took", "us", _SLOW_DISK),
    Judge("store.read_4k_p50_us", 2, "4 KiB reads of the store took", "us", _SLOW_DISK),
    Judge("disk.write_mib_per_second", 2, "writes went at", "MiB/s", _SLOW_DISK, more_is_better=True),
    Judge(
        "cpu.loop_ms",
        1.1,
        "a fixed CPU loop took",
        "ms",
        "end other load, hold the frequency (--governor performance --no-turbo); measure these runs again",
    ),
)
#: The judges of gauges that do not depend on the point: a run's own store differs between points.
OF_THE_HOST = tuple(judge for judge in JUDGES if not judge.gauge.startswith("store."))
