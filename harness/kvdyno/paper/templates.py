"""LaTeX templates: Jinja2 with delimiters that LaTeX leaves alone; text is escaped where it is printed.

\\VAR{expression}     prints a value, escaped unless it is `Tex`
%% statement          a line: for, if, set, include
%# comment            a line that is left out
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError

from kvdyno.errors import KvdynoError, SpecError
from kvdyno.model.latex import escaped

_SUFFIX = ".j2"
_MACRO = re.compile(r"\\VAR\{(?:[^{}]|\{[^{}]*\})*\}", re.DOTALL)
_COMMENT = re.compile(r"^\s*%.*$", re.MULTILINE)
_COMMAND = re.compile(r"\\(?:label|ref|input|vspace|hspace|cite)\*?\{[^}]*\}")
_TYPED = re.compile(r"(?<![\w-])\d[\d.,]*")


class Tex(str):
    """Text that is LaTeX already."""

    __slots__ = ()


def tex(value: object) -> Tex:
    """A value as LaTeX: its own if it has one, else its text, escaped."""
    return value if isinstance(value, Tex) else Tex(escaped(str(value)))


def make_environment(folders: Sequence[Path]) -> Environment:
    """An environment that looks for templates in these folders, in order."""
    return Environment(
        loader=FileSystemLoader(folders),
        block_start_string=r"\BLOCK{",
        block_end_string="}",
        variable_start_string=r"\VAR{",
        variable_end_string="}",
        comment_start_string=r"\NOTE{",
        comment_end_string="}",
        line_statement_prefix="%%",
        line_comment_prefix="%#",
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
        finalize=tex,
    )


def render_template(environment: Environment, name: str, context: Mapping[str, Any]) -> Tex:
    """A template's text. Raises SpecError with the template's file and line."""
    try:
        return Tex(environment.get_template(name).render(context))
    except TemplateSyntaxError as error:
        raise SpecError(str(error.message), where=f"{error.filename or name}:{error.lineno}") from error
    except (TemplateError, TypeError, KeyError, AttributeError) as error:
        raise SpecError(f"cannot be rendered: {error}", where=_place(error, name)) from error
    except KvdynoError as error:
        raise SpecError(error.message, where=_place(error, name), remedy=error.remedy) from error


def _place(error: Exception, name: str) -> str:
    """ "file:line" of the innermost template that the error passed through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(_SUFFIX)]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else name


def check_typed_numbers(templates: Sequence[Path]) -> None:
    """Raise SpecError for the first number that a paper's text types: each has to come from a record."""
    for template in templates:
        for line, number in _typed_numbers(template.read_text("utf-8")):
            raise SpecError(
                f"expected numbers from records only, found {number!r} in the text",
                where=f"{template}:{line}",
                remedy=r"print it with \VAR{value(…)}, \VAR{ratio(…)} or \VAR{fact(…)}, or write the word",
            )


def _typed_numbers(text: str) -> Iterator[tuple[int, str]]:
    """Line and number, outside of macros, comments and labels."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    for pattern in (_MACRO, _COMMENT, _COMMAND):
        text = pattern.sub(blank, text)
    for found in _TYPED.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[0]
