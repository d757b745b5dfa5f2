"""Spec: reads experiment and profile files into checked, typed experiments. Knows no plan."""

from .arms import check_arm, read_arm
from .check import check_built
from .load import (
    ExperimentSummary,
    engines_named,
    experiment_name,
    list_experiments,
    load_experiment,
    suite_engine,
)
from .origins import read_origin
from .profiles import load_profiles

__all__ = [
    "ExperimentSummary",
    "check_arm",
    "check_built",
    "engines_named",
    "experiment_name",
    "list_experiments",
    "load_experiment",
    "load_profiles",
    "read_arm",
    "read_origin",
    "suite_engine",
]
