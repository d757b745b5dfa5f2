"""Many hosts: deals the runs of a sweep to jobs, and hands these to a scheduler.

What a job does is `kvdyno run-point`; nothing here measures.
"""

from .deal import Unit, deal, units_of
from .jobs import Cluster, Job, choose_cluster

__all__ = ["Cluster", "Job", "Unit", "choose_cluster", "deal", "units_of"]
