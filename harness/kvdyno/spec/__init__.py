"""Spec: reads experiment, study and profile files into checked, typed experiments. Knows no plan."""

from .load import ExperimentSummary, engines_named, experiment_name, list_experiments, load_experiment
from .origins import read_origin
from .papers import list_papers, paper_file, read_paper
from .profiles import load_profiles
from .published import read_published
from .space import load_space
from .studies import list_studies, load_study

__all__ = [
    "ExperimentSummary",
    "engines_named",
    "experiment_name",
    "list_experiments",
    "list_papers",
    "list_studies",
    "load_experiment",
    "load_profiles",
    "load_space",
    "load_study",
    "paper_file",
    "read_origin",
    "read_paper",
    "read_published",
]
