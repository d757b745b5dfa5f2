"""Options of a figure: what its kind takes, and whether a value is that.

The same forms serve the experiment's check, which has not loaded any drawing library, and the drawing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .words import unknown

#: "flag": true or false; "count": a whole number from 1; "words": a list of texts; a tuple: of these texts.
#: One text stands for a list of one.
OptionForm = Literal["flag", "count", "words"] | tuple[str, ...]
OptionForms = Mapping[str, OptionForm]


def option_mistake(name: str, value: Any, forms: OptionForms) -> str | None:
    """What is wrong with an option that the kind has; None if nothing is."""
    form = forms[name]
    if form == "flag":
        return None if isinstance(value, bool) else f"{name}: expected true or false, found {value!r}"
    if form == "count":
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        return None if whole else f"{name}: expected a whole number from 1, found {value!r}"
    if not all(isinstance(word, str) for word in words_of(value)):
        return f"{name}: expected a list of words, found {value!r}"
    strange = [word for word in words_of(value) if isinstance(form, tuple) and word not in form]
    return f"{name}: {unknown('word', strange[0], form)}" if strange else None


def words_of(value: Any) -> tuple[Any, ...]:
    """The items of an option of words."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)
