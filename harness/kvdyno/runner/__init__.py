"""The runner: points in, records out, on this machine, under a cap.

`Runner` executes runs; `remove_leftovers` clears what killed ones left; `choose_warden` finds how this
machine confines processes, `cgroup_root` where; `Surveyor` reads the environment; `frequency_set` holds
governor and turbo; `take_gauges` and `offered_counters` show a doctor what runs would record;
`take_host_gauges` measures disk and memory for a self-test. The rest is private to this package.
"""

from .cage import Warden
from .environment import Surveyor, host_id, memory_bytes
from .frequency import Frequency, frequency_set, restore_frequency
from .gauges import take_gauges
from .hierarchy import cgroup_root
from .host_gauges import take_host_gauges
from .kernel import offered_counters
from .loads import LoadSink
from .runner import Runner, remove_leftovers
from .warden import choose_warden
from .watch import Progress

__all__ = [
    "Frequency",
    "LoadSink",
    "Progress",
    "Runner",
    "Surveyor",
    "Warden",
    "cgroup_root",
    "choose_warden",
    "frequency_set",
    "host_id",
    "memory_bytes",
    "offered_counters",
    "remove_leftovers",
    "restore_frequency",
    "take_gauges",
    "take_host_gauges",
]
