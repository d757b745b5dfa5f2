"""Steadiness against series whose truth is known: what is found, how often, and how often falsely."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kvdyno.analysis.steady import MOST, State, finding, steadiness

TRIALS = 200


def noise(rng: np.random.Generator, *, length: int, correlation: float, sd: float) -> np.ndarray:
    """Noise with that standard deviation that remembers a part of the interval before."""
    values = rng.normal(0, 1, length)
    for place in range(1, length):
        values[place] = correlation * values[place - 1] + np.sqrt(1 - correlation**2) * values[place]
    return sd * values


def series(
    rng: np.random.Generator, level: np.ndarray, *, sd: float = 0.05, correlation: float = 0
) -> np.ndarray:
    return 1e4 * level * (1 + noise(rng, length=len(level), correlation=correlation, sd=sd))


def collapse(rng: np.random.Generator, length: int) -> np.ndarray:
    return np.where(np.arange(length) >= 0.8 * length, 0.1, 1.0)


def sawtooth(rng: np.random.Generator, length: int) -> np.ndarray:
    period = int(rng.integers(5, min(20, length // 2) + 1))
    place = (np.arange(length) + rng.integers(period)) % period
    return 1 + 0.3 * (2 * place / (period - 1) - 1)


def drift(rng: np.random.Generator, length: int) -> np.ndarray:
    return np.linspace(1.15, 0.85, length)


def step(rng: np.random.Generator, length: int) -> np.ndarray:
    return np.where(np.arange(length) >= rng.uniform(0.3, 0.7) * length, 0.8, 1.0)


def steady(rng: np.random.Generator, length: int) -> np.ndarray:
    return np.ones(length)


def flagged(pattern: Callable[[np.random.Generator, int], np.ndarray], *, correlation: float) -> float:
    """The share of series of 20 to 120 intervals, with noise of 5 to 10 %, that are not called steady."""
    rng = np.random.default_rng([TRIALS, round(100 * correlation)])
    found = 0
    for _ in range(TRIALS):
        level = pattern(rng, int(rng.integers(20, 121)))
        data = series(rng, level, sd=rng.uniform(0.05, 0.1), correlation=correlation)
        found += steadiness(data).state != "steady"
    return found / TRIALS


@pytest.mark.parametrize("pattern", [collapse, sawtooth, drift, step])
def test_patterns_are_found(pattern: Callable[[np.random.Generator, int], np.ndarray]) -> None:
    assert np.mean([flagged(pattern, correlation=c) for c in (0, 0.25, 0.5)]) >= 0.9


@pytest.mark.parametrize("correlation", [0, 0.25, 0.5])
def test_steady_series_are_rarely_flagged(correlation: float) -> None:
    assert flagged(steady, correlation=correlation) <= 0.05


@pytest.mark.parametrize("length", [20, 60, 120, 300])
def test_white_noise_of_any_length_is_rarely_flagged(length: int) -> None:
    rng = np.random.default_rng(length)
    states = [steadiness(series(rng, np.ones(length), sd=0.1)).state for _ in range(200)]
    assert states.count("steady") >= 190


@pytest.mark.parametrize(
    ("level", "state", "words"),
    [
        (np.concatenate([np.ones(48), np.full(12, 0.1)]), "collapsed", "collapsed at the end"),
        (1 + 0.3 * (2 * (np.arange(60) % 12) / 11 - 1), "sawtooth", "sawtooth with a period of 12 s (± 3"),
        (np.linspace(1.1, 0.9, 60), "drifting", "drifts by −"),
        (np.concatenate([np.full(20, 0.4), np.ones(40)]), "warming up", "warming up (+"),
        (np.concatenate([np.ones(30), np.full(30, 0.8)]), "stepped", "steps by −2"),
        (np.ones(60), "steady", ""),
    ],
)
def test_findings_say_what_was_found(level: np.ndarray, state: State, words: str) -> None:
    found = steadiness(series(np.random.default_rng(3), level, sd=0.02))
    assert found.state == state
    assert finding(found, interval=1.0).startswith(words)


def test_small_patterns_never_alarm() -> None:
    for level in (np.linspace(1.02, 0.98, 100), 1 + 0.02 * (np.arange(100) % 10 < 5)):
        assert steadiness(1e4 * level).state == "steady"


def test_long_series_keep_their_seconds() -> None:
    length = 4 * MOST
    level = np.where(np.arange(length) >= 240, 0.7, 1.0)
    found = steadiness(series(np.random.default_rng(1), level))
    assert (found.state, found.at) == ("stepped", pytest.approx(240, abs=4))


@pytest.mark.parametrize("data", [[], np.full(9, 1e4)])
def test_a_short_series_is_not_judged(data: np.ndarray) -> None:
    found = steadiness(data)
    assert (found.state, finding(found, interval=1)) == ("too short", "")


def test_a_rate_of_nothing_is_steady() -> None:
    assert steadiness(np.zeros(50)).state == "steady"
