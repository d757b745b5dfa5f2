"""Spec: reads experiment and profile files into checked, typed experiments. Knows no plan."""

from .load import ExperimentSummary, engines_named, experiment_name, list_experiments, load_experiment
from .origins import read_origin
from .papers import list_papers, paper_file, read_paper
from .profiles import load_profiles
from .published import read_published

__all__ = [
    "ExperimentSummary",
    "engines_named",
    "experiment_name",
    "list_experiments",
    "list_papers",
    "load_experiment",
    "load_profiles",
    "paper_file",
    "read_origin",
    "read_paper",
    "read_published",
]
