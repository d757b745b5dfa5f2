"""Where contenders' own libraries differ in more than their code: assertions, checksums, allocator, build.

Where they differ so, a difference in speed shows nothing about the engines' designs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kvdyno.model.engine import LibraryFacts
from kvdyno.model.record import Record
from kvdyno.model.results import Caution

from .frame import label_of

_REMEDY = "compare versions that are built alike: `kvdyno engines build` lists and builds them"


def differences(records: Sequence[Record]) -> list[Caution]:
    """A caution for each fact in which the contenders' libraries differ, with who has what.

    Contenders without a library, or of which the fact is not known, are left out.
    """
    facts = library_facts(records)
    return [
        caution for check in (_assertions, _checksum, _allocator, _optimisation) if (caution := check(facts))
    ]


def library_facts(records: Sequence[Record]) -> Mapping[str, LibraryFacts]:
    """Each contender's library, from its first run that has it."""
    found: dict[str, LibraryFacts] = {}
    for record in records:
        library = record.outcome.engine.library if record.outcome else None
        if library:
            found.setdefault(label_of(record), library)
    return found


def library_text(library: LibraryFacts | None) -> str:
    """The known facts in words: "built, no assertions, hardware checksums, glibc 2.36, -O3 -DNDEBUG"."""
    if library is None:
        return ""
    assertions = {True: "assertions", False: "no assertions", None: ""}[library.assertions]
    checksum = f"{library.checksum} checksums" if library.checksum else ""
    parts = (library.origin, assertions, checksum, library.allocator, library.compiler, library.flags)
    return ", ".join(filter(None, parts))


def _assertions(facts: Mapping[str, LibraryFacts]) -> Caution | None:
    words = {True: "assertions compiled in", False: "none", None: ""}
    return _differ(facts, lambda each: words[each.assertions], what="the engines' assertions differ")


def _checksum(facts: Mapping[str, LibraryFacts]) -> Caution | None:
    return _differ(facts, lambda each: each.checksum, what="how the engines compute checksums differs")


def _allocator(facts: Mapping[str, LibraryFacts]) -> Caution | None:
    return _differ(facts, lambda each: each.allocator, what="the engines' memory allocators differ")


def _optimisation(facts: Mapping[str, LibraryFacts]) -> Caution | None:
    return _differ(facts, lambda each: _level(each.flags), what="the engines' optimisation differs")


def _level(flags: str) -> str:
    """The last -O of the flags, which wins; "" without one."""
    levels = [flag for flag in flags.split() if flag.startswith("-O")]
    return levels[-1] if levels else ""


def _differ(
    facts: Mapping[str, LibraryFacts], value_of: Callable[[LibraryFacts], str], *, what: str
) -> Caution | None:
    by_value: dict[str, list[str]] = {}
    for label, library in facts.items():
        if value := value_of(library):
            by_value.setdefault(value, []).append(label)
    if len(by_value) < 2:
        return None
    listed = "; ".join(f"{value}: {', '.join(labels)}" for value, labels in by_value.items())
    return Caution("library", f"{what} ({listed})", _REMEDY)
