"""Spec: reads experiment, study and profile files into checked, typed experiments. Knows no plan."""

from .advice import load_rules
from .arms import check_arm, read_arm
from .check import check_built, engine_named
from .load import (
    ExperimentSummary,
    engines_named,
    experiment_name,
    list_experiments,
    load_experiment,
    suite_engine,
)
from .origins import read_origin
from .papers import list_papers, paper_file, read_paper
from .profiles import load_profiles, read_profiles
from .published import read_published
from .space import load_space
from .studies import list_studies, load_study
from .workloads import spans_of

__all__ = [
    "ExperimentSummary",
    "check_arm",
    "check_built",
    "engine_named",
    "engines_named",
    "experiment_name",
    "list_experiments",
    "list_papers",
    "list_studies",
    "load_experiment",
    "load_profiles",
    "load_rules",
    "load_space",
    "load_study",
    "paper_file",
    "read_arm",
    "read_origin",
    "read_paper",
    "read_profiles",
    "read_published",
    "spans_of",
    "suite_engine",
]
