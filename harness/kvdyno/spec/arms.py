"""An arm of a gate as a person writes it: `NAME[:SETTING,...]`, or `image:REFERENCE[,SETTING,...]`.

NAME is an engine, with a version or without, a git revision, or a path: it begins with "/", "./" or "../",
and is a source tree if it is a folder, else a patch. REFERENCE is the name or the id of an image of this
machine. A SETTING is `preset=<preset>` or
`<option>=<value>`: "chunkstore:preset=published", "rocksdb@10.4.2:bloom_bits=10", "HEAD~1",
"./fix.patch", "image:kvdyno-chunkstore:before,preset=published".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kvdyno.errors import UsageError
from kvdyno.model.document import Document, Mistakes
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import EngineChoice
from kvdyno.model.words import shown

from .check import check_choice

_PRESET = "preset"
_IMAGE = "image:"


@dataclass(frozen=True)
class ArmForm:
    """What was written: a name, and settings with their texts. `preset` None: none was named. `image`: the
    name is an image's.
    """

    text: str
    name: str
    preset: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    image: bool = False

    @property
    def path(self) -> Path | None:
        """The path that was written; None for an engine or a revision, which cannot begin like one."""
        begins = self.name in (".", "..") or self.name.startswith(("/", "./", "../"))
        return Path(self.name) if begins else None


def read_arm(text: str) -> ArmForm:
    """The parts of the text. Raises UsageError for a setting that is none, or stands there twice."""
    image = text.startswith(_IMAGE)
    name, mark, rest = text.removeprefix(_IMAGE).partition(",") if image else text.partition(":")
    settings: dict[str, str] = {}
    for setting in rest.split(",") if mark else ():
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not (key and equals and value) or key in settings:
            raise UsageError(
                f"expected preset=<preset> or <option>=<value>, each once, found {shown(setting)}", where=text
            )
        settings[key] = value
    if not name:
        raise UsageError("expected an engine, a git revision or an image, found nothing", where=shown(text))
    return ArmForm(text, name, settings.pop(_PRESET, None), settings, image)


def check_arm(choice: EngineChoice, *, engine: Engine, where: str) -> EngineChoice:
    """The choice with its options in canonical spelling. Raises SpecError for what the engine lacks."""
    mistakes = Mistakes(Document(Path(where), None, {}))
    checked = check_choice(choice, engine, place=(), mistakes=mistakes)
    mistakes.check()
    return checked
