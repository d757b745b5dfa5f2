"""What a self-test might have found: twins of one engine at one workload, as far apart as a test asks."""

from __future__ import annotations

from typing import Any

from kvdyno.model.noise import HostNoise, TwinNoise


def make_noise(engine: str, workload: str, *, sd_log: float, phase: str = "run", **fields: Any) -> HostNoise:
    """One entry, of throughput; `fields` of the host's noise replace those of a local run on "host"."""
    twins = TwinNoise(
        engine=engine,
        axes={"workload": workload},
        phase=phase,
        metric="throughput",
        unit="op/s",
        pairs=9,
        sd_log=sd_log,
        comparisons=3,
        covered=3,
        false_alarms=0,
    )
    usual: dict[str, Any] = {
        "host_id": "host",
        "measured_at": "2026-11-25T08:00:00Z",
        "commit": None,
        "profile": "quick",
        "repetitions": 3,
        "facts": {},
        "twins": (twins,),
    }
    return HostNoise(**(usual | fields))
