"""Pages of engines: the list, one engine's description of itself, the driver's properties, metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kvdyno.model.engine import Engine, OptionDescription
from kvdyno.model.metrics import COUNTER_PREFIX, metrics_of
from kvdyno.model.options import display_value, parse_value

from .shapes import hanging, plain_table


def engines_table(console: Console, engines: Mapping[str, Engine]) -> None:
    """The engines that are built here."""
    table = plain_table("engine", "version", "presets", "what it is")
    for name, engine in sorted(engines.items()):
        described = engine.description.engine
        table.add_row(name, described.version, "\n".join(engine.presets), described.summary)
    console.print(table)


def engine_document(engine: Engine) -> dict[str, object]:
    """An engine for scripts."""
    offered = metrics_of(engine)
    known = {"metrics": offered and offered.phases}
    presets = {
        "presets": {name: asdict(preset) for name, preset in engine.presets.items()},
        "built_version": engine.built_version,
    }
    return engine.description.model_dump() | presets | known


def engine_page(console: Console, engine: Engine) -> None:
    """An engine's whole description of itself."""
    described, build = engine.description.engine, engine.description.build
    console.print(Text(f"{described.name} {described.version}", "bold"))
    console.print(described.summary)
    for caveat in described.caveats:
        hanging(console, "mind:", caveat, style="yellow")
    console.print(Text(f"built with {build.compiler} ({build.type}: {build.flags})", "dim"), soft_wrap=True)
    console.print(Text("\npresets, at paper scale", "bold"))
    for name, preset in sorted(engine.presets.items()):
        console.print(Text(f"  {name}", "bold"))
        if preset.summary:
            console.print(Padding(Text(preset.summary), (0, 0, 0, 6)))
        lines = [f"{option} = {_spelled(engine, option, text)}" for option, text in preset.options.items()]
        console.print(Padding("\n".join(lines) or "the engine's own defaults", (0, 0, 0, 6)))
    title = f"options, set as {described.name}.<name>"
    if engine.description.accepts_other_options:
        title += "; others than these are passed on unchecked"
    _options(console, title, engine.description.options)


def _spelled(engine: Engine, name: str, text: str) -> str:
    option = engine.description.option(name)
    return display_value(option, parse_value(option, text)) if option else text


def driver_page(console: Console, engine: Engine) -> None:
    """The driver's properties."""
    driver = engine.description.driver
    title = f"properties of the driver {driver.name} {driver.version}"
    _options(console, title, engine.description.properties)


def metrics_page(console: Console, engine: Engine) -> None:
    """The metrics that the engine's runs can have, one a line, with where they can be read."""
    offered = metrics_of(engine)
    if offered is None:
        driver = engine.description.driver.name
        console.print(f"the driver {driver} is not known: what it measures is not known before a run")
        return
    rooms = (("figures, tables and claims", offered.phases), ("timeseries and timeline", offered.series),
             ("percentiles", offered.histograms))  # fmt: skip
    for room, names in rooms:
        console.print(Text(f"metrics of {room}", "bold"))
        for name in names:
            console.print(f"  {name}")
    if offered.more_counters:
        console.print(f"and the engine's own counters, {COUNTER_PREFIX}<name>, whose names are not known")


def _options(console: Console, title: str, options: Sequence[OptionDescription]) -> None:
    console.print(Text(f"\n{title}", "bold"))
    for option in options:
        marks = [m for m, on in (("shapes the data", option.shapes_data), ("scales", option.scales)) if on]
        words = [f"or {word}" for word in option.words]
        facts = [option.type, f"default {_default(option)}", _range(option), *words, *marks]
        listed = ", ".join(fact for fact in facts if fact)
        hanging(console, f"  {option.name}", Text(listed, "dim"), style="bold")
        console.print(Padding(option.effect, (0, 0, 0, 6)))
    if not options:
        console.print("  none")


def _range(option: OptionDescription) -> str:
    if option.choices:
        return "one of " + " ".join(option.choices)
    low = None if option.min is None else _bound(option, option.min)
    high = None if option.max is None else _bound(option, option.max)
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}" if high else ""


def _bound(option: OptionDescription, value: float) -> str:
    return display_value(option, int(value) if value.is_integer() else value)


def _default(option: OptionDescription) -> str:
    return display_value(option, parse_value(option, option.default)) if option.default else "none"
