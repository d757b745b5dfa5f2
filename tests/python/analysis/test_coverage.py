"""Simulated sweeps whose truth is known: nominal 95 % intervals cover it, families hold few false decisions.

Errors of three levels: a repetition's weather and a load's layout, shared by all points, and each run's own.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kvdyno.analysis.levels import Mean, difference, mean_of, mean_over_points
from kvdyno.analysis.verdicts import LEVEL, conclude, holm

SWEEPS = 2000
REPETITION_SD, LOAD_SD, RUN_SD = 0.07, 0.04, 0.05


def sweep(
    rng: np.random.Generator, *, repetitions: int, points: int, loads: int
) -> tuple[np.ndarray, list[int], float]:
    """Log-ratios of points (rows) and repetitions (columns), each repetition's load, the true mean of points.

    One or two loads hold too little about other loads: the truth is then that of these loads.
    """
    numbers = [repetition % loads for repetition in range(repetitions)]
    of_points, of_loads = rng.normal(0, 0.5, points), rng.normal(0, LOAD_SD, loads)
    weather = rng.normal(0, REPETITION_SD, repetitions) + of_loads[numbers]
    cells = of_points[:, None] + weather + rng.normal(0, RUN_SD, (points, repetitions))
    truth = of_points.mean()
    if loads < min(3, repetitions):
        truth += np.mean(of_loads[numbers])
    return cells, numbers, float(truth)


def covers(mean: Mean, truth: float) -> bool:
    return abs(mean.value - truth) <= stats.t.ppf(0.975, mean.freedom) * mean.error


@pytest.mark.parametrize("points", [1, 8])
@pytest.mark.parametrize(
    ("repetitions", "loads"), [(3, 1), (3, 3), (5, 2), (5, 3), (5, 5), (8, 1), (8, 3), (8, 4), (8, 8)]
)
def test_intervals_over_levels_cover(points: int, repetitions: int, loads: int) -> None:
    rng = np.random.default_rng(100 * repetitions + 10 * loads + points)
    covered = 0
    for _ in range(SWEEPS):
        cells, numbers, truth = sweep(rng, repetitions=repetitions, points=points, loads=loads)
        covered += covers(mean_over_points(cells, loads=numbers), truth)
    assert 0.93 <= covered / SWEEPS <= 0.97


def test_points_as_independent_samples_would_not_cover() -> None:
    """What the intervals are for: the same sweeps, points' variances added up."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(SWEEPS):
        cells, _, truth = sweep(rng, repetitions=5, points=8, loads=5)
        error = np.sqrt((cells.var(axis=1, ddof=1) / 5).sum()) / 8
        covered += abs(cells.mean() - truth) <= stats.t.ppf(0.975, 8 * 4) * error
    assert covered / SWEEPS < 0.8


@pytest.mark.parametrize(("repetitions", "loads"), [(5, 5), (8, 3)])
def test_intervals_cover_when_runs_are_missing(repetitions: int, loads: int) -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(SWEEPS):
        cells, numbers, truth = sweep(rng, repetitions=repetitions, points=8, loads=loads)
        lost = rng.random(cells.shape) < 0.15
        lost[np.arange(8), rng.integers(0, repetitions, 8)] = False  # each point keeps a run
        lost[rng.integers(0, 8, repetitions), np.arange(repetitions)] = False
        covered += covers(mean_over_points(np.where(lost, np.nan, cells), loads=numbers), truth)
    assert 0.93 <= covered / SWEEPS <= 0.97


def test_a_lost_run_does_not_shift_its_repetition() -> None:
    """Points differ by far more than repetitions; without the model the lost run would look like weather."""
    cells = np.array([[0.0, 0.1, 0.2], [5.0, 5.1, np.nan], [9.0, 9.1, 9.2]])
    found = mean_over_points(cells)
    assert found.value == pytest.approx((0 + 5 + 9) / 3 + 0.1)
    assert found.error == pytest.approx(0.1 / np.sqrt(3))


def test_points_of_different_sweeps_are_independent_samples() -> None:
    cells = np.array([[1.0, 1.2, np.nan, np.nan], [np.nan, np.nan, 3.0, 3.4]])
    found = mean_over_points(cells)
    parts = [mean_of([1.0, 1.2]), mean_of([3.0, 3.4])]
    assert found.value == pytest.approx(2.15)
    assert found.error == pytest.approx(np.hypot(parts[0].error, parts[1].error) / 2)
    assert 1 < found.freedom < 2


def test_loads_are_the_sample_from_three_on() -> None:
    values = [1.0, 2.0, 3.0, 1.2, 2.2, 3.2]
    by_load = mean_of(values, loads=[1, 2, 3, 1, 2, 3])
    assert (by_load.n, by_load.freedom, by_load.by_load) == (6, 2, True)
    assert by_load.error == pytest.approx(np.std([1.1, 2.1, 3.1], ddof=1) / np.sqrt(3))
    assert mean_of(values, loads=[1, 2, 1, 2, 1, 2]).freedom == 5
    assert not mean_of(values, loads=[1, 2, 3, 4, 5, 6]).by_load


def test_one_repetition_has_no_error() -> None:
    found = mean_over_points(np.array([[1.0], [2.0]]))
    assert (found.n, found.value) == (1, 1.5)
    assert np.isnan(found.error)


def test_welch_is_scipys() -> None:
    a, b = np.log([10.0, 11.0, 10.5, 9.9]), np.log([12.0, 15.0, 11.0])
    expected = stats.ttest_ind(b, a, equal_var=False)
    found = difference(mean_of(b), mean_of(a))
    assert found.value / found.error == pytest.approx(expected.statistic)
    assert found.freedom == pytest.approx(expected.df)


def concluded(cells: np.ndarray, *, margin: float = 0.05) -> pd.DataFrame:
    """Every row of log-ratios as a comparison of one family."""
    means = [mean_of(row) for row in cells]
    table = pd.DataFrame(
        {
            "kind": "ratio",
            "n": [m.n for m in means],
            "mean": [m.value for m in means],
            "error": [m.error for m in means],
            "freedom": [m.freedom for m in means],
            "unit": "op/s",
            "zero": False,
            "family": 1,
        }
    )
    return conclude(table, families=["family"], margin=margin)


@pytest.mark.parametrize("repetitions", [3, 5])
def test_sixteen_true_nulls_rarely_hold_a_false_decision(repetitions: int) -> None:
    """Points share their repetition's weather, which `holm` allows for; alone they decide falsely often."""
    rng = np.random.default_rng(16)
    alone = together = 0
    for _ in range(SWEEPS):
        weather = rng.normal(0, 0.03, repetitions)
        cells = weather + rng.normal(0, RUN_SD, (16, repetitions))
        mean, error = cells.mean(axis=1), cells.std(axis=1, ddof=1) / np.sqrt(repetitions)
        p = 2 * stats.t.sf(np.abs(mean / error), repetitions - 1)
        alone += (p <= LEVEL).any()
        together += (holm(p) <= LEVEL).any()
    assert together / SWEEPS <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / SWEEPS)
    assert alone / SWEEPS > 0.3


def test_holm_steps_down() -> None:
    found = holm([0.01, 0.04, np.nan, 0.03])
    assert list(found[[0, 1, 3]]) == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(found[2])
    assert holm([]).size == 0


def test_what_differs_by_the_margin_is_rarely_called_the_same() -> None:
    rng = np.random.default_rng(17)
    truth = np.log(1.05)
    same = 0
    for _ in range(100):
        same += (concluded(rng.normal(truth, 0.02, (20, 5)))["within"]).sum()
    assert same / 2000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize(
    ("logs", "verdict", "within"),
    [
        ([0.001, -0.001, 0.002, 0.0], "same", True),
        ([0.020, 0.021, 0.019, 0.02], "faster", True),
        ([-0.3, -0.31, -0.29, -0.3], "slower", False),
        ([0.2, -0.2, 0.1, -0.1], "undecided", False),
        ([0.0, 0.0, 0.0, 0.0], "same", True),
    ],
)
def test_verdicts(logs: list[float], verdict: str, within: bool) -> None:
    row = concluded(np.array([logs])).iloc[0]
    assert (row["verdict"], row["within"]) == (verdict, within)


def test_a_decision_that_stands_alone_may_fall_among_many() -> None:
    near = [0.1, 0.15, 0.2, 0.12]
    rng = np.random.default_rng(4)
    family = concluded(np.vstack([near, rng.normal(0, 0.1, (15, 4))]))
    assert concluded(np.array([near]))["verdict"].iloc[0] == "faster"
    assert family["verdict"].iloc[0] == "undecided"
    assert family["low"].iloc[0] > 1  # the interval stays as it is
    assert family["needed"].iloc[0] > 4
