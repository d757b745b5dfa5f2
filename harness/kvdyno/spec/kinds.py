"""Kinds of figures, as the modules of `plots/` describe themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvdyno.errors import SpecError
from kvdyno.model.figure_options import OptionForms

# The table of figures whose values are metrics of phases, and the option that names several.
ESTIMATES, METRICS = "estimates", "metrics"
# The table of figures that show the cheapest contender.
CHOICE = "choice"


@dataclass(frozen=True)
class FigureKind:
    """How a module of `plots/` describes itself: the table that it draws, and its options."""

    table: str
    options: OptionForms

    @property
    def shows_ratios(self) -> bool:
        """Whether it draws one metric's value at each point, which a ratio may stand for."""
        return self.table == ESTIMATES and METRICS not in self.options


def figure_kinds(folder: Path) -> Mapping[str, FigureKind]:
    """The kinds in `plots/`: modules that define TABLE and OPTIONS, as literals.

    They are read, not imported: checking an experiment needs no drawing library. Raises SpecError.
    """
    kinds = {}
    for path in sorted(folder.glob("[a-z]*.py")):
        try:
            constants = dict(_constants(path.read_text("utf-8")))
        except (SyntaxError, ValueError) as error:
            message = f"expected a module whose TABLE and OPTIONS are literals, found: {error}"
            raise SpecError(message, where=str(path)) from None
        if len(constants) == 2:
            kinds[path.stem] = FigureKind(constants["TABLE"], constants["OPTIONS"])
    return kinds


def _constants(source: str) -> Iterable[tuple[str, Any]]:
    """TABLE and OPTIONS, if a module assigns them."""
    for statement in ast.parse(source).body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name in ("TABLE", "OPTIONS"):
                yield name, ast.literal_eval(value)
