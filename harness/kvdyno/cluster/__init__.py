"""Many hosts: deals the runs of a sweep to jobs, and hands these to a scheduler.

What a job does is `kvdyno run-point`; nothing here measures.
"""

from .deal import Unit, deal, units_of
from .forecast import Hosts, Makespan, makespan
from .jobs import Cluster, Job, choose_cluster

__all__ = ["Cluster", "Hosts", "Job", "Makespan", "Unit", "choose_cluster", "deal", "makespan", "units_of"]
