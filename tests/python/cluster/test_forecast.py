"""How long a sweep takes on many hosts: what the simulation must say, whatever the chances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest

from kvdyno.cluster import Hosts, Unit, makespan
from kvdyno.cluster.forecast import JOB_SECONDS

SAME = 1e-9


@dataclass(frozen=True)
class Plain:
    """What the simulation sees of a unit."""

    seconds: float
    loads: dict[str, float]


def hand(*seconds: float, **loads: float) -> list[Unit]:
    return [cast(Unit, Plain(each, loads)) for each in seconds]


def even(count: int) -> Hosts:
    return Hosts(count, spread=SAME)


def test_one_host_takes_the_sum_and_loads_each_dataset_once() -> None:
    found = makespan([hand(10, 20, a=5), hand(30, a=5, b=7)], hosts=even(1))
    assert found.seconds == pytest.approx(10 + 20 + 30 + 5 + 7 + 2 * JOB_SECONDS), "and each job starts"
    assert found.host_seconds == pytest.approx(found.seconds)
    assert found.load_seconds == pytest.approx(12)


def test_more_hosts_than_jobs_take_as_long_as_the_longest_job() -> None:
    found = makespan([hand(10, a=5), hand(40, a=5), hand(3, a=5)], hosts=even(50))
    assert found.seconds == pytest.approx(found.longest) == pytest.approx(45 + JOB_SECONDS)
    assert found.load_seconds == pytest.approx(15), "each host makes its own snapshot"


def test_hosts_take_jobs_in_order_as_they_become_free() -> None:
    found = makespan([hand(60), hand(10), hand(10), hand(10)], hosts=even(2))
    assert found.seconds == pytest.approx(60 + JOB_SECONDS)


def test_more_hosts_are_never_slower_and_the_same_plan_has_the_same_answer() -> None:
    hands = [hand(60, 60, a=20) for _ in range(40)]
    spans = [makespan(hands, hosts=Hosts(count)).seconds for count in (1, 2, 5, 10, 40)]
    assert spans == sorted(spans, reverse=True)
    assert makespan(hands, hosts=Hosts(5)) == makespan(hands, hosts=Hosts(5))


def test_hosts_that_differ_scatter_and_end_with_the_slowest() -> None:
    hands = [hand(100) for _ in range(8)]
    found = makespan(hands, hosts=Hosts(8, spread=0.2))
    assert found.low < found.seconds < found.high
    assert found.seconds > 110


def test_failures_cost_what_was_not_delivered_and_the_wait() -> None:
    hands = [hand(*[600.0] * 6) for _ in range(8)]
    calm = makespan(hands, hosts=even(4))
    rough = makespan(hands, hosts=Hosts(4, spread=SAME, failures=12))
    assert calm.seconds == pytest.approx(7200 + 2 * JOB_SECONDS)
    assert rough.seconds > calm.seconds + 120
    assert rough.host_seconds > calm.host_seconds
    assert rough.host_seconds < 1.3 * calm.host_seconds, "finished units are not measured again"
