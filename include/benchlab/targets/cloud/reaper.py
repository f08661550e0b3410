"""The reaper of TiDB Cloud: deletes clusters whose names say that they are past their expiry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan import topology as topologies
from benchlab.plan.topology import CloudTopology
from benchlab.targets.cloud import clusters, lease_file
from benchlab.targets.cloud.api import PATIENT, Api, Limits, login_of


def projects(home: Home) -> list[str | None]:
    """Where clusters may be: the projects of all topologies and of all campaigns at work."""
    known = topologies.valid(home.configs / "topologies").values()
    found = {one.project for one in known if isinstance(one, CloudTopology) and one.usd_per_hour}
    for file in home.campaign("*").parent.glob(f"*/{lease_file.FILE}"):
        if (lease := lease_file.read(file.parent)) is not None:
            found.add(lease.project)
    return sorted(found, key=str)


def reap(
    home: Home,
    access: Access,
    *,
    dry_run: bool = False,
    now: datetime | None = None,
    limits: Limits = PATIENT,
    say: Callable[[str], None],
) -> list[str]:
    """Delete every cluster of Benchlab's that is past its expiry, in every known project.

    Nothing is asked where no topology that can be run on, and no campaign, is of TiDB Cloud.

    Args:
        now: decides what is past its expiry; None: the present, by the API's clock.
        say: receives a sentence on each cluster as soon as it is gone.

    Returns:
        The sentences.

    Raises:
        TargetError: names every cluster that is still there; the others have been deleted.
    """
    wanted, said, faults = projects(home), list[str](), list[str]()
    if not wanted:
        return []
    api = Api(login_of(access), limits)
    at = now or api.now()
    for project in wanted:
        for cluster in list(clusters.listed(api, project)):
            expiry = cluster.expires_at
            if expiry is None or expiry >= at or cluster.state in ("DELETING", "DELETED"):
                continue
            try:
                if not dry_run:
                    clusters.delete(api, cluster)
            except TargetError as error:
                faults.append(str(error))
                continue
            done = "would be deleted" if dry_run else "deleted"
            said.append(f"TiDB Cloud: cluster {cluster.name} {done}: expired at {expiry}.")
            say(said[-1])
    if faults:
        raise TargetError("\n".join(faults))
    return said
