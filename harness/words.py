"""Plain English: words that hide who acts, found in the repository's prose. `make lint` runs it.

Prose is what a person reads: documents, templates and experiments; in sources, the comments, docstrings,
texts and names of tests. This file holds the only list of words.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: What to avoid, and what to write. Capitals count where a pattern has them.
LIST = (
    (r"(?i:\b(tells?|told|telling|says|said|saying)\b)", "name what acts: a manifest lists, a read reports"),
    (r"(?i:\b(whoever|nobody|somebody)\b)", "name the actor: the caller, a writer, no thread"),
    (r"(?i:\b(wants|for want of)\b)", "needs, asks for, for lack of"),
    (r"(?i:\banew\b)", "again"),
    (r"(?i:\bso (long|short|large|small|many|few|much|old|late) an?\b)", "too long, such a long"),
    (r"(?i:\b(of|from) before\b)", "earlier, old"),
    (r"(?i:\bof the present\b)", "up to date, current"),
    (r"(?i:\blives? no more\b)", "has exited, is gone"),
    (r"(?i:(?<!\bthere) (is|are|was|were) of (?!no use|use\b|interest|no interest))", "has, comes from"),
    (r"\bOf (?!course\b|\d)", "begin with the subject"),
)
#: Data, inputs of programs, other programs' words, and the two files that need the words themselves.
SKIPPED = re.compile(
    r"\.(csv|svg|lock|supp|map|parquet)$|^results/.*\.yaml$|^engines/\w+/fuzz/corpus/|^tests/fixtures/"
    r"|^harness/words\.py$|^tests/python/docs/test_words\.py$"
)
C_FAMILY = frozenset({".cc", ".h", ".c", ".js"})
#: A raw string, a string, a character, or a comment.
C_PROSE = re.compile(
    r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/',
    re.DOTALL,
)
C_TEST = re.compile(r"^TEST(?:_F|_P)?\(\w+,\s*(\w+)", re.MULTILINE)
PYTHON_PROSE = frozenset({"COMMENT", "STRING", "FSTRING_MIDDLE"})


@dataclass(frozen=True)
class Finding:
    """A place to mend. `path` relative to the repository; `line` from 1; `words` as found."""

    path: str
    line: int
    words: str
    better: str

    def __str__(self) -> str:
        """Place, words and remedy, in one line."""
        return f"{self.path}:{self.line}: “{self.words}”: {self.better}"


def findings(path: str, text: str) -> list[Finding]:
    """What the list finds in a file's prose, in order."""
    prose = _prose(path, text)
    found = sorted(
        (match.start(), " ".join(match.group().split()), better)
        for pattern, better in LIST
        for match in re.finditer(pattern.replace(" ", r"\s+"), prose)
    )
    return [Finding(path, prose.count("\n", 0, at) + 1, words, better) for at, words, better in found]


def _prose(path: str, text: str) -> str:
    """The text with the same lines, and each piece of code as a "|", which no pattern matches.

    A sentence may thus go on from a comment's line to the next, or from one literal to the next.
    """
    suffix = Path(path).suffix
    if suffix in C_FAMILY:
        pieces = [(match.start(), match.end(), match.group()) for match in C_PROSE.finditer(text)]
        names = [(match.start(1), match.end(1), _apart(match.group(1))) for match in C_TEST.finditer(text)]
        return _keep(text, sorted(pieces + names))
    if suffix in {".py", ".pyi"}:
        return _keep(text, list(_python_pieces(text)))
    if suffix == ".md":
        return re.sub(r"^ *```.*?^ *```", lambda code: _blank(code.group()), text, flags=re.M | re.S)
    if suffix == ".j2":
        text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", lambda code: _blank(code.group()), text, flags=re.DOTALL)
    return re.sub(r"^([ \t]*)#:?", r"\1", text, flags=re.MULTILINE)


def _python_pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Begin, end and words of comments, literals (what an f-string inserts left out) and names of tests."""
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        at = begins[token.start[0] - 1] + token.start[1]
        words = token.string
        if tokenize.tok_name[token.type] in PYTHON_PROSE:
            if re.match(r"[rR]?[fF]", words):
                words = re.sub(r"\{[^{}]*\}", lambda code: _blank(code.group()), words)
            if " " in words:  # a text of one word is a name or a value
                yield at, at + len(token.string), words
        elif token.type == tokenize.NAME and words.startswith("test_"):
            yield at, at + len(words), words.replace("_", " ")


def _blank(code: str) -> str:
    return "|" + "\n" * code.count("\n")


def _apart(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower()


def _keep(text: str, pieces: list[tuple[int, int, str]]) -> str:
    kept: list[str] = []
    end = 0
    for begin, after, words in pieces:
        kept += [re.sub(r"[^\s]+", "|", text[end:begin]), re.sub(r'["\']|//+|/\*|\*/|^\s*[*#]:?', " ", words)]
        end = after
    return "".join(kept)


def main() -> None:
    """Prints what it finds in the files that git knows; status 1 if there is anything."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: list[Finding] = []
    for name in names.splitlines():
        if SKIPPED.search(name) or not (ROOT / name).is_file():
            continue
        try:
            found += findings(name, (ROOT / name).read_text(encoding="utf-8"))
        except UnicodeDecodeError:  # a store or a picture: no prose
            continue
    sys.exit("\n".join(map(str, found)) or None)


if __name__ == "__main__":
    main()
