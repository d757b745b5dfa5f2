"""Plan: turns a checked experiment into points and runs, fully resolved before anything runs."""

from .estimate import Estimate, estimate
from .make import make_plan
from .select import select

__all__ = ["Estimate", "estimate", "make_plan", "select"]
