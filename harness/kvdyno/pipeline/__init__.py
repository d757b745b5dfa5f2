"""Wires the stages: from an experiment's name to a plan, to records, to a report. Prints nothing.

A module for each thing that a person asks for: planning, reuse of what is stored, the sweep, conclusions, and
the machine itself.
"""

from kvdyno.runner import Frequency

from .advice import Advice, PointAdvice, advise
from .arms import Arm
from .bisection import Bisection, bisect, candidates_between
from .bundles import Imported, export_bundle, import_bundle, send_records, sync
from .committed import derive, documents, origins
from .conclusions import (
    analyse,
    claim_lines,
    claims_document,
    compare,
    earlier,
    fill_prose,
    measured_experiments,
    query,
    report_folder,
    summarise,
    write_claims,
    write_report,
)
from .excluded import exclude, excluded_hosts, include
from .gate import Gate, GatePoint, GateRequest, prepare_gate
from .history import add_to_history, find_changes, import_to_history, read_history, write_history
from .hosts import Watcher, Where, makespan_on, run_over_hosts, run_points
from .machine import clean, examine
from .papers import plan_paper, read_paper, write_paper
from .planning import Request, demand_memory, make_plan
from .published_tuning import publish_search, publish_study
from .publishing import Publication, publish
from .recorded import Recorded, find_recorded
from .regress import GateResult, run_gate
from .rerun import Difference, Rerun, plan_again, rerun
from .reuse import Reuse, SweepSettings, corrupt, look_up, remaining, reusable, stored
from .search import search, write_search
from .search_bench import SearchRequest
from .study import StudyRequest, measure_study, write_study
from .submitted import Status, cancel, keep_jobs_off, status_of
from .sweep import Observer, SweepResult, new_sweep_id, sweep
from .weighted_records import write_records
from .why import SECONDS_A_POINT, Reason, explain
from .written import Watch

__all__ = [
    "SECONDS_A_POINT",
    "Advice",
    "Arm",
    "Bisection",
    "Difference",
    "Frequency",
    "Gate",
    "GatePoint",
    "GateRequest",
    "GateResult",
    "Imported",
    "Observer",
    "PointAdvice",
    "Publication",
    "Reason",
    "Recorded",
    "Request",
    "Rerun",
    "Reuse",
    "SearchRequest",
    "Status",
    "StudyRequest",
    "SweepResult",
    "SweepSettings",
    "Watch",
    "Watcher",
    "Where",
    "add_to_history",
    "advise",
    "analyse",
    "bisect",
    "cancel",
    "candidates_between",
    "claim_lines",
    "claims_document",
    "clean",
    "compare",
    "corrupt",
    "demand_memory",
    "derive",
    "documents",
    "earlier",
    "examine",
    "exclude",
    "excluded_hosts",
    "explain",
    "export_bundle",
    "fill_prose",
    "find_changes",
    "find_recorded",
    "import_bundle",
    "import_to_history",
    "include",
    "keep_jobs_off",
    "look_up",
    "make_plan",
    "makespan_on",
    "measure_study",
    "measured_experiments",
    "new_sweep_id",
    "origins",
    "plan_again",
    "plan_paper",
    "prepare_gate",
    "publish",
    "publish_search",
    "publish_study",
    "query",
    "read_history",
    "read_paper",
    "remaining",
    "report_folder",
    "rerun",
    "reusable",
    "run_gate",
    "run_over_hosts",
    "run_points",
    "search",
    "send_records",
    "status_of",
    "stored",
    "summarise",
    "sweep",
    "sync",
    "write_claims",
    "write_history",
    "write_paper",
    "write_records",
    "write_report",
    "write_search",
    "write_study",
]
