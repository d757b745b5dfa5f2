"""What a workload is judged by, from its properties file."""

from __future__ import annotations

from collections.abc import Mapping

from kvdyno.errors import SpecError
from kvdyno.model.axes import RUNS_OPERATIONS, WORKLOAD
from kvdyno.model.experiment import AxisValue
from kvdyno.model.project import Project
from kvdyno.model.properties import read_properties

BUILD, RUN = "build", "run"


def span_of(workload: str, *, project: Project) -> str:
    """BUILD, the load and what settles it, where nothing else is measured; else RUN, the mix and its drain.

    Raises SpecError for a workload whose file cannot be read.
    """
    flag = read_properties(project.workloads / f"{workload}.properties").get(RUNS_OPERATIONS)
    return BUILD if flag is not None and flag.text == "false" else RUN


def spans_of(grid: Mapping[str, tuple[AxisValue, ...]], *, project: Project) -> frozenset[str]:
    """The spans of the grid's workloads; none where one cannot be read, which has its own mistake."""
    try:
        return frozenset(span_of(str(name), project=project) for name in grid.get(WORKLOAD, ()))
    except SpecError:
        return frozenset()
