"""The runner: points in, records out, on this machine, under a cap.

`LocalRunner` executes runs; `tidy` removes what killed ones left; `choose_warden` says how this machine
confines processes; `Surveyor` reads the environment. The rest is private to this package.
"""

from .cage import Warden
from .environment import Surveyor, host_id
from .loads import LoadSink
from .local import LocalRunner, tidy
from .warden import choose_warden
from .watch import Progress

__all__ = ["LoadSink", "LocalRunner", "Progress", "Surveyor", "Warden", "choose_warden", "host_id", "tidy"]
