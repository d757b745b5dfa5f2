"""Spec: reads experiment and profile files into checked, typed experiments. Knows no plan."""

from .arms import check_arm, read_arm
from .load import (
    ExperimentSummary,
    engines_named,
    experiment_name,
    first_choice,
    list_experiments,
    load_experiment,
)
from .origins import read_origin
from .profiles import load_profiles

__all__ = [
    "ExperimentSummary",
    "check_arm",
    "engines_named",
    "experiment_name",
    "first_choice",
    "list_experiments",
    "load_experiment",
    "load_profiles",
    "read_arm",
    "read_origin",
]
