"""Plan: turns a checked experiment into points and runs, fully resolved before anything runs."""

from .estimate import Estimate, estimate
from .make import make_plan
from .order import blocks_of
from .select import select

__all__ = ["Estimate", "blocks_of", "estimate", "make_plan", "select"]
