"""Every form of claim on a few rows written by hand, and its verdicts over simulated truths.

The rows have three engines at one, two and four threads in three repetitions. `a` is twice as fast as `b`, at
four threads three times, and `b` is faster than `c`. Memory answers nine tenths of a's gets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
import pytest

from kvdyno.analysis import analyse_metrics
from kvdyno.analysis.claims import judge_claims
from kvdyno.analysis.evidence import Evidence
from kvdyno.analysis.levels import Values, mean_of
from kvdyno.model.experiment import ClaimSpec
from kvdyno.model.origin import Doubt, Questions
from kvdyno.model.results import ClaimResult, ClaimVerdict

THREADS = (1, 2, 4)
RATES = {
    ("a", 1): (100, 101, 99),
    ("a", 2): (190, 192, 188),
    ("a", 4): (360, 364, 356),
    ("b", 1): (50, 50.6, 49.4),
    ("b", 2): (95, 96.1, 93.9),
    ("b", 4): (120, 121, 119),
    ("c", 1): (40, 40.4, 39.6),
    ("c", 2): (76, 76.8, 75.1),
    ("c", 4): (96, 97, 95),
}
SHARES = (0.9, 0.902, 0.898)


def frame(rates: Mapping[tuple[str, int], Iterable[float]], shares: Iterable[float] = ()) -> pd.DataFrame:
    """Tidy metrics, as results/<name>/metrics.csv has them."""
    rows: list[tuple[object, ...]] = []
    for (label, threads), values in rates.items():
        for repetition, value in enumerate(values, start=1):
            point = (label, label, "default", "p", threads, f"{label}{threads}r{repetition}", "s")
            rows.append((*point, repetition, 1, "ok", "run", "throughput", value, "op/s"))
    for repetition, share in enumerate(shares, start=1):
        point = ("a", "a", "default", "p", 1, f"a1r{repetition}", "s")
        rows.append((*point, repetition, 1, "ok", "run", "share.memory", share, "ratio"))
    names = ["label", "engine", "preset", "workload", "threads", "run_id", "sweep_id", "repetition", "load"]
    return pd.DataFrame(rows, columns=[*names, "status", "phase", "metric", "value", "unit"])


GOLDEN = frame(RATES, SHARES)


def judged(table: pd.DataFrame, *claims: ClaimSpec, doubts: tuple[Doubt, ...] = ()) -> list[ClaimResult]:
    asked = Questions(baseline="a", claims=claims, doubts=doubts)
    return list(analyse_metrics(table, asked).claims)


def claim(**keys: object) -> ClaimSpec:
    return ClaimSpec.model_validate({"id": "c", "text": "", **keys})


LEVEL = {"engine": "a", "metric": "share.memory", "where": {"threads": (1,)}}
FASTER = {"engine": "a", "relative_to": "b"}
SCALES = {"engine": "a", "along": {"threads": (4, 1)}}
FORMS: Mapping[str, tuple[dict[str, object], ClaimVerdict]] = {
    "a share above its bound": (LEVEL | {"at_least": 0.85}, "supported"),
    "a share between bounds": (LEVEL | {"at_least": 0.85, "at_most": 0.95}, "supported"),
    "a share below its bound": (LEVEL | {"at_least": 0.95}, "contradicted"),
    "a share on its bound": (LEVEL | {"at_least": 0.9}, "undecided"),
    "a ratio at every point": (FASTER | {"at_least": 1.5}, "supported"),
    "a ratio that one point exceeds": (FASTER | {"at_least": 1.5, "at_most": 2.5}, "contradicted"),
    "a ratio at some points": (FASTER | {"at_most": 2.5, "where": {"threads": (1, 2)}}, "supported"),
    "up to a ratio that one point has": (FASTER | {"at_least": 2.8, "holds_at": "some"}, "supported"),
    "up to a ratio that no point has": (FASTER | {"at_least": 3.5, "holds_at": "some"}, "contradicted"),
    "along an axis": (SCALES | {"at_least": 3.3, "at_most": 3.9}, "supported"),
    "along an axis, too little": (SCALES | {"at_least": 4.5}, "contradicted"),
    "a trend that rises": ({"engine": "a", "along": {"threads": (4, 2, 1)}, "at_least": 1}, "supported"),
    "a trend that does not": (
        {"engine": "a", "along": {"threads": (2, 4, 1)}, "at_least": 1},
        "contradicted",
    ),
    "an order": ({"along": {"engine": ("a", "b", "c")}, "at_least": 1}, "supported"),
    "another order": ({"along": {"engine": ("a", "c", "b")}, "at_least": 1}, "contradicted"),
    "a workload without a run": (FASTER | {"at_least": 1, "where": {"workload": ("x",)}}, "not measured"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_its_verdict(form: str) -> None:
    keys, verdict = FORMS[form]
    (result,) = judged(GOLDEN, claim(**keys))
    assert result.verdict == verdict, result
    assert bool(result.settle) == (verdict in ("undecided", "not measured"))


def test_a_step_names_its_values_and_an_order_its_engines() -> None:
    (trend,) = judged(GOLDEN, claim(**FORMS["a trend that rises"][0]))
    assert [point.axes["threads"] for point in trend.points] == ["4 / 2", "2 / 1"]
    assert trend.expected == "a, threads 4 / 2 / 1: throughput of run each over the next ≥ 1"
    (order,) = judged(GOLDEN, claim(**FORMS["an order"][0]))
    named = [(point.axes["engine"], point.axes["threads"]) for point in order.points]
    assert named == list(itertools.product(("a / b", "b / c"), THREADS))
    assert order.points[2].value == pytest.approx(3, rel=0.01)
    assert order.expected == "a / b / c: throughput of run each over the next ≥ 1"


def test_claims_are_adjusted_for_their_number() -> None:
    close = claim(**FASTER, at_least=1.965, where={"threads": (1,)})
    (alone,) = judged(GOLDEN, close)
    assert alone.verdict == "supported"
    among = judged(GOLDEN, *[close.model_copy(update={"id": f"c{n}"}) for n in range(12)])
    assert {result.verdict for result in among} == {"undecided"}
    assert "not among so many claims" in among[0].why
    assert among[0].settle.startswith("about ")


def test_a_doubt_concerns_the_step_that_has_it() -> None:
    rising = claim(**FORMS["a trend that rises"][0])
    lost = Doubt(claim="c", axes={"threads": "4 / 2"}, reason="1 of 6 runs were lost", remedy="run it again")
    (result,) = judged(GOLDEN, rising, doubts=(lost,))
    assert (result.verdict, result.settle) == ("undecided", "run it again")
    assert [bool(point.doubt) for point in result.points] == [True, False]


def test_points_that_are_missing_leave_a_claim_open() -> None:
    rows = GOLDEN.copy()
    gone = (rows["label"] == "b") & (rows["threads"] == 2)
    rows.loc[gone, ["status", "phase", "metric", "value", "unit"]] = ["timeout", None, None, None, None]
    (result,) = judged(rows, claim(**FASTER, at_least=1.5))
    assert result.verdict == "undecided"
    assert result.why == "inside the bounds at 2 of 2 points, but 1 more were not measured"
    assert result.settle == "measure the points that are missing: the sweep resumes"


def test_one_repetition_shows_nothing() -> None:
    (result,) = judged(GOLDEN[GOLDEN["repetition"] == 1], claim(**FASTER, at_least=1.5))
    assert (result.verdict, result.settle) == ("undecided", "two repetitions or more")


def test_the_repetitions_that_would_settle_a_claim_grow_as_its_bound_comes_near() -> None:
    noisy = frame({("a", 1): (100, 120, 80, 105), ("b", 1): (50, 45, 55, 52)})
    far, near, on = (judged(noisy, claim(**FASTER, at_least=bound))[0].points[0] for bound in (1.4, 1.8, 1.9))
    assert far.needed is not None
    assert near.needed is not None
    assert far.needed < near.needed
    assert on.needed == 0 or (on.needed or 0) > near.needed


FAMILIES = 200
#: Bounds on the truth, where false verdicts are most frequent, and off it.
_OFFSETS = (0.0, 0.0, 0.02, -0.02, 0.3, -0.3)


def test_false_verdicts_are_rare_over_simulated_families() -> None:
    """A family is a report of six claims whose points share their runs. At most one family in twenty may hold
    a verdict that is false.
    """
    rng = np.random.default_rng(11)
    false, decided = 0, 0
    for _ in range(FAMILIES):
        truth = rng.normal(0, 0.2, (3, 4))  # logarithms of rates: three engines, four points
        runs = truth[:, :, None] + rng.normal(0, 0.03, (3, 4, 4))
        family = _family(truth, runs, rng)
        evidence = [
            Evidence(table, table, planned=len(table), doubts=lambda _: None) for _, table, _ in family
        ]
        results = judge_claims([spec for spec, _, _ in family], evidence=evidence, axes=["point"])
        false += any(_is_false(result, holds) for result, (_, _, holds) in zip(results, family, strict=True))
        decided += sum(result.verdict in ("supported", "contradicted") for result in results)
    assert false / FAMILIES <= 0.05
    assert decided > FAMILIES, "claims far from their bounds are decided, or the test shows nothing"


def _is_false(result: ClaimResult, holds: bool) -> bool:
    return result.verdict == ("contradicted" if holds else "supported")


Case = tuple[ClaimSpec, pd.DataFrame, bool]


def _family(truth: Values, runs: Values, rng: np.random.Generator) -> list[Case]:
    """Claims with the rows that they are judged by, and whether each is true."""
    pairs = truth[0] - truth[1], runs[0] - runs[1]
    steps = truth[0, 1:] - truth[0, :-1], runs[0, 1:] - runs[0, :-1]
    orders = (truth[:2] - truth[1:]).ravel(), (runs[:2] - runs[1:]).reshape(8, 4)
    ratio, trend = {"relative_to": "b"}, {"along": {"point": (3, 2, 1, 0)}}

    def case(about: tuple[Values, Values], side: str, holds_at: str, **keys: object) -> Case:
        means, values = about
        smallest = (side == "at_least") == (holds_at == "every")
        bound = float((means.min() if smallest else means.max()) + rng.choice(_OFFSETS))
        inside = means >= bound if side == "at_least" else means <= bound
        spec = claim(engine="a", holds_at=holds_at, **{side: float(np.exp(bound))}, **keys)
        return spec, _ratio_rows(values), bool(inside.all() if holds_at == "every" else inside.any())

    return [
        case(pairs, "at_least", "every", **ratio),
        case(pairs, "at_most", "every", **ratio),
        case(pairs, "at_least", "some", **ratio),
        case(steps, "at_least", "every", **trend),
        case(steps, "at_most", "some", **trend),
        case(orders, "at_least", "every", **ratio),
    ]


def _ratio_rows(values: Values) -> pd.DataFrame:
    """Rows as `Analysis.ratios` has them: one per point, of paired logarithms."""
    means = [mean_of(row) for row in values]
    return pd.DataFrame(
        {
            "label": "a", "engine": "a", "baseline": "b", "phase": "run", "metric": "throughput",
            "unit": "op/s", "point": range(len(means)), "step": "", "kind": "ratio", "paired": True,
            "n": values.shape[1], "ratio": [float(np.exp(m.value)) for m in means], "low": 0.9, "high": 1.1,
            "mean": [m.value for m in means], "error": [m.error for m in means],
            "freedom": [m.freedom for m in means],
        }
    )  # fmt: skip
