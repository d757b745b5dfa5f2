"""What templates print: numbers with intervals, verdicts' sentences, and nothing unescaped or invented."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from kvdyno.errors import SpecError
from kvdyno.model.latex import escaped
from kvdyno.model.papers import Absence, Chapter, PaperCell, PaperTable
from kvdyno.model.results import NoiseFloor
from kvdyno.paper.configurations import builds_of, configurations_of
from kvdyno.paper.context import Context
from kvdyno.paper.tables import is_long, long_table, place_table
from kvdyno.paper.templates import check_typed_numbers, make_environment, render_template
from kvdyno.paper.texts import caveats, code, floor_text

POINT = {"engine": "RocksDB", "workload": "P", "dataset": "4GiB"}


@pytest.fixture
def context(chapter: Chapter) -> Context:
    return Context([chapter], [Absence("other", "Other", "no record")])


def test_signs_of_latex_are_printed_as_they_are() -> None:
    assert escaped("50% & a_b {x} ~^\\ $#") == (
        r"50\% \& a\_b \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{} \$\#"
    )
    assert escaped("≥ 3 µs – “x”") == r"\ensuremath{\ge} 3 \textmu{}s -- ?x?"


def test_templates_escape_what_they_print_and_leave_their_own_latex(tmp_path: Path) -> None:
    (tmp_path / "a.tex.j2").write_text(
        "\\emph{\\VAR{x}}%% no statement\n%% for y in [1, 2]\n\\VAR{y}\n%% endfor\n%# left out\n"
    )
    found = render_template(make_environment([tmp_path]), "a.tex.j2", {"x": "a_b"})
    assert found == "\\emph{a\\_b}%% no statement\n1\n2\n\n"


def test_a_mistake_of_a_template_is_named_with_file_and_line(tmp_path: Path, context: Context) -> None:
    environment = make_environment([tmp_path])
    for line, problem in {
        r'\VAR{value("nothing")}': "unknown experiment of this paper 'nothing'",
        r'\VAR{value("quickstart", workload="P")}': "expected one point of quickstart, found 6",
        r'\VAR{value("quickstart", engine="RocksBD")}': "did you mean 'RocksDB'",
        r'\VAR{claim("quickstart", "P")}': "unknown claim of quickstart",
        r'\VAR{figure("quickstart", "x")}': "unknown figure of quickstart",
        r"\VAR{missing}": "'missing' is undefined",
        r"\VAR{(}": "unexpected",
    }.items():
        (tmp_path / "a.tex.j2").write_text(f"one\n{line}\n")
        with pytest.raises(SpecError) as caught:
            render_template(environment, "a.tex.j2", context.functions)
        assert problem in caught.value.message
        assert str(caught.value.where).endswith("a.tex.j2:2")


def test_numbers_carry_interval_and_repetitions(context: Context, chapter: Chapter) -> None:
    rows = chapter.analysis.estimates
    rows = rows[(rows["label"] == "RocksDB") & (rows["workload"] == "P") & rows["headline"]]
    rows = rows[(rows["dataset"] == 64 << 20) & (rows["metric"] == "throughput")]
    median = rows["median"].iloc[0]
    found = context.value("quickstart", **POINT)
    assert found.startswith(f"{median / 1e3:.1f}~kop/s (")
    assert re.fullmatch(r"[\d.]+~kop/s \([\d.]+~kop/s to [\d.]+~kop/s, \$n\$~=~3\)", found)
    ratio = context.ratio("quickstart", over="RocksDB", **{**POINT, "engine": "LevelDB"})
    assert re.fullmatch(r"[\d.]+ times \([\d.]+ to [\d.]+, \$n\$~=~3\)", ratio)
    assert re.match(r"[\d.]+ times", context.mean("quickstart", "LevelDB"))
    assert context.fact("quickstart", "cap") == "256 MiB"
    assert context.lacking() == ()


def test_a_label_that_is_also_an_engines_name_names_its_own_point(context: Context, chapter: Chapter) -> None:
    shared = chapter.analysis.estimates.assign(engine="RocksDB")
    both = dataclasses.replace(chapter.analysis, estimates=shared)
    twice = Context([dataclasses.replace(chapter, analysis=both)], [])
    assert twice.value("quickstart", **POINT) == context.value("quickstart", **POINT)


def test_a_number_that_no_record_has_is_visible_and_listed(context: Context) -> None:
    lost = {"engine": "LevelDB", "workload": "C", "dataset": "64GiB"}
    assert context.value("quickstart", **lost) == r"\notmeasured{}"
    assert context.value("quickstart", "no.metric", **POINT) == r"\notmeasured{}"
    assert context.claim("other", "x") == ""
    assert context.see("table", "other", "x") == r"\notmeasured{}"
    assert context.lacking() == (
        "quickstart: throughput of run at engine LevelDB, workload C, dataset 64GiB",
        "quickstart: no.metric of run at engine RocksDB, workload P, dataset 4GiB",
        "other: claim x",
        "other: table x",
    )


@pytest.mark.parametrize(
    ("claim", "chosen", "ending"),
    [
        ("C-small", "good", r"This holds here: [\d.]+ \("),
        ("P-always", "bad", "The records contradict this: "),
        ("A-middle", "open", "The records leave this undecided: "),
        ("B", "none", r"This was \\notmeasured{}\.$"),
    ],
)
def test_the_verdict_chooses_the_sentence(context: Context, claim: str, chosen: str, ending: str) -> None:
    texts = {"holds": "good", "contradicted": "bad", "undecided": "open", "not_measured": "none"}
    assert context.judged("quickstart", claim, **texts) == chosen
    assert re.search(ending, context.claim("quickstart", claim))


def test_chosen_text_prints_value_and_bounds_of_the_records(context: Context) -> None:
    texts = dict.fromkeys(("holds", "contradicted", "undecided", "not_measured"), "<value>; <expected>")
    value, _, bounds = context.judged("quickstart", "C-small", **texts).partition("; ")
    assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+, \$n\$~=~3\)", value)
    assert bounds == r"leveldb / rocksdb: throughput of run \ensuremath{\ge} 1.5"
    assert context.judged("quickstart", "B", **texts).startswith(r"\notmeasured{}; ")


def test_a_floor_names_what_its_experiment_cannot_show(chapter: Chapter) -> None:
    known = NoiseFloor("host", "local", "2026-11-25T08:00:00Z", 3, {"A": 0.031, "C": 4.5})
    other = dataclasses.replace(known, host_id="b", measured_at="", effects={})
    measured = dataclasses.replace(chapter.analysis, noise=(known, other))
    context = Context([dataclasses.replace(chapter, analysis=measured)], [])
    ((_, floor),) = context.noise_floors()
    assert floor_text(floor) == r"3.1~\% (A), 450~\% (C)"


def test_a_typed_number_in_a_text_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "a.tex.j2"
    text.write_text('YCSB-E10, \\ref{tab:1} and \\VAR{value("x", dataset="4GiB")}\n% 12\n')
    check_typed_numbers([text])
    text.write_text("one\n\\VAR{mean(3)} is 1.5 times\n")
    with pytest.raises(SpecError, match=r"a\.tex\.j2:2: .* found '1\.5'"):
        check_typed_numbers([text])


TABLE = PaperTable(
    id="t",
    title="Rate, kop/s",
    caption="Medians (n = 3).",
    names=("workload", "engine"),
    columns=("1 GiB",),
    rows=(
        (("a", "x_1"), (PaperCell("1.2", ("(1.1 to 1.3)",), strong=True),)),
        (("a", "y"), (PaperCell("out of memory"),)),
        (("b", "x_1"), (PaperCell("3.4"),)),
    ),
)


def test_a_table_becomes_known_latex() -> None:
    assert place_table(TABLE, "tab:e:t") == (
        "\\placetable{\\caption{Rate, kop/s. Medians (n = 3).\\label{tab:e:t}}}{%\n"
        "\\begin{tabular}{@{}llr@{}}\n\\toprule\nworkload & engine & 1 GiB \\\\\n\\midrule\n"
        "a & x\\_1 & \\textbf{1.2} (1.1 to 1.3) \\\\\n & y & out of memory \\\\\n\\addlinespace\n"
        "b & x\\_1 & 3.4 \\\\\n\\bottomrule\n\\end{tabular}}\n"
    )


def test_a_table_that_is_too_wide_has_intervals_below_and_then_several_parts() -> None:
    cell = PaperCell("123", ("(100 to 150)",))
    wide = PaperTable("t", "T", "C.", ("w",), ("column",) * 9, ((("a",), (cell,) * 9),))
    assert place_table(wide, "l").count("(100 to 150) \\\\") == 1
    assert place_table(wide, "l").count("placetable") == 1
    wider = PaperTable("t", "T", "C.", ("w",), ("column",) * 20, ((("a",), (cell,) * 20),))
    found = place_table(wider, "l")
    assert found.count(r"\placetable") == 3
    assert found.count(r"\label") == 1
    assert "Part 3 of 3." in found
    assert found.count("123") == 20


def test_a_long_table_spans_pages() -> None:
    long = PaperTable("t", "T", "C.", ("w",), ("c",), ((("a",), (PaperCell("1"),)),) * 60)
    assert is_long(long)
    assert not is_long(TABLE)
    assert r"\endhead" in long_table(long, "l")


def test_names_break_behind_signs_and_hashes_anywhere() -> None:
    assert code("a_b") == r"\texttt{a\_\allowbreak{}b}"
    assert code("0" * 40).count("allowbreak") == 2


def test_a_configuration_is_listed_once_for_all_builds_and_names_what_varied(chapter: Chapter) -> None:
    one = dataclasses.replace(chapter.analysis.contenders[0], options={"a": "1", "threads": "2"})
    rebuilt = dataclasses.replace(one, binary_sha256="other")
    large = dataclasses.replace(one, label="large", options={"a": "9", "dataset": "4GiB", "threads": "2"})
    chapters = [
        dataclasses.replace(chapter, analysis=dataclasses.replace(chapter.analysis, contenders=contenders))
        for contenders in ((one, large), (rebuilt,))
    ]
    assert [(each.label, each.binary_sha256) for each in builds_of(chapters)] == [
        (one.label, one.binary_sha256),
        (one.label, "other"),
        ("large", one.binary_sha256),
    ]
    first, second = configurations_of(chapters)
    assert (first.label, first.experiments, first.like) == (one.label, ("quickstart", "quickstart"), "")
    assert (first.options, first.varied) == ({"a": "1", "threads": "2"}, ())
    assert (second.label, second.like) == ("large", one.label)
    assert (second.options, second.varied) == ({"a": "9"}, ("dataset",))


def test_a_value_of_what_the_first_configuration_varied_is_listed(chapter: Chapter) -> None:
    first = dataclasses.replace(chapter.analysis.contenders[0], options={"dataset": "4GiB"})
    varied = dataclasses.replace(chapter.analysis, contenders=(first,))
    fixed = dataclasses.replace(varied, contenders=(dataclasses.replace(first, label="other"),), axes=())
    found = configurations_of([dataclasses.replace(chapter, analysis=each) for each in (varied, fixed)])
    assert [(each.varied, each.options) for each in found] == [(("dataset",), {}), ((), {"dataset": "4GiB"})]


def test_a_caveat_names_the_engine_or_those_of_its_contenders_that_have_it(chapter: Chapter) -> None:
    one = dataclasses.replace(chapter.analysis.contenders[0], engine="e", caveats=("all", "some"))
    other = dataclasses.replace(one, label="other", caveats=("all",))
    assert caveats((one, other)) == (("e", "all"), (one.label, "some"))
