"""The word list finds what hides the actor in prose, with its line, and leaves code alone."""

from __future__ import annotations

import pytest

from harness import words


def _found(path: str, text: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.words) for finding in words.findings(path, text)]


@pytest.mark.parametrize(
    ("path", "text", "line", "expected"),
    [
        ("a.md", "One.\nThe manifest tells chunks.\n", 2, "tells"),
        ("a.md", "```sh\ntell\n```\nWhoever asks.\n", 4, "Whoever"),
        ("a.md", "never of\nbefore\n", 1, "of before"),
        ("a.py", 'x = 1\n"""Of a file: its size."""\n', 2, "Of"),
        ("a.py", "x = 1  # made anew\n", 1, "anew"),
        ("a.py", 'raise E(f"{a.b} wants {c}")\n', 1, "wants"),
        ("a.py", "# so long\n# a run\n", 1, "so long a"),
        ("a.py", "def test_a_mistake_is_told() -> None: ...\n", 1, "told"),
        ("a.cc", "int x;  // nobody reads\n", 1, "nobody"),
        ("a.cc", 'Fail("runs are "\n     "of one sweep");\n', 1, "are of"),
        ("a.h", "/* One.\n * The file says so. */\n", 2, "says"),
        ("a.cc", 'R"(One.\nIt said so.)"\n', 2, "said"),
        ("a.cc", "TEST_F(Run, TellsWhy) {\n", 1, "tells"),
        ("a.yaml", "summary: >\n  The limiter is told the rate.\n", 2, "told"),
        ("a.md.j2", "{{ n }} runs are of the present build.\n", 1, "are of"),
        ("a.html.j2", "{% if told %}\n<p>Nobody ran.</p>\n{% endif %}\n", 2, "Nobody"),
        ("a.js", "let told = 1;\n// Says the value.\n", 2, "Says"),
        ("a.cmake", "# Tells what it lacks.\n", 1, "Tells"),
    ],
)
def test_words_that_hide_the_actor_are_found(path: str, text: str, line: int, expected: str) -> None:
    assert (line, expected) in _found(path, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "```sh\ntell nobody\n```\n"),
        ("a.md", "Of course. Of 16 tests, two fail. What there is of it is of no use.\n"),
        ("a.py", "told = tell(nobody)\n"),
        ("a.py", 'parametrize(("old", "said"), f(said))\n'),
        ("a.py", 'f"{tell(said)} rows"\n'),
        ("a.cc", "int told = Tell(nobody);\n"),
        ("a.md.j2", "{% set told = tell(nobody) %}{{ told }} rows\n"),
        ("a.js", "const told = tell('x');\n"),
        ("a.cc", 'Add("are"); x = of; Add("of it");\n'),
        ("a.cc", "TEST_F(Run, ANewFileIsEmpty) {\n"),
    ],
)
def test_code_names_and_plain_sentences_are_left_alone(path: str, text: str) -> None:
    assert _found(path, text) == []


def test_a_finding_names_place_words_and_remedy() -> None:
    (finding,) = words.findings("docs/a.md", "One.\n\nNobody acts.\n")
    assert str(finding) == "docs/a.md:3: “Nobody”: name the actor: the caller, a writer, no thread"
