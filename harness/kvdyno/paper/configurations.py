"""What a paper lists of its contenders: builds, and the options that each had in which experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvdyno.model.papers import Chapter
from kvdyno.model.results import Contender


@dataclass(frozen=True)
class Configuration:
    """A contender's options, with the experiments in which it had them.

    `options` are those that differ from the contender `like` of the same engine, all of them if that is "".
    `varied` are left out of them: the experiments have an axis of that name.
    """

    label: str
    experiments: tuple[str, ...]
    like: str
    options: Mapping[str, str]
    varied: tuple[str, ...]


def builds_of(chapters: Sequence[Chapter]) -> tuple[Contender, ...]:
    """Every contender once for each build that it had."""
    found: dict[tuple[str, str], Contender] = {}
    for chapter in chapters:
        for contender in chapter.analysis.contenders:
            found.setdefault((contender.label, contender.binary_sha256), contender)
    return tuple(sorted(found.values(), key=lambda contender: (contender.engine, contender.label)))


def configurations_of(chapters: Sequence[Chapter]) -> tuple[Configuration, ...]:
    """Every contender once for each set of options that it had."""
    groups: dict[tuple[object, ...], tuple[Contender, tuple[str, ...], list[str]]] = {}
    for chapter in chapters:
        axes = {axis.name for axis in chapter.analysis.varying}
        for contender in chapter.analysis.contenders:
            varied = tuple(sorted(axes & contender.options.keys()))
            fixed = tuple(sorted(_fixed(contender, varied).items()))
            key = (contender.label, varied, fixed)
            groups.setdefault(key, (contender, varied, []))[2].append(chapter.name)
    ordered = sorted(groups.values(), key=lambda group: (group[0].engine, group[0].label))
    first: dict[str, tuple[str, dict[str, str]]] = {}
    found = []
    for contender, varied, names in ordered:
        options = _fixed(contender, varied)
        like, shared = first.get(contender.engine, ("", {}))
        first.setdefault(contender.engine, (contender.label, options))
        own = {name: text for name, text in options.items() if shared.get(name) != text}
        found.append(Configuration(contender.label, tuple(names), like, own, varied))
    return tuple(found)


def _fixed(contender: Contender, varied: Sequence[str]) -> dict[str, str]:
    return {name: text for name, text in contender.options.items() if name not in varied}
