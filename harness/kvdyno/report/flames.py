"""A differential flame graph: the stacks of HEAD, coloured by what each function executes more than in BASE.

One SVG that needs nothing else: no script, no font, no style sheet. Its tooltips hold the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from kvdyno.model.calls import CallDifference, short_name

from .files import make_folder, write_text

_WIDTH, _ROW, _MARGIN, _HEAD = 1200, 18, 10, 66
#: In pixels: what is narrower is not drawn, and a letter's width.
_NARROWEST, _LETTER = 0.6, 6.4
_MORE, _LESS, _SAME, _INK = (0xB0, 0x12, 0x3F), (0x5B, 0x2B, 0xD9), (0xE6, 0xE9, 0xED), "#1F2328"


@dataclass
class _Frame:
    """A function below its callers: its own instructions per operation in both arms, and its callees."""

    name: str
    base: float = 0.0
    head: float = 0.0
    callees: dict[str, _Frame] = field(default_factory=dict)

    def callee(self, name: str) -> _Frame:
        return self.callees.setdefault(name, _Frame(name))

    @property
    def whole_base(self) -> float:
        return self.base + sum(each.whole_base for each in self.callees.values())

    @property
    def whole_head(self) -> float:
        return self.head + sum(each.whole_head for each in self.callees.values())


def write_flames(path: Path, calls: CallDifference, *, title: str) -> Path:
    """Write the picture, and its folder if need be. Raises StoreError."""
    make_folder(path.parent)
    return write_text(path, flame_graph(calls, title=title))


def flame_graph(calls: CallDifference, *, title: str) -> str:
    """The SVG. A frame's width is HEAD's instructions in it and below, its colour the change of its own."""
    root = _tree(calls)
    largest = max((abs(each.head - each.base) for each in _every(root)), default=0.0)
    drawn: list[str] = []
    depth = _draw(
        root,
        drawn,
        x=_MARGIN,
        row=0,
        scale=(_WIDTH - 2 * _MARGIN) / max(root.whole_head, 1e-9),
        largest=largest,
    )
    height = _HEAD + depth * _ROW + _MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="ui-monospace, monospace" font-size="11" role="img">'
    )
    lines = [
        head,
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#FFFFFF"/>',
        _text(_MARGIN, 22, title, size=14),
        _text(
            _MARGIN,
            40,
            f"{calls.head.total:,.0f} instructions an operation in HEAD, {calls.base.total:,.0f} in BASE; "
            "width: HEAD, a function with all that it calls",
        ),
        *_legend(largest),
        *drawn,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _tree(calls: CallDifference) -> _Frame:
    root = _Frame("all")
    for stacks, arm in ((calls.base.stacks, "base"), (calls.head.stacks, "head")):
        for stack, cost in stacks.items():
            frame = root
            for name in stack:
                frame = frame.callee(name)
            setattr(frame, arm, getattr(frame, arm) + cost)
    return root


def _every(frame: _Frame) -> list[_Frame]:
    return [frame, *(below for each in frame.callees.values() for below in _every(each))]


def _draw(frame: _Frame, drawn: list[str], *, x: float, row: int, scale: float, largest: float) -> int:
    """Draw the frame and all below it; returns the number of rows down to the lowest."""
    width = frame.whole_head * scale
    if width < _NARROWEST:
        return row
    y, own = _HEAD + row * _ROW, frame.head - frame.base
    before, after = frame.whole_base, frame.whole_head
    tip = (
        f"{frame.name}\nwith all that it calls: {before:,.1f} to {after:,.1f} instructions an operation "
        f"({after - before:+,.1f})\nby itself: {frame.base:,.1f} to {frame.head:,.1f} ({own:+,.1f})"
    )
    label = short_name(frame.name)
    room = int((width - 6) / _LETTER)
    shown = label if len(label) <= room else label[: room - 1] + "…" if room > 3 else ""
    colour = _colour(own / largest if largest else 0.0)
    drawn.append(
        f'<g><title>{escape(tip)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 1}" '
        f'fill="{colour}" stroke="#FFFFFF" stroke-width="0.5"/>'
        + (_text(x + 3, y + 13, shown, colour=_ink(own / largest if largest else 0.0)) if shown else "")
        + "</g>"
    )
    lowest = row + 1
    for each in sorted(frame.callees.values(), key=lambda callee: callee.name):
        lowest = max(lowest, _draw(each, drawn, x=x, row=row + 1, scale=scale, largest=largest))
        x += each.whole_head * scale
    return lowest


def _legend(largest: float) -> list[str]:
    """Three boxes: fewer, the same, more, with the largest change."""
    steps = ((-1.0, f"fewer by itself, by up to {largest:,.0f}"), (0.0, "the same"), (1.0, "more by itself"))
    lines, x = [], _MARGIN
    for share, words in steps:
        lines.append(f'<rect x="{x}" y="47" width="12" height="12" fill="{_colour(share)}"/>')
        lines.append(_text(x + 17, 57, words))
        x += 40 + round(len(words) * _LETTER)
    return lines


def _colour(share: float) -> str:
    """From the neutral colour to that of more (1) or fewer (-1) instructions."""
    to, part = (_MORE if share > 0 else _LESS), min(1.0, abs(share))
    return "#" + "".join(f"{round(a + (b - a) * part):02X}" for a, b in zip(_SAME, to, strict=True))


def _ink(share: float) -> str:
    return "#FFFFFF" if abs(share) > 0.5 else _INK


def _text(x: float, y: float, words: str, *, size: int = 11, colour: str = _INK) -> str:
    return f'<text x="{x:.1f}" y="{y}" font-size="{size}" fill="{colour}">{escape(words)}</text>'
