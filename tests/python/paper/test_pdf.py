"""A whole paper, as LaTeX and as PDF: what is missing is in it, what does not belong together is refused."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from kvdyno import spec
from kvdyno.errors import HostError, SpecError, StoreError
from kvdyno.model.papers import Absence, Chapter, Paper
from kvdyno.model.project import Project
from kvdyno.paper import build_pdf, render
from kvdyno.paper.build import log_complaints
from kvdyno.paper.templates import check_typed_numbers

from .conftest import BASE

latex = pytest.mark.skipif(shutil.which("latexmk") is None, reason="no LaTeX: harness/setup.sh latex")
#: A call that names a claim.
_CLAIM = re.compile(r'(?:judged|claim)\("(?P<experiment>[\w-]+)", "(?P<claim>[\w-]+)"')
OTHER = Absence("other", "Another experiment", "no record at profile small")


def _rendered(paper: Paper, chapters: list[Chapter], text: Path, *absences: Absence) -> str:
    return render(
        paper, chapters, absences, name="trial", profile="small", flags="", text=text, base=BASE
    ).tex


def test_a_paper_has_all_that_its_experiments_have(paper: Paper, chapter: Chapter, text: Path) -> None:
    found = _rendered(paper, [chapter], text)
    for picture in chapter.pictures:
        assert f"{{figures/quickstart/{picture.id}.pdf}}" in found
    for table in chapter.tables:
        assert f"\\label{{tab:quickstart:{table.id}}}" in found
    for claim in chapter.experiment.claims:
        assert claim.text.split("%")[0] in found
    assert r"Trial \& error" in found
    assert r"\verdict{supported}{holds}" in found


def test_a_partial_paper_lists_what_is_missing(paper: Paper, chapter: Chapter, text: Path) -> None:
    section = paper.sections[0].model_copy(update={"experiments": ("quickstart", "other")})
    partial = paper.model_copy(update={"sections": (section,)})
    found = _rendered(partial, [chapter], text, OTHER)
    assert r"\textbf{This paper is partial:}" in found
    assert "no record at profile small" in found
    assert "1 of 18 points, out of memory: LevelDB C 1 GiB." in found
    assert "quickstart: claim B" in found


def test_records_that_do_not_belong_together_are_named(paper: Paper, chapter: Chapter, text: Path) -> None:
    contenders = tuple(replace(each, version="9.9") for each in chapter.analysis.contenders)
    newer = replace(chapter, analysis=replace(chapter.analysis, contenders=contenders))
    with pytest.raises(StoreError, match=r"one version of RocksDB .* 7\.8\.3 .* \(record \S+\) and 9\.9"):
        _rendered(paper, [chapter, newer], text)


def test_a_paper_without_any_record_is_none(paper: Paper, text: Path) -> None:
    with pytest.raises(StoreError, match=r"found none .other: no record at profile small"):
        _rendered(paper, [], text, OTHER)


@latex
def test_the_pdf_passes_its_checks(paper: Paper, chapter: Chapter, text: Path, folder: Path) -> None:
    source = folder / "paper.tex"
    source.write_text(_rendered(paper, [chapter], text))
    pdf, pages = build_pdf(source, epoch=1_790_000_000)
    shown = subprocess.run(["pdftotext", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
    assert 4 <= pages <= 12
    assert "Trial & error" in shown
    assert "not measured" in shown
    assert "holds" in shown
    assert "??" not in shown
    assert "SHA-256" in shown


@latex
def test_an_error_of_latex_has_file_line_and_the_logs_end(tmp_path: Path) -> None:
    source = tmp_path / "paper.tex"
    source.write_text("\\documentclass{article}\n\\begin{document}\n\\nosuchcommand\n\\end{document}\n")
    with pytest.raises(SpecError, match=r"paper\.tex:3: LaTeX failed: Undefined control sequence(.|\n)*\| "):
        build_pdf(source, epoch=0)


@latex
def test_overfull_boxes_and_undefined_references_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "paper.tex"
    source.write_text(
        "\\documentclass{article}\n\\begin{document}\n\\ref{nothing}\n\n\\hbox to 1pt{wide}\n"
        f"{'x' * 200}\n\\end{{document}}\n"
    )
    with pytest.raises(SpecError) as caught:
        build_pdf(source, epoch=0)
    assert "paper.tex:3: Reference `nothing' on page 1 undefined" in caught.value.message
    assert r"Overfull \hbox" in caught.value.message


def test_complaints_of_a_log_have_lines() -> None:
    log = (
        "LaTeX Warning: Reference `a' on page 1 undefined on input line 7.\n"
        "Overfull \\hbox (3.0pt too wide) in paragraph at lines 12--14\n"
        "LaTeX Warning: Float too large for page by 3.0pt on input line 9.\n"
        "LaTeX Warning: Label(s) may have changed. Rerun.\n"
    )
    found = list(log_complaints(log, Path("paper.tex")))
    assert [complaint[:13] for complaint in found[:3]] == ["paper.tex:7: ", "paper.tex:12:", "paper.tex:9: "]


def test_a_missing_latex_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"found no latexmk .*\n.*harness/setup.sh latex"):
        build_pdf(tmp_path / "paper.tex", epoch=0)


@pytest.mark.parametrize("name", spec.list_papers(BASE.parent))
def test_the_shipped_papers_are_whole_and_type_no_number(name: str) -> None:
    project = Project.find()
    known = [each.name for each in spec.list_experiments(project)]
    profiles = spec.load_profiles(project)
    paper = spec.read_paper(BASE.parent / name / "paper.yaml", experiments=known, profiles=profiles)
    assert {n for n in known if n.startswith(f"{name}-")} == set(paper.experiments)
    check_typed_numbers(sorted((BASE.parent / name).glob("*.tex.j2")))


@pytest.mark.parametrize("name", spec.list_papers(BASE.parent))
def test_the_claims_that_shipped_texts_name_are_in_their_experiments(name: str) -> None:
    files = {each.name: each.path for each in spec.list_experiments(Project.find())}
    named = {
        (match["experiment"], match["claim"])
        for text in (BASE.parent / name).glob("*.tex.j2")
        for match in _CLAIM.finditer(text.read_text("utf-8"))
    }
    claims = {
        (experiment, claim["id"])
        for experiment in {experiment for experiment, _ in named}
        for claim in YAML(typ="safe").load(files[experiment]).get("claims", ())
    }
    assert named, "the pattern finds the calls"
    assert named - claims == set()


def test_mistakes_of_a_papers_file_are_listed_with_their_lines(tmp_path: Path, text: Path) -> None:
    path = text / "paper.yaml"
    path.write_text(
        "schema_version: kvdyno.paper/1\ntitle: T\nreproduces: x\nabstract: abstrct.tex.j2\n"
        "sections:\n  - title: A\n    experiments: [quickstrt]\n"
        "profiles:\n  small: {quickstrt: mediun, other: small}\n  smal: {}\n"
    )
    with pytest.raises(SpecError) as caught:
        spec.read_paper(path, experiments=["quickstart"], profiles=["small", "medium"])
    assert f"{path}:4: unknown text 'abstrct.tex.j2'" in caught.value.message
    assert "did you mean 'quickstart'" in caught.value.message
    assert f"{path}:9: unknown profile 'mediun'" in caught.value.message
    assert f"{path}:9: unknown experiment 'other'" in caught.value.message
    assert f"{path}:10: unknown profile 'smal'" in caught.value.message
