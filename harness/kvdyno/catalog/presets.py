"""Presets: named sets of options, from an adapter's presets.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kvdyno.errors import SpecError
from kvdyno.model.engine import EngineDescription, Preset
from kvdyno.model.options import parse_value, value_text
from kvdyno.model.words import unknown


class _PresetForm(BaseModel):
    """A preset as its file has it."""

    model_config = ConfigDict(extra="forbid")

    summary: str
    options: dict[str, str | int | float | bool] = {}


def read_presets(path: Path, *, description: EngineDescription) -> Mapping[str, Preset]:
    """Presets by name; an engine without the file (an upstream binding) has `default` only."""
    if not path.exists():
        return {"default": Preset()}
    try:
        document = YAML(typ="safe", pure=True).load(path)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SpecError(f"not YAML: {error.problem}", where=f"{path}:{line}") from None
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        # The parser trips over bytes that are no text, and over tags on values of another kind.
        problem = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise SpecError(f"not YAML: {problem}", where=str(path)) from None
    if not isinstance(document, dict) or "default" not in document:
        raise SpecError("expected presets by name, among them 'default'", where=str(path))
    return {
        str(name): _preset(body, description=description, where=f"{path}: {name}")
        for name, body in document.items()
    }


def _preset(body: object, *, description: EngineDescription, where: str) -> Preset:
    try:
        preset = _PresetForm.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise SpecError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", where=where) from None
    options = {}
    for name, value in preset.options.items():
        option = description.option(name)
        if option is None:
            raise SpecError(unknown("option", name, [o.name for o in description.options]), where=where)
        try:
            options[name] = value_text(parse_value(option, value))
        except ValueError as error:
            raise SpecError(str(error), where=where) from None
    return Preset(options, preset.summary)
