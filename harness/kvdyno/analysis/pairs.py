"""Every contender over every other, for readers who ask what the experiment did not.

The statistics are those of ratios.py. Nothing is adjusted for the number of comparisons that a reader can
try, so rows carry intervals and no verdict: an interval that leaves out 1 is a reason to measure again, not a
finding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from .ratios import ratios_to

#: What readers compare, over the span that a point is judged by.
_OF_THE_SPAN = re.compile(
    r"throughput|cpu\.per_operation|(write|read)_amplification\.(gross|net|disk)|space_amplification|disk\.used"
    r"|memory\.peak_rss|stall\.per_write"
)
#: Latencies, of the measured operations alone: a drain has none.
_MEASURED = re.compile(r"\w+\.latency\.(p50|p99|p99\.9)")
_NO_VERDICT = ["p", "p_adjusted", "verdict", "within", "needed"]


@dataclass(frozen=True)
class Pairs:
    """`Analysis.pairs` and `Analysis.pairs_overall`."""

    points: pd.DataFrame
    overall: pd.DataFrame


def all_pairs(frame: pd.DataFrame, *, axes: Sequence[str], margin: float) -> Pairs:
    """Ratios between all contenders of a tidy frame whose headlines are marked."""
    spans = frame["headline"] & frame["metric"].str.fullmatch(_OF_THE_SPAN.pattern).eq(True)
    latencies = frame["phase"].eq("measure") & frame["metric"].str.fullmatch(_MEASURED.pattern).eq(True)
    # Marked, a metric's points are averaged in whatever phase they were chosen.
    chosen = frame[spans | latencies].assign(headline=True)
    labels = list(dict.fromkeys(frame["label"]))
    found = ratios_to(chosen, axes=axes, baselines=labels, metric="", margin=margin)
    return Pairs(
        found.points.drop(columns=[*_NO_VERDICT, "headline"]), found.overall.drop(columns=_NO_VERDICT)
    )
