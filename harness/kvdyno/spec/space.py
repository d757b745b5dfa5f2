"""What a search varies of an engine: its adapter's tuning.yaml, within what the engine describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import Field, model_validator

from kvdyno.errors import UsageError
from kvdyno.model.document import Document, Mistakes, read_document
from kvdyno.model.engine import Engine, OptionDescription
from kvdyno.model.options import display_value, parse_value, value_text
from kvdyno.model.project import Project
from kvdyno.model.reading import read_form
from kvdyno.model.search import Dimension, Space
from kvdyno.model.units import human_bytes
from kvdyno.model.words import unknown

from .form import Form, Single, Values

FILE = "tuning.yaml"
#: A range whose ends are this far apart is searched by its logarithm.
_LOG_FROM = 16


class DimensionForm(Form):
    """An item of `options`: `from` and `to`, or `values`."""

    start: Single | None = Field(default=None, alias="from")
    to: Single | None = None
    values: Values | None = None
    memory: Annotated[float, Field(ge=0)] = 0
    only_if: Mapping[str, Values] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_of_both(self) -> DimensionForm:
        if (self.values is None) == (self.start is None or self.to is None):
            raise ValueError("expected `from` and `to`, or `values`")
        return self


class SpaceForm(Form):
    """An adapter's tuning.yaml. `memory` is the share of the cap that marked options may take."""

    memory: Annotated[float, Field(gt=0, le=1)] = 1
    options: Annotated[Mapping[str, DimensionForm], Field(min_length=1)]


def load_space(
    engine: Engine, *, project: Project, cap_bytes: int, ranges: Mapping[str, str] | None = None
) -> Space:
    """The engine's space for a cap at paper scale. `ranges` ("64MiB..1GiB", "yes,no") replace the file's.

    An engine without the file has the dimensions that its description allows. Raises SpecError that lists
    what is wrong with the file, UsageError for a wrong range and for a space that no candidate fits.
    """
    path = project.adapters / engine.description.engine.name / FILE
    if path.is_file():
        document = read_document(path)
        form = read_form(document, SpaceForm)
        space = Space(engine, _dimensions(form, document, engine=engine), form.memory * cap_bytes)
    else:
        space = Space(engine, tuple(_described(engine, cap_bytes=cap_bytes)), float(cap_bytes))
    found = {each.name: each for each in space.dimensions}
    for name, text in (ranges or {}).items():
        found[name] = _asked(name, text, engine=engine, known=found.get(name))
    space = Space(engine, tuple(found.values()), space.memory_bytes)
    _demand_room(space)
    return space


def _dimensions(form: SpaceForm, document: Document, *, engine: Engine) -> tuple[Dimension, ...]:
    mistakes = Mistakes(document)
    found = []
    for name, each in form.options.items():
        option = engine.description.option(name)
        if option is None:
            known = [o.name for o in engine.description.options]
            mistakes.add(("options", name), unknown(f"option of {engine.name}", name, known))
            continue
        for other in each.only_if:
            if other not in form.options:
                mistakes.add(("options", name, "only_if"), unknown("searched option", other, form.options))
        texts = [value_text(value) for value in each.values or (each.start, each.to) if value is not None]
        try:
            only_if = {
                other: frozenset(_canonical(engine, other, value_text(value)) for value in values)
                for other, values in each.only_if.items()
            }
            whole = _dimension(option, texts, listed=each.values is not None)
            _demand_sizes(option, whole, memory=each.memory)
        except ValueError as error:
            mistakes.add(("options", name), str(error))
            continue
        found.append(replace(whole, memory=each.memory, only_if=only_if))
    mistakes.check()
    return tuple(found)


def _canonical(engine: Engine, name: str, text: str) -> str:
    option = engine.description.option(name)
    return value_text(parse_value(option, text)) if option else text


def _dimension(option: OptionDescription, texts: list[str], *, listed: bool) -> Dimension:
    """The option with its values, or a range of two. Raises ValueError outside what the engine describes."""
    values = [parse_value(option, text) for text in texts]
    if listed or option.type in ("bool", "choice", "text"):
        return Dimension(option.name, values=tuple(dict.fromkeys(value_text(value) for value in values)))
    low, high = (float(value) for value in values)
    if low >= high:
        first, last = (display_value(option, value) for value in values)
        raise ValueError(f"{option.name}: expected a range that rises, found {first} to {last}")
    log = low > 0 and high / low >= _LOG_FROM
    return Dimension(option.name, low=low, high=high, log=log, whole=option.type in ("bytes", "integer"))


def _demand_sizes(option: OptionDescription, dimension: Dimension, *, memory: float) -> None:
    """Raises ValueError if memory is counted of a word, whose size only the engine knows."""
    words = [text for text in dimension.values if isinstance(parse_value(option, text), str)]
    if memory and words:
        raise ValueError(
            f"{option.name}: expected numbers, because `memory` counts their sizes; found {words[0]}"
        )


def _described(engine: Engine, *, cap_bytes: int) -> list[Dimension]:
    """Every option with known values; a size ends at the cap."""
    found = []
    for option in engine.description.options:
        if option.type == "bool":
            found.append(Dimension(option.name, values=("false", "true")))
        elif option.choices:
            found.append(Dimension(option.name, values=option.choices))
        elif option.min is not None and option.max is not None and option.type != "text":
            high = min(option.max, cap_bytes) if option.type == "bytes" else option.max
            texts = [value_text(_number(option, bound)) for bound in (option.min, high)]
            found.append(_dimension(option, texts, listed=False))
    return found


def _number(option: OptionDescription, bound: float) -> int | float:
    return int(bound) if option.type in ("bytes", "integer") else bound


def _asked(name: str, text: str, *, engine: Engine, known: Dimension | None) -> Dimension:
    """A range from the command line; memory and conditions are the file's."""
    option = engine.description.option(name)
    where = f"--range {name}={text}"
    if option is None:
        names = [o.name for o in engine.description.options]
        raise UsageError(unknown(f"option of {engine.name}", name, names), where=where)
    low, dots, high = text.partition("..")
    try:
        found = _dimension(option, [low, high] if dots else text.split(","), listed=not dots)
        _demand_sizes(option, found, memory=known.memory if known else 0)
    except ValueError as error:
        raise UsageError(str(error), where=where) from None
    return replace(found, memory=known.memory, only_if=known.only_if) if known else found


def _demand_room(space: Space) -> None:
    """Raises UsageError if the smallest values take more memory than the options may take together."""
    least = sum(
        each.memory * min([float(v) for v in each.values] or [each.low])
        for each in space.dimensions
        if each.memory
    )
    if least > space.memory_bytes:
        takes = ", ".join(each.name for each in space.dimensions if each.memory)
        raise UsageError(
            f"expected options that fit into {human_bytes(space.memory_bytes)} together, found that the "
            f"smallest values of {takes} take {human_bytes(least)}",
            where=f"tuning {space.engine.name}",
            remedy="lower a range, or raise the cap",
        )
