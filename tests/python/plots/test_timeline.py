"""A timeline shows each event where and as long as it was, and no more marks than a reader can see."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import plots
from plots import Binding, style

LENGTH = 100.0


def event(layer: str, elapsed: float, duration: float = 1.0, **words: str) -> dict[str, Any]:
    known = {"state": "", "cause": "", "detail": "", **words}
    return {"label": "RocksDB", "layer": layer, "elapsed": elapsed, "duration": duration, **known}


def table(*events: dict[str, Any], label: str = "RocksDB") -> pd.DataFrame:
    values = [
        {"label": label, "layer": "value", "elapsed": t, "value": 1e4 + t} for t in np.arange(1.0, LENGTH + 1)
    ]
    words = dict.fromkeys(("duration", "value", "state", "cause", "detail"))
    return pd.DataFrame([{**words, **row} for row in (*values, *events)]).assign(status="ok")


def draw(rows: pd.DataFrame, **options: Any) -> Figure:
    bound = Binding(panels=("label",), label="Throughput", unit="op/s", options=options)
    return plots.kinds()["timeline"].draw(rows, bound)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for entry in figure.legends for text in entry.get_texts()]


def bars(axes: Axes, colour: str) -> list[tuple[float, float]]:
    """Begin and end of each bar of a colour."""
    return [
        (float(path.vertices[:, 0].min()), float(path.vertices[:, 0].max()))
        for collection in axes.collections
        if isinstance(collection, PolyCollection) and to_hex(collection.get_facecolor()[0]) == colour.lower()
        for path in collection.get_paths()
    ]


def looks(name: str) -> dict[str, Any]:
    found = style.stall_look(name)
    assert found
    return found


def texts(figure: Figure) -> set[str]:
    figure.canvas.draw()
    return {artist.get_text() for artist in figure.findobj(matplotlib.text.Text)}


def test_stalls_are_shaded_where_they_were() -> None:
    rows = table(
        event("stall", 10, 5, state="stop", cause="level0"),
        event("stall", 20, 2, state="delay", cause="pending"),
        event("stall", 30, 2, state="delay", cause="something_new"),
    )
    figure = draw(rows)
    assert bars(figure.axes[0], looks("stop, level 0")["facecolor"]) == [(10.0, 15.0)]
    assert bars(figure.axes[0], looks("delay, pending compaction")["facecolor"]) == [(20.0, 22.0)]
    assert legend(figure) == [
        "Throughput", "delay, other", "delay, pending compaction", "stop, level 0",
    ]  # fmt: skip
    assert not draw(rows, stalls=False).axes[0].collections


def test_stalls_can_be_left_out_and_nothing_is_marked_unasked() -> None:
    rows = table(event("compaction", 3), event("flush", 4), event("stall", 5, state="stop", cause="other"))
    assert legend(draw(rows, stalls=False)) == ["Throughput"]
    assert draw(rows).axes[0].get_ylim()[0] == 0


def test_compactions_are_marked_by_their_causes() -> None:
    rows = table(
        event("compaction", 10, 4, cause="level0_files"), event("compaction", 50, 9, cause="level_size")
    )
    every = draw(rows, mark=["compaction"])
    some = draw(rows, mark="compaction", causes=["level0_files"])
    colour = every.legends[0].get_patches()[0].get_facecolor()
    assert bars(every.axes[0], to_hex(colour)) == [(10.0, 14.0), (50.0, 59.0)]
    assert bars(some.axes[0], to_hex(colour)) == [(10.0, 14.0)]
    assert legend(some) == ["Throughput", "compaction (level 0 files)"]
    assert "compaction" in texts(every)


def test_a_tuner_has_a_lane_for_each_thing_that_it_sets() -> None:
    rows = table(
        event("tuning", 10, 0, state="threads", detail="knob=threads from=2 to=4"),
        event("tuning", 20, 0, state="threads", detail="knob=threads from=4 to=2"),
        event("tuning", 30, 0, state="delayed_write_rate", detail="from=x to=2"),
        event("tuning", 40, 5, state="deep_compactions_held", detail="rate_after=7"),
    )
    figure = draw(rows, mark=["tuning"])
    assert {"threads", "delayed write rate", "deep compactions held"} <= texts(figure)
    assert legend(figure) == ["Throughput", "tuning: lowered", "tuning: other step", "tuning: raised"]


def test_more_events_than_can_be_seen_are_as_many_marks_as_can_be_seen() -> None:
    seed = 11
    rng = np.random.default_rng(seed)
    moments = np.sort(rng.uniform(0, LENGTH, 20_000))
    rows = table(*(event("stall", t, 1e-4, state="delay", cause="memtable") for t in moments))
    found = bars(draw(rows).axes[0], looks("delay, memtable")["facecolor"])
    assert 1 <= len(found) <= 2000, f"seed {seed}"
    assert min(end - begin for begin, end in found) >= LENGTH / 2001


def test_what_is_merged_is_paler_the_less_of_it_is_covered() -> None:
    close = [event("stall", 10 + 0.05 * n, 0.025, state="stop", cause="level0") for n in range(100)]
    alone = event("stall", 50, 0.001, state="stop", cause="level0")
    figure = draw(table(*close, alone))
    (shades,) = [c for c in figure.axes[0].collections if isinstance(c, PolyCollection)]
    assert list(shades.get_alpha()) == [0.5, 1.0]  # type: ignore[arg-type]


def test_panels_share_their_scales_and_time_is_written_once() -> None:
    rows = pd.concat([table(), table(label="LevelDB")])
    first, second = draw(rows).axes
    assert first.get_xlim() == second.get_xlim() == (0, LENGTH)
    assert first.get_ylim() == second.get_ylim()
    assert (first.get_xlabel(), second.get_xlabel()) == ("", "time, s")


def test_a_run_without_values_shows_the_reason() -> None:
    rows = table(event("value", 0.0)).assign(value=np.nan, duration=np.nan, status="out_of_memory")
    alone = rows.iloc[-1:].assign(label="LevelDB")
    assert "× out of memory" in texts(draw(alone))
    assert "× out of memory" in texts(draw(pd.concat([table(), alone])))


@pytest.mark.parametrize("kept", ["value", "stall"])
def test_values_or_events_alone_are_drawn(kept: str) -> None:
    rows = table(event("stall", 10, 5, state="stop", cause="level0"))
    figure = draw(rows[rows["layer"] == kept])
    assert legend(figure) == (["Throughput"] if kept == "value" else ["stop, level 0"])
