"""What templates may call: numbers, claims, figures and tables of the paper's experiments.

What the records lack is printed as "not measured" and noted in `lacking`; a name that no experiment has is a
mistake of the template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kvdyno.errors import SpecError
from kvdyno.model.papers import Absence, Chapter, PaperTable, Picture, Section
from kvdyno.model.results import NoiseFloor
from kvdyno.model.words import unknown
from plots.units import axis_text, quantity

from . import numbers
from .claims import Judged, chosen
from .points import claims_table, points_table
from .tables import is_long, long_table, place_table
from .templates import Tex, tex
from .texts import caveats, code, floor_text, prose

T = TypeVar("T")


class Context:
    """The functions of one rendering. Figures and tables that the text has not placed follow it (`rest`)."""

    def __init__(self, chapters: Sequence[Chapter], absences: Sequence[Absence]) -> None:
        self._chapters = {chapter.name: chapter for chapter in chapters}
        self._absences = {absence.name: absence for absence in absences}
        self._placed: set[str] = set()
        self._stated: set[tuple[str, str]] = set()
        self._lacking: dict[str, None] = {}

    @property
    def functions(self) -> Mapping[str, Callable[..., object]]:
        """By the names that templates use."""
        methods = (
            *(self.value, self.ratio, self.mean, self.fact, self.claim, self.claims, self.judged),
            *(self.figure, self.table, self.see, self.rest, self.long_tables, self.points),
            *(
                self.other_claims,
                self.claim_points,
                self.hosts,
                self.noise_floors,
                self.commits,
                self.lacking,
                self.chapters_of,
                self.absences_of,
            ),
        )
        functions: tuple[Callable[..., object], ...] = (*methods, code, prose, floor_text, caveats)
        return {function.__name__: function for function in functions}

    def lacking(self) -> tuple[str, ...]:
        """What the paper has no number for, in the order of the text."""
        return tuple(self._lacking)

    def chapters_of(self, section: Section) -> tuple[Chapter, ...]:
        """The experiments of a section that have records."""
        return tuple(self._chapters[name] for name in section.experiments if name in self._chapters)

    def absences_of(self, section: Section) -> tuple[Absence, ...]:
        """The experiments of a section that have none."""
        return tuple(self._absences[name] for name in section.experiments if name in self._absences)

    def value(self, name: str, metric: str = "throughput", *, phase: str = "run", **where: Any) -> Tex:
        """The median of one point, with its interval and n."""
        chapter = self._chapter(name)
        asked = f"{metric} of {phase} at {_listed(where)}"
        found = numbers.find_value(chapter, metric, phase, where) if chapter else None
        return self._or_lacking(found, f"{name}: {asked}")

    def ratio(
        self, name: str, *, over: str, metric: str = "throughput", phase: str = "run", **where: Any
    ) -> Tex:
        """An engine's paired ratio over another at one point."""
        chapter = self._chapter(name)
        asked = f"{metric} of {phase} over {over} at {_listed(where)}"
        found = numbers.find_ratio(chapter, over, metric, phase, where) if chapter else None
        return self._or_lacking(found, f"{name}: {asked}")

    def mean(self, name: str, engine: str) -> Tex:
        """The geometric mean of an engine's ratios to the experiment's baseline, over all points."""
        chapter = self._chapter(name)
        found = numbers.find_mean(chapter, engine) if chapter else None
        return self._or_lacking(found, f"{name}: mean over all points of {engine}")

    def fact(self, name: str, what: str) -> Tex:
        """A fact of an experiment's plan or records: cap, repetitions, loads, scale, runs, points, sizes."""
        chapter = self._chapter(name)
        if chapter is None:
            return self._or_lacking(None, f"{name}: {what}")
        facts = _facts(chapter)
        if what not in facts:
            raise SpecError(unknown("fact", what, facts))
        return tex(facts[what])

    def claims(self, name: str) -> tuple[Judged, ...]:
        """All claims of an experiment that has records; those that were not measured count as lacking."""
        chapter = self._chapter(name)
        if chapter is None:
            return ()
        found = tuple(Judged(name, claim, chapter.analysis) for claim in chapter.analysis.claims)
        for judged in found:
            if judged.claim.verdict == "not measured":
                self._lacking[f"{name}: claim {judged.claim.id}"] = None
        return found

    def other_claims(self, name: str) -> tuple[Judged, ...]:
        """The claims of an experiment that the text has not stated yet."""
        return tuple(each for each in self.claims(name) if (name, each.claim.id) not in self._stated)

    def claim(self, name: str, wanted: str) -> Tex:
        """A claim and what the records show of it, as sentences; without records nothing."""
        judged = self._judged(name, wanted)
        return judged.sentence if judged else Tex("")

    def judged(
        self,
        name: str,
        wanted: str,
        *,
        holds: str,
        contradicted: str,
        undecided: str,
        not_measured: str,
    ) -> Tex:
        """The text that the claim's verdict chooses; in it <value> and <expected> are the records'."""
        judged = self._judged(name, wanted)
        if judged is None:
            return Tex(not_measured.replace("<value>", numbers.NOT_MEASURED).replace("<expected>", ""))
        return chosen(
            judged,
            {
                "supported": holds,
                "contradicted": contradicted,
                "undecided": undecided,
                "not measured": not_measured,
            },
        )

    def figure(self, name: str, wanted: str) -> Tex:
        """Place a figure here, or where it is found first."""
        chapter = self._chapter(name)
        if chapter is None:
            return self._or_lacking(None, f"{name}: figure {wanted}")
        found = _named(chapter.pictures, wanted)
        if found is None:
            known = [spec.id for spec in chapter.experiment.figures]
            return self._absent(name, "figure", wanted, known)
        self._placed.add(f"fig:{name}:{wanted}")
        return _picture(found, f"fig:{name}:{wanted}")

    def table(self, name: str, wanted: str) -> Tex:
        """Place a table here; one that is too long stands in the appendix."""
        chapter = self._chapter(name)
        if chapter is None:
            return self._or_lacking(None, f"{name}: table {wanted}")
        found = _named(chapter.tables, wanted)
        if found is None:
            known = [spec.id for spec in chapter.experiment.tables]
            return self._absent(name, "table", wanted, known)
        self._placed.add(f"tab:{name}:{wanted}")
        return Tex("") if is_long(found) else place_table(found, f"tab:{name}:{wanted}")

    def see(self, kind: str, name: str, wanted: str) -> Tex:
        """A reference: see("figure", experiment, id) prints "Figure 3"."""
        chapter = self._chapter(name)
        shown: tuple[Picture | PaperTable, ...] = ()
        if chapter is not None:
            shown = chapter.pictures if kind == "figure" else chapter.tables
        label = f"{'fig' if kind == 'figure' else 'tab'}:{name}:{wanted}"
        if _named(shown, wanted) is None:
            return self._or_lacking(None, f"{name}: {kind} {wanted}")
        return Tex(rf"{kind.capitalize()}~\ref{{{label}}}")

    def rest(self, name: str) -> Tex:
        """The experiment's figures and tables that the text has not placed yet."""
        chapter = self._chapters[name]
        figures = (
            self.figure(name, each.id)
            for each in chapter.pictures
            if f"fig:{name}:{each.id}" not in self._placed
        )
        tables = (
            self.table(name, each.id)
            for each in chapter.tables
            if f"tab:{name}:{each.id}" not in self._placed
        )
        return Tex("\n".join([*figures, *tables]))

    def long_tables(self, name: str) -> Tex:
        """The experiment's tables that are too long for its section."""
        tables = (table for table in self._chapters[name].tables if is_long(table))
        return Tex("\n".join(long_table(table, f"tab:{name}:{table.id}") for table in tables))

    def points(self, name: str) -> Tex:
        """The table of all points of an experiment."""
        table = points_table(self._chapters[name])
        return long_table(table, f"tab:{name}:points") if table else numbers.NOT_MEASURED

    def claim_points(self) -> Tex:
        """The table of every claim's points."""
        judged = [each for name in self._chapters for each in self.claims(name)]
        table = claims_table(judged)
        return long_table(table, "tab:claimpoints") if table else numbers.NOT_MEASURED

    def hosts(self) -> tuple[Chapter, ...]:
        """For each host the first experiment that it measured."""
        found: dict[str, Chapter] = {}
        for chapter in self._chapters.values():
            found.setdefault(chapter.analysis.machines[0].host_id, chapter)
        return tuple(found.values())

    def noise_floors(self) -> tuple[tuple[Chapter, NoiseFloor], ...]:
        """The experiments whose hosts had a self-test, each with what it lets them show."""
        return tuple(
            (chapter, floor)
            for chapter in self._chapters.values()
            for floor in chapter.analysis.noise
            if floor.measured_at
        )

    def commits(self) -> tuple[str, ...]:
        """The commits that measured, in full."""
        return tuple(dict.fromkeys(c for chapter in self._chapters.values() for c in chapter.commits))

    def _chapter(self, name: str) -> Chapter | None:
        if name in self._chapters:
            return self._chapters[name]
        if name in self._absences:
            return None
        known = (*self._chapters, *self._absences)
        raise SpecError(unknown("experiment of this paper", name, known))

    def _judged(self, name: str, wanted: str) -> Judged | None:
        """The claim of an experiment, which is then stated; None if the experiment has no records."""
        if self._chapter(name) is None:
            self._lacking[f"{name}: claim {wanted}"] = None
            return None
        self._stated.add((name, wanted))
        found = {judged.claim.id: judged for judged in self.claims(name)}
        if wanted not in found:
            raise SpecError(unknown(f"claim of {name}", wanted, found))
        return found[wanted]

    def _absent(self, name: str, kind: str, wanted: str, known: Sequence[str]) -> Tex:
        if wanted not in known:
            raise SpecError(unknown(f"{kind} of {name}", wanted, known))
        return self._or_lacking(None, f"{name}: {kind} {wanted}")

    def _or_lacking(self, found: Tex | None, what: str) -> Tex:
        if found is None:
            self._lacking[what] = None
            return numbers.NOT_MEASURED
        return found


def _picture(picture: Picture, label: str) -> Tex:
    star, width = ("*", r"\textwidth") if picture.wide else ("", r"\columnwidth")
    caption = tex(f"{picture.title}. {picture.caption}" if picture.title else picture.caption)
    return Tex(
        f"\\begin{{figure{star}}}[tbp]\n\\centering\n"
        f"\\includegraphics[width={width}]{{{picture.file}}}\n"
        f"\\caption{{{caption}\\label{{{label}}}}}\n\\end{{figure{star}}}\n"
    )


def _facts(chapter: Chapter) -> Mapping[str, str]:
    experiment, analysis = chapter.experiment, chapter.analysis
    caps = {c.cap_bytes for c in analysis.confinements if c.capped}
    sizes = next((axis for axis in analysis.axes if axis.name == "dataset"), None)
    ends = [axis_text(value, sizes.unit) for value in sizes.values] if sizes else []
    n = sorted(set(analysis.estimates.loc[analysis.estimates["headline"], "n"].astype(int)))
    return {
        "cap": " or ".join(quantity(cap, "byte") for cap in sorted(caps)) or "no cap",
        "scale": f"{experiment.profile.name} (1/{1 / experiment.profile.scale:g})",
        "repetitions": " to ".join(map(str, n[:1] + n[-1:] if len(n) > 1 else n)) or "0",
        "loads": str(experiment.loads),
        "runs": str(analysis.runs_recorded),
        "points": str(len(analysis.planned)),
        "sizes": f"{ends[0]} to {ends[-1]}" if len(ends) > 1 else "".join(ends),
    }


def _named(shown: Sequence[T], wanted: str) -> T | None:
    return next((each for each in shown if getattr(each, "id", None) == wanted), None)


def _listed(where: Mapping[str, Any]) -> str:
    return ", ".join(_words(where)) or "the only point"


def _words(where: Mapping[str, Any]) -> Iterator[str]:
    return (f"{name} {value}" for name, value in where.items())
