"""Margins: a change smaller than what this host does by itself is never called."""

from __future__ import annotations

import math

from kvdyno.model.noise import HostNoise

#: In standard errors.
_REACH = 2.0


def noise_share(
    host: HostNoise | None, *, engine: str, metric: str, workload: object, loads: int
) -> float | None:
    """How far, as a share, two arms that are the same may differ on this host however many pairs are run.

    Repetitions take turns to start from a few loads, and what a load does to a store's layout averages out
    over loads alone. At worst, all that twins differed by is their loads' doing: exp(2 · sd / √loads) - 1,
    with sd that of the twins' log-ratios. Twins of the same engine and workload count where the self-test had
    them, else the worst of all. None: nothing is known.
    """
    entries = host.of(metric) if host else ()
    near = [each for each in entries if each.axes.get("workload") == workload] or entries
    nearest = [each for each in near if each.engine == engine] or near
    worst = max((each.sd_log for each in nearest), default=None)
    return None if worst is None else math.expm1(_REACH * worst / math.sqrt(loads))
