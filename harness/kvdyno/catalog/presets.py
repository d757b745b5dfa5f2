"""Presets: named sets of options, from an adapter's presets.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kvdyno.errors import SpecError
from kvdyno.model.document import Mistakes, read_document
from kvdyno.model.engine import EngineDescription, Preset
from kvdyno.model.options import parse_value, value_text
from kvdyno.model.reading import Text, read_form
from kvdyno.model.words import unknown


class _PresetForm(BaseModel):
    """A preset as its file has it."""

    model_config = ConfigDict(extra="forbid")

    summary: str
    options: Mapping[str, Text] = {}


class _PresetsForm(BaseModel):
    """The file, below one key."""

    presets: Mapping[str, _PresetForm]


def read_presets(path: Path, *, description: EngineDescription) -> Mapping[str, Preset]:
    """Presets by name; an engine without the file (an upstream binding) has `default` only.

    Raises SpecError that lists every mistake with its line.
    """
    if not path.exists():
        return {"default": Preset()}
    document = read_document(path)
    if not isinstance(document.data, dict) or "default" not in document.data:
        raise SpecError("expected presets by name, among them 'default'", where=str(path))
    document = document.below("presets")
    forms = read_form(document, _PresetsForm).presets
    mistakes = Mistakes(document)
    presets = {
        name: Preset(_options(form, name, description=description, mistakes=mistakes), form.summary)
        for name, form in forms.items()
    }
    mistakes.check()
    return presets


def _options(
    form: _PresetForm, preset: str, *, description: EngineDescription, mistakes: Mistakes
) -> Mapping[str, str]:
    options = {}
    for name, value in form.options.items():
        place = ("presets", preset, "options", name)
        option = description.option(name)
        if option is None:
            mistakes.add(place, unknown("option", name, [o.name for o in description.options]))
            continue
        try:
            options[name] = value_text(parse_value(option, value))
        except ValueError as error:
            mistakes.add(place, str(error))
    return options
