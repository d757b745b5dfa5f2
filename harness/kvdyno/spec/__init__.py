"""Spec: reads experiment and profile files into checked, typed experiments. Knows no plan."""

from .load import ExperimentSummary, list_experiments, load_experiment
from .profiles import load_profiles

__all__ = ["ExperimentSummary", "list_experiments", "load_experiment", "load_profiles"]
