"""A call profile: what a small fixed run executed, function by function, and how two of them differ."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

Stack = tuple[str, ...]

#: Brackets that are an operator's name are no brackets.
_OPERATOR = re.compile(r"operator(\(\)|<=>|<<=?|>>=?|->\*?|[<>]=?)")
_HIDE = str.maketrans("<>()", "\1\2\3\4")
_SHOW = str.maketrans("\1\2\3\4", "<>()")


@dataclass(frozen=True)
class CallProfile:
    """Instructions per operation by stack: the functions from the client's loop inwards.

    The last function of a stack is the one that executed them itself. `operations`: over how many operations
    they were counted.
    """

    operations: int
    stacks: Mapping[Stack, float]

    @property
    def total(self) -> float:
        """Instructions of an operation."""
        return sum(self.stacks.values())

    def by_function(self) -> Mapping[str, float]:
        """Instructions of an operation that each function executed itself, callees apart."""
        found: defaultdict[str, float] = defaultdict(float)
        for stack, cost in self.stacks.items():
            found[stack[-1]] += cost
        return found


@dataclass(frozen=True)
class FunctionChange:
    """A function's own instructions per operation in both arms; 0 where an arm does not call it."""

    function: str
    base: float
    head: float

    @property
    def change(self) -> float:
        """Instructions per operation that HEAD executes more."""
        return self.head - self.base


@dataclass(frozen=True)
class CallDifference:
    """The profiles of both arms of a gate at one point."""

    base: CallProfile
    head: CallProfile

    def functions(self) -> tuple[FunctionChange, ...]:
        """Every function that executed something, the largest changes first."""
        before, after = self.base.by_function(), self.head.by_function()
        changes = [
            FunctionChange(name, before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after}
        ]
        return tuple(sorted(changes, key=lambda each: (-abs(each.change), each.function)))


def short_name(function: str) -> str:
    """A C++ function's name without arguments of templates and calls: `Store::Get()`, `vector<>::at()`."""
    kept, depth = [], 0
    text = _OPERATOR.sub(lambda match: match[0].translate(_HIDE), function)
    for letter in text:
        if letter in "<(":
            kept += [letter] if depth == 0 else []
            depth += 1
        elif letter in ">)" and depth:
            depth -= 1
            kept += [letter] if depth == 0 else []
        elif depth == 0:
            kept.append(letter)
    return "".join(kept).translate(_SHOW)
