"""The report of a study, as one HTML file, Markdown and LaTeX: a summary, then all that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from kvdyno.model.options import display_options
from kvdyno.model.search import ConfirmedRow
from kvdyno.model.study import Change, Cost, StudyFound, Tested, Trial, Values
from plots.units import quantity, three_digits

from . import looks
from .files import make_folder, write_text
from .html import ROWS_AT_FIRST, coded, template_text
from .markdown import plain
from .pictures import embedded

_VERDICT_KINDS = {"confirmed": "up", "refuted": "down"}


@dataclass(frozen=True)
class PublishedRow:
    """A step at one workload: the published ratio over the step before, and ours over the best so far.

    The last rows are the last step and our best options, over the defaults.
    """

    hypothesis: str
    workload: str
    published: str
    ours: str


def write_study(found: StudyFound, *, latex: str, out: Path) -> tuple[Path, Path, Path]:
    """Write `out`/study.html, `out`/study.md, and what was made of `words` as `out`/study.tex.

    Raises StoreError if something cannot be written.
    """
    make_folder(out)
    html, markdown = (render(found, out=out, suffix=suffix) for suffix in ("html", "md"))
    texts = {"study.html": html, "study.md": markdown, "study.tex": latex}
    page, text, source = (write_text(out / name, content) for name, content in texts.items())
    return page, text, source


def render(found: StudyFound, *, out: Path, suffix: str) -> str:
    """The report in one form, "html" or "md", for the folder `out`."""
    environment = Environment(
        loader=FunctionLoader(template_text),
        autoescape=suffix == "html",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(coded=coded, plain=plain)
    environment.globals.update(
        parts=parts_of,
        kind=lambda verdict: _VERDICT_KINDS.get(verdict, "open"),
        link=lambda page: relpath(page, out),
        pictures=pictures_of(found) if suffix == "html" else (),
        **words(found),
    )
    page = {"colour_rules": looks.colour_rules(), "rows_at_first": ROWS_AT_FIRST} if suffix == "html" else {}
    return environment.get_template(f"study.{suffix}.j2").render(f=found, **page)


def words(found: StudyFound) -> Mapping[str, Any]:
    """What all forms of the report print: sentences, and functions that make texts of values."""
    return {
        "title": found.study.title,
        "ratio": ratio_text,
        "values": values_text,
        "number": three_digits,
        "quantity": quantity,
        "share": share_text,
        "shown": lambda options: display_options(found.study.engine.description, options),
        "verdicts": verdict_counts(found.trials),
        "conclusion": conclusion(found),
        "gain": gain_sentence(found),
        "costs": cost_rows(found.costs),
        "noise": noise_sentence(found.twin),
        "published": published_rows(found),
        "comparisons": comparisons,
    }


def comparisons(trial: Trial) -> Sequence[tuple[str, Tested]]:
    """A trial's comparisons with their headings; one where nothing was adopted before it."""
    pairs = [("on the default", trial.alone)]
    if trial.best:
        pairs.append(("on the best so far", trial.on_best))
    return pairs


def ratio_text(change: Any) -> str:
    """ "1.32 (1.21 to 1.44), n = 5"; "–" without a ratio."""
    if change.ratio is None:
        return "–"
    interval = "" if change.low is None else f" ({three_digits(change.low)} to {three_digits(change.high)})"
    return f"{three_digits(change.ratio)}{interval}, n = {change.n}"


def values_text(values: Values | None, *, mean: bool = False) -> str:
    """The median with its interval, or the mean; "–" where nothing was measured."""
    if values is None:
        return "–"
    if mean:
        return quantity(values.mean, values.unit)
    if values.low is None or values.high is None:
        return quantity(values.median, values.unit)
    ends = (quantity(end, values.unit) for end in (values.low, values.high))
    return f"{quantity(values.median, values.unit)} ({' to '.join(ends)})"


def share_text(part: float) -> str:
    """ "47.5 %"."""
    return f"{100 * part:.3g} %"


def parts_of(text: str) -> tuple[str, str]:
    """A value and what follows it: ("1.32", "1.21 to 1.44, n = 5")."""
    first, _, rest = text.partition(" (")
    return first, rest.replace(")", "")


def pictures_of(found: StudyFound) -> Sequence[str]:
    """Markup of the confirmation's figures of throughput, where it drew some."""
    if found.confirmation is None:
        return ()
    drawn = sorted((found.confirmation.parent / "figures").glob("throughput-*.svg"))
    alt = "Throughput of the default, of its second copy and of the best options, by workload"
    return [embedded(path, name=f"picture-{path.stem}", alt=alt) for path in drawn]


def verdict_counts(trials: Sequence[Trial]) -> str:
    """ "2 confirmed, 1 refuted, 2 undecided", over the best so far."""
    words = [trial.on_best.verdict for trial in trials]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def gain_sentence(found: StudyFound) -> str:
    """What the best options gain, at each workload."""
    if not found.gains:
        return "Nothing: no hypothesis was adopted, so the start's options stay."
    return "; ".join(f"{change.workload}: {ratio_text(change)}" for change in found.gains) + "."


def cost_rows(costs: Sequence[Cost]) -> Mapping[str, Mapping[str, str]]:
    """For each metric of the costs, its ratio at each workload; "–" where it was not measured."""
    workloads = dict.fromkeys(cost.workload for cost in costs)
    rows: dict[str, dict[str, str]] = {}
    for cost in costs:
        rows.setdefault(cost.metric, dict.fromkeys(workloads, "–"))[cost.workload] = ratio_text(cost)
    return rows


def noise_sentence(twin: Sequence[Change | ConfirmedRow]) -> str:
    """How far two copies of the default lay apart, which a gain must exceed."""
    apart = [max(c.ratio, 1 / c.ratio) for c in twin if c.ratio]
    if not apart:
        return ""
    return f"Two copies of the default, measured beside it, differ by up to × {three_digits(max(apart))}."


def conclusion(found: StudyFound) -> Sequence[str]:
    """A sentence for each hypothesis, then what is left to do."""
    sentences = [_sentence(trial) for trial in found.trials]
    open_ones = [t.hypothesis.id for t in found.trials if t.on_best.verdict == "undecided"]
    if open_ones:
        sentences.append(
            f"Undecided are {', '.join(open_ones)}: more repetitions (--repeat) narrow the intervals."
        )
    return sentences


def _sentence(trial: Trial) -> str:
    its = trial.hypothesis
    kept = "; its options are adopted" if trial.adopted else ""
    alone = trial.alone.verdict
    beside = f" (on the default alone: {alone})" if trial.best and alone != trial.on_best.verdict else ""
    return f"{its.statement}: {trial.on_best.verdict}{beside}{kept}."


def published_rows(found: StudyFound) -> Sequence[PublishedRow]:
    """Published ratios beside ours, where a hypothesis has a step.

    A step keeps the options of the step before it, so what it adds is its ratio to that one.
    """
    published = found.study.published
    if published is None:
        return ()
    steps = [step.throughput for step in published.steps]
    rows: list[PublishedRow] = []
    for trial in found.trials:
        number = trial.hypothesis.published
        if number is not None:
            rows += _beside(trial.hypothesis.id, steps[number], steps[number - 1], trial.on_best.changes)
    return [*rows, *_beside("all, over the default", steps[-1], steps[0], found.gains)]


def _beside(
    name: str, after: Mapping[str, float], before: Mapping[str, float], ours: Sequence[Change]
) -> Iterator[PublishedRow]:
    here = {change.workload: ratio_text(change) for change in ours}
    for workload in after:
        ratio = three_digits(after[workload] / before[workload])
        yield PublishedRow(name, workload, ratio, here.get(workload, "not measured"))
