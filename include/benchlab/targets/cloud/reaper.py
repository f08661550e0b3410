"""The reaper of TiDB Cloud: deletes clusters whose names say that they are past their expiry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from benchlab.errors import noting
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan import topology as topologies
from benchlab.plan.topology import CloudTopology
from benchlab.targets.cloud import clusters, lease_file
from benchlab.targets.cloud.api import PATIENT, Api, Limits, login_of
from benchlab.targets.cloud.clusters import Cluster
from benchlab.targets.ec2.reaper import ReaperError

# Less than the time limit of the DAG's task, which would otherwise cut the report short.
HASTY = replace(PATIENT, delete=600.0)


def projects(home: Home, faults: list[str]) -> list[str | None]:
    """Where clusters may be: the projects of all topologies and of all campaigns at work.

    A campaign's file that cannot be read is added to ``faults``; its cluster is looked for in the
    default project too.
    """
    known = topologies.valid(home.configs / "topologies").values()
    found = {one.project for one in known if isinstance(one, CloudTopology) and one.usd_per_hour}
    for file in sorted(home.campaign("*").parent.glob(f"*/{lease_file.FILE}")):
        project: str | None = None
        with noting(faults):
            if (lease := lease_file.read(file.parent)) is not None:
                project = lease.project
        found.add(project)
    return sorted(found, key=str)


def reap(
    home: Home,
    access: Access,
    *,
    dry_run: bool = False,
    now: datetime | None = None,
    limits: Limits = HASTY,
    say: Callable[[str], None],
) -> list[str]:
    """Delete every cluster of Benchlab's that is past its expiry, in every known project.

    The API is not called unless a usable topology, or a campaign at work, is of TiDB Cloud.

    Args:
        now: decides what is past its expiry; None: the present, by the API's clock.
        say: receives a sentence on each cluster as soon as it is gone.

    Returns:
        The sentences.

    Raises:
        ReaperError: names every cluster that is still there, and every project and file that
            could not be looked at; all other clusters have been deleted.
    """
    said, faults = list[str](), list[str]()
    if not (wanted := projects(home, faults)):
        return []
    with noting(faults):
        api = Api(login_of(access), limits)
        at = now or api.now()
        overdue = [
            cluster
            for project in wanted
            for cluster in _listed(api, project, faults)
            if _is_overdue(cluster, at)
        ]
        for cluster in () if dry_run else overdue:  # all first, so that none waits for another
            with noting([]):  # asked again below
                clusters.ask_to_delete(api, cluster)
        for cluster in overdue:
            with noting(faults):
                if not dry_run:
                    clusters.delete(api, cluster)
                done = "would be deleted" if dry_run else "deleted"
                expiry = cluster.expires_at
                said.append(f"TiDB Cloud: cluster {cluster.name} {done}: expired at {expiry}.")
                say(said[-1])
    if faults:
        raise ReaperError(faults, said)
    return said


def _listed(api: Api, project: str | None, faults: list[str]) -> list[Cluster]:
    found = list[Cluster]()
    with noting(faults, f"project {project or '(the default one)'}: "):
        found += clusters.listed(api, project)
    return found


def _is_overdue(cluster: Cluster, at: datetime) -> bool:
    expiry = cluster.expires_at
    return expiry is not None and expiry < at and cluster.state not in ("DELETING", "DELETED")
