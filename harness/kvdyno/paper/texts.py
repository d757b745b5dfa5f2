"""Names and facts as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable

from kvdyno.model.results import Contender, NoiseFloor

from .templates import Tex, tex

#: Behind these a name may break, and after so many letters without one.
_BREAKS, _UNBROKEN = " _-./=,:@", 16


def floor_text(floor: NoiseFloor) -> Tex:
    """A host's noise floor: "3.1 % (a), 450 % (c)"."""
    percents = {workload: 100 * effect for workload, effect in floor.effects.items()}
    return Tex(
        ", ".join(
            rf"{format(percent, '.2g' if percent < 10 else '.0f')}~\% ({tex(workload)})"
            for workload, percent in percents.items()
        )
    )


def code(text: object) -> Tex:
    """A name or a command in type of one width, which may break behind its signs, and long ones anywhere."""
    broken, run = [], 0
    for character in str(text):
        run = 0 if character in _BREAKS else run + 1
        broken.append(tex(character) + (r"\allowbreak{}" if run % _UNBROKEN == 0 else ""))
    return Tex(rf"\texttt{{{''.join(broken)}}}")


def prose(text: str) -> Tex:
    """Text of an experiment's file: names between backticks in type of one width."""
    pieces = " ".join(text.split()).split("`")
    return Tex("".join(code(piece) if place % 2 else tex(piece) for place, piece in enumerate(pieces)))


def caveats(contenders: Iterable[Contender]) -> tuple[tuple[str, str], ...]:
    """Each caveat with who declares it: an engine, or the contenders where others of their engine do not."""
    labels: dict[str, dict[str, None]] = {}
    found: dict[str, dict[str, dict[str, None]]] = {}
    for contender in contenders:
        labels.setdefault(contender.engine, {})[contender.label] = None
        for caveat in contender.caveats:
            found.setdefault(caveat, {}).setdefault(contender.engine, {})[contender.label] = None
    named = {
        caveat: [name for engine, own in who.items() for name in ([engine] if own == labels[engine] else own)]
        for caveat, who in found.items()
    }
    return tuple((", ".join(names), caveat) for caveat, names in named.items())
