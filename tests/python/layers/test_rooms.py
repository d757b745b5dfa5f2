"""The rooms of the libraries that stand alone: each includes only what CMake links to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvdyno.model.project import Project

STORE = Project.find(start=Path(__file__)).root / "engines" / "chunkstore"
ROOM = re.compile(r"^chunkstore_room\(([\w ]+)\)", re.MULTILINE)
INCLUDE = re.compile(r'^#include "(\w+)/', re.MULTILINE)
#: Interfaces that every room sees: the store's own public headers, and engines/base.
PUBLIC = frozenset({"chunkstore", "kvdyno"})


SAMPLING = STORE.parent / "sampling"
#: Its own folders, its public headers, and of this project engines/base alone.
SAMPLING_SEES = re.compile(r"(structure|external|index|baselines|sampling|kvdyno/base)/|model\.h$")


def _linked() -> dict[str, frozenset[str]]:
    """The rooms that each room sees, itself and those behind others included. Lower rooms come first."""
    seen: dict[str, frozenset[str]] = {}
    for room, *needed in (words.split() for words in ROOM.findall((STORE / "CMakeLists.txt").read_text())):
        seen[room] = frozenset({room}).union(*(seen[lower] for lower in needed))
    return seen


LINKED = _linked()


def _included(room: str) -> dict[str, set[str]]:
    sources = sorted((STORE / room).glob("*.cc")) + sorted((STORE / room).glob("*.h"))
    return {source.name: set(INCLUDE.findall(source.read_text())) - PUBLIC for source in sources}


def test_each_folder_of_sources_is_a_room_or_a_program() -> None:
    folders = {header.parent.name for header in STORE.glob("*/*.h")}
    assert folders - set(LINKED) == {"testing", "tools"}


@pytest.mark.parametrize("room", LINKED)
def test_a_room_includes_only_what_it_links(room: str) -> None:
    assert {
        name: rooms - LINKED[room] for name, rooms in _included(room).items() if rooms - LINKED[room]
    } == {}


def test_the_sampling_index_includes_base_and_nothing_else() -> None:
    sources = [*SAMPLING.rglob("*.cc"), *SAMPLING.rglob("*.h")]
    included = {
        (source.name, path)
        for source in sources
        for path in re.findall(r'^#include "([^"]+)"', source.read_text(), re.MULTILINE)
    }
    assert included
    assert {(name, path) for name, path in included if not SAMPLING_SEES.match(path)} == set()
