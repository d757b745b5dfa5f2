"""Hosts that a person excluded (results/hosts/<host>/excluded.json): no analysis counts their records.

Who excludes a host looks at gauges and never at results: nothing here reads the outcome of a run.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from kvdyno.errors import HostError, StoreError, UsageError
from kvdyno.model.exclusion import Exclusion, HostNode, LeftOut
from kvdyno.model.project import Project
from kvdyno.model.record import Record
from kvdyno.model.results import HostOutlier
from kvdyno.runner import host_id
from kvdyno.store import RunStore

from .host_files import read_host_file, write_host_file

_FILE = "excluded.json"
_NODE_FILE = "node.json"
_COMMAND = "kvdyno exclude"
#: Slurm sets it for all that a job starts: the host's name as sbatch takes it.
_NODE_VARIABLE = "SLURMD_NODENAME"


def excluded_hosts(project: Project) -> Mapping[str, Exclusion]:
    """The excluded hosts by id. Raises StoreError if a file is damaged: its host may not be counted."""
    found = {}
    for path in sorted(project.hosts.glob(f"*/{_FILE}")):
        undo = f"{_COMMAND} {path.parent.name} --undo"
        exclusion = read_host_file(path, Exclusion, what="why a host is excluded", remedy=undo)
        if exclusion is not None:  # it was not undone meanwhile
            found[path.parent.name] = exclusion
    return found


def exclude(project: Project, name: str, *, because: str) -> Exclusion:
    """Exclude the host that `name` means: an id, the beginning of one, or its node's name.

    Raises UsageError for a host that is not known, several of them, one that is excluded, or no reason;
    StoreError if it cannot be written.
    """
    reason = " ".join(because.split())
    if not reason:
        raise UsageError("expected a reason, found none", where="--because", remedy='--because "slow disk"')
    records, _ = RunStore(project.runs).read()
    folders = {path.name for path in project.hosts.glob("*") if path.is_dir()}
    measured = {record.environment.host_id for record in records}
    host = _find(project, name, hosts=folders | measured, state="known")
    if (before := excluded_hosts(project).get(host)) is not None:
        raise UsageError(str(before), where=_COMMAND, remedy=f"{_COMMAND} {host} --undo")
    made = Exclusion(
        host_id=host,
        node=_node_of(project, host),
        excluded_at=dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        because=reason,
        outliers=_outliers(records, host),
    )
    write_host_file(project.hosts / host / _FILE, made)
    return made


def include(project: Project, name: str) -> str:
    """Undo the exclusion of a host, and return its id. Raises UsageError if no such host is excluded,
    StoreError if the file cannot be removed. A damaged file can.
    """
    hosts = {path.parent.name for path in project.hosts.glob(f"*/{_FILE}")}
    host = _find(project, name, hosts=hosts, state="excluded")
    try:
        (project.hosts / host / _FILE).unlink()
    except OSError as failure:
        raise StoreError(f"cannot remove: {failure.strerror}", where=str(failure.filename)) from failure
    return host


def split(project: Project, records: Iterable[Record]) -> tuple[list[Record], tuple[LeftOut, ...]]:
    """The records that count, and by excluded host how many do not."""
    excluded = excluded_hosts(project)
    counted = []
    counts: Counter[str] = Counter()
    for record in records:
        if record.environment.host_id in excluded:
            counts[record.environment.host_id] += 1
        else:
            counted.append(record)
    return counted, tuple(LeftOut(excluded[host], runs) for host, runs in sorted(counts.items()))


def counted_records(
    project: Project, *, identities: Collection[str], host_id: str | None = None
) -> Iterator[Record]:
    """The readable records of these points in order of start (RunStore.records), but for excluded hosts'."""
    yield from split(project, RunStore(project.runs).records(identities=identities, host_id=host_id))[0]


def demand_counted(project: Project) -> None:
    """Raise HostError if this host is excluded: what it measures would not count."""
    if (found := excluded_hosts(project).get(host_id())) is not None:
        raise HostError(
            f"this {found}; what it measures would not count",
            where=str(project.hosts / found.host_id / _FILE),
            remedy=f"measure on another host, or {_COMMAND} {found.host_id} --undo",
        )


def excluded_nodes(project: Project) -> tuple[str, ...]:
    """The nodes of excluded hosts, as far as they are known."""
    return tuple(node for host in excluded_hosts(project) if (node := _node_of(project, host)))


def keep_node(project: Project) -> None:
    """Keep what the cluster calls this host, if a job of one runs here."""
    node, host = os.environ.get(_NODE_VARIABLE), host_id()
    if node:
        with contextlib.suppress(StoreError):  # on a full disk the name stays unknown, and the job goes on
            if _node_of(project, host) != node:
                write_host_file(project.hosts / host / _NODE_FILE, HostNode(host_id=host, node=node))


def _node_of(project: Project, host: str) -> str | None:
    path = project.hosts / host / _NODE_FILE
    found = read_host_file(path, HostNode, what="the name of a node", remedy="remove it: jobs write it again")
    return found.node if found else None


def _find(project: Project, name: str, *, hosts: Collection[str], state: str) -> str:
    """The one of these hosts that is meant; `state` is what they are."""
    if name in hosts:
        return name
    nodes = {host: _node_of(project, host) for host in sorted(hosts)}
    found = [host for host, node in nodes.items() if name and (host.startswith(name) or node == name)]
    if len(found) == 1:
        return found[0]
    choice = ", ".join(f"{host} ({nodes[host]})" if nodes[host] else host for host in found or nodes)
    what = f"{name!r} means {len(found)} hosts" if found else f"no host {name!r} is {state}"
    raise UsageError(what, where=_COMMAND, remedy=f"{state}: {choice or 'none'}")


def _outliers(records: Iterable[Record], host: str) -> Mapping[str, tuple[HostOutlier, ...]]:
    """The gauges by which the host is slower than the others, by sweep (as `kvdyno status` names them)."""
    from kvdyno.analysis.outliers import host_outliers  # brings libraries that take seconds to import

    sweeps: dict[str, list[Record]] = {}
    for record in records:
        sweeps.setdefault(record.sweep_id, []).append(record)
    found = {
        sweep_id: tuple(outlier for outlier in host_outliers(theirs) if outlier.host_id == host)
        for sweep_id, theirs in sweeps.items()
    }
    return {sweep_id: outliers for sweep_id, outliers in sorted(found.items()) if outliers}
