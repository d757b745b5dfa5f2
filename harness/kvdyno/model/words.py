"""Words that errors and verdicts share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN_MAX = 80


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to `word`, or None when nothing is near."""
    spelled = {candidate.casefold(): candidate for candidate in known}
    # Comparing takes time with the square of the length, and no word is so long.
    matches = difflib.get_close_matches(word.casefold()[:_SHOWN_MAX], spelled, n=1, cutoff=0.6)
    return spelled[matches[0]] if matches else None


def shown(value: object) -> str:
    """What was found, in quotes and in a line: the middle of a long text is left out."""
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX // 2]} … {text[-_SHOWN_MAX // 2 :]}"


def unknown(noun: str, word: str, known: Iterable[str]) -> str:
    """ "unknown engine 'rocksbd': expected one of leveldb, rocksdb; did you mean 'rocksdb'?"."""
    known = tuple(known)
    close = nearest(word, known)
    if not known:
        return f"unknown {noun} {shown(word)}: there is none"
    listed = f"expected one of {', '.join(known)}" if len(known) <= 24 else f"{len(known)} are known"
    return f"unknown {noun} {shown(word)}: {listed}" + (f"; did you mean {close!r}?" if close else "")


def verdict_words(verdict: str, *, within: bool, margin: float) -> str:
    """A comparison's verdict (Analysis.ratios) as people read it: "faster", "same within 5 %", "faster, but
    within 5 %".
    """
    share = f"within {100 * margin:g} %"
    if verdict == "same":
        return f"same {share}"
    return f"{verdict}, but {share}" if within and verdict not in ("undecided", "equal") else verdict
