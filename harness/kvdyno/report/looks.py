"""The page's colours: one for each contender, in the experiment's order, and one for each kind of verdict."""

from __future__ import annotations

from plots.style import COLOURS, VERDICTS

GLYPHS = {"up": "▲", "down": "▼", "same": "=", "open": "?"}
_KINDS = {
    "faster": "up", "higher": "up", "slower": "down", "lower": "down", "same": "same", "equal": "same",
}  # fmt: skip


def verdict_kind(verdict: str) -> str:
    """The kind that gives a verdict of `Analysis.ratios` its colour and glyph: up, down, same or open."""
    return _KINDS.get(verdict, "open")


def colour_rules() -> str:
    """CSS for both schemes: the properties --e0, --e1, … of contenders and --up, --down, … of verdicts.

    The classes e0, e1, … make a contender's colour the property --c.
    """
    engines = {f"--e{place}": colour for place, colour in enumerate(COLOURS)}
    light = {**engines, **{f"--{kind}": pair[0] for kind, pair in VERDICTS.items()}}
    dark = {f"--{kind}": pair[1] for kind, pair in VERDICTS.items()}
    classes = " ".join(f".e{place} {{ --c: var(--e{place}); }}" for place in range(len(COLOURS)))
    return (
        f":root {{ {_declared(light)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_declared(dark)} }} }}\n{classes}"
    )


def colour_class(rank: int) -> str:
    """The class of the contender with this rank."""
    return f"e{rank % len(COLOURS)}"


def _declared(values: dict[str, str]) -> str:
    return " ".join(f"{name}: {value};" for name, value in values.items())
