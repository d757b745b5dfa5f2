"""Wires the stages: from an experiment's name to a plan, to records, to a report. Prints nothing.

A module for each thing that a person asks for: planning, reuse of what is stored, the sweep, conclusions, and
the machine itself.
"""

from kvdyno.runner import Frequency

from .arms import Arm
from .bundles import Imported, export_bundle, import_bundle
from .committed import derive, documents, origins
from .conclusions import analyse, compare, earlier, fill_prose, query, summarise, write_report
from .gate import Gate, GatePoint, GateRequest, prepare_gate
from .machine import clean, examine
from .planning import Request, demand_memory, make_plan
from .publishing import Publication, publish
from .recorded import Recorded, find_recorded
from .regress import GateResult, run_gate
from .rerun import Difference, Rerun, plan_again, rerun
from .reuse import Reuse, SweepSettings, corrupt, look_up, remaining, reusable, stored
from .sweep import Observer, SweepResult, new_sweep_id, sweep

__all__ = [
    "Arm",
    "Difference",
    "Frequency",
    "Gate",
    "GatePoint",
    "GateRequest",
    "GateResult",
    "Imported",
    "Observer",
    "Publication",
    "Recorded",
    "Request",
    "Rerun",
    "Reuse",
    "SweepResult",
    "SweepSettings",
    "analyse",
    "clean",
    "compare",
    "corrupt",
    "demand_memory",
    "derive",
    "documents",
    "earlier",
    "examine",
    "export_bundle",
    "fill_prose",
    "find_recorded",
    "import_bundle",
    "look_up",
    "make_plan",
    "new_sweep_id",
    "origins",
    "plan_again",
    "prepare_gate",
    "publish",
    "query",
    "remaining",
    "rerun",
    "reusable",
    "run_gate",
    "stored",
    "summarise",
    "sweep",
    "write_report",
]
