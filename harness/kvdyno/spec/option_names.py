"""Options of engines where their full names stand: what a person meant by "leveldb.cache_size".

An experiment writes options below their engine, without a prefix. A binding of YCSB-cpp has options that
no driver describes, and a compiled one answers to a longer name than upstream gave it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvdyno.model.engine import Engine

_COMPILED = "ycsb-"


def owners_of_option(name: str, engines: Iterable[Engine]) -> tuple[Engine, ...]:
    """The engines whose name, or whose binding's name, the option's name begins with."""
    prefix, dot, _ = name.partition(".")
    return tuple(engine for engine in engines if dot and prefix in _prefixes(engine))


def option_hint(name: str, engines: Iterable[Engine]) -> str:
    """How to spell the name if it is an engine's option; "" where it is none."""
    engines = tuple(engines)
    option = name.partition(".")[2]
    full = {each.name: f"{each.description.engine.name}.{option}" for each in owners_of_option(name, engines)}
    if full:
        places = " or ".join(
            f"engine {owner}, whose driver gets it as {text}" for owner, text in full.items()
        )
        return f"; write `{option}` in the `options` of {places}"
    foreign = [engine for engine in engines if engine.description.accepts_other_options]
    if not foreign:
        return ""
    names = ", ".join(dict.fromkeys(engine.name for engine in foreign))
    return f"; an option of {names} stands in the engine's `options`, without a prefix"


def _prefixes(engine: Engine) -> tuple[str, ...]:
    name = engine.description.engine.name
    foreign = engine.description.accepts_other_options
    return (name, name.removeprefix(_COMPILED)) if foreign else (name,)
