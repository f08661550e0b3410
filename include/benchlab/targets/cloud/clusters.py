"""Clusters of TiDB Cloud Dedicated, from their creation until they are gone.

A cluster cannot carry labels of Benchlab's: when one is made, the API takes none but
``tidb.cloud/project``. Its display name says what tags say on EC2: that it is Benchlab's, from when
on anyone may delete it, and, by a mark that only the campaign's directory has, whose it is.

Example:
    ``new_name(datetime(2026, 1, 31, 12, tzinfo=UTC))`` is ``benchlab-20260131T1200Z-3f2a9c1b7d40``.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from benchlab.errors import TargetError
from benchlab.plan.topology import CloudTopology
from benchlab.targets.cloud.api import Api, NotFoundError, RefusedError, UnansweredError

Say = Callable[[str], None]
PORT = 4000
PAGE = 100
_NAME = re.compile(r"benchlab-(\d{8}T\d{4}Z)-[0-9a-f]{12}")
_MOMENT = "%Y%m%dT%H%MZ"
# States on the way to ACTIVE; from any other a cluster does not become active by itself.
_COMING = ("CREATING", "MODIFYING", "MAINTENANCE")
_NO_MACHINES = "tidb.cloud/insufficient-vm-resource"
_CONNECTION_TYPES = {"public": "PUBLIC", "private": "PRIVATE_ENDPOINT", "peering": "VPC_PEERING"}


@dataclass(frozen=True)
class Cluster:
    """A cluster as the API describes it.

    Attributes:
        version: such as ``v8.5.2``; empty while it is not known.
        endpoints: host name and port of its endpoints, by connection type.
        note: what keeps it from being made; empty if the API says nothing.
    """

    id: str
    name: str
    state: str
    version: str
    endpoints: dict[str, tuple[str, int]]
    note: str = ""

    @property
    def expires_at(self) -> datetime | None:
        """The time from which anyone may delete it; None: it is not Benchlab's."""
        if (found := _NAME.fullmatch(self.name)) is None:
            return None
        try:
            return datetime.strptime(found[1], _MOMENT).replace(tzinfo=UTC)
        except ValueError:
            return None

    def endpoint(self, kind: str) -> tuple[str, int] | None:
        """Host and port of the ``public``, ``private`` or ``peering`` endpoint; None: none yet."""
        return self.endpoints.get(_CONNECTION_TYPES[kind])


def new_name(expires_at: datetime) -> str:
    """A display name that no other cluster has."""
    return f"benchlab-{expires_at.astimezone(UTC):{_MOMENT}}-{secrets.token_hex(6)}"


def listed(api: Api, project: str | None) -> Iterator[Cluster]:
    """All clusters of a project, also those that are not Benchlab's; None: the default project."""
    query: dict[str, Any] = {"pageSize": PAGE} | ({"projectId": project} if project else {})
    while True:
        page = api.get("/clusters", **query)
        yield from map(_cluster, page.get("clusters") or ())
        if not (token := page.get("nextPageToken")):
            return
        query["pageToken"] = token


def named(api: Api, project: str | None, name: str) -> list[Cluster]:
    """The clusters of a name that exist or are being deleted."""
    found = (one for one in listed(api, project) if one.name == name)
    return [one for one in found if one.state != "DELETED"]


def request_for(topology: CloudTopology, name: str, password: str) -> dict[str, Any]:
    """The body of the request that makes a cluster."""
    labels = {"tidb.cloud/project": topology.project} if topology.project else {}
    return {
        "displayName": name,
        "regionId": f"{topology.provider}-{topology.region}",
        "port": PORT,
        "rootPassword": password,
        "tidbNodeSetting": {
            "nodeSpecKey": topology.tidb.size,
            "tidbNodeGroups": [{"nodeCount": topology.tidb.count}],
        },
        "tikvNodeSetting": {
            "nodeSpecKey": topology.tikv.size,
            "nodeCount": topology.tikv.count,
            "storageSizeGi": topology.tikv.storage_gib,
        },
        **({"labels": labels} if labels else {}),
    }


def check(api: Api, body: dict[str, Any]) -> None:
    """Let the API check a request without making anything.

    Raises:
        TargetError: the API would refuse it, for example for lack of quota.
    """
    api.call("POST", "/clusters", body, query={"validateOnly": "true"})


def create(api: Api, body: dict[str, Any], project: str | None) -> Cluster:
    """Make a cluster, or find the one of that name if it was made already; never two.

    Raises:
        TargetError: the API refuses it, or says nothing about it for too long.
    """
    name, deadline = body["displayName"], time.monotonic() + api.limits.outage
    while True:
        if found := named(api, project, name):
            return found[0]
        try:
            made = _cluster(api.call("POST", "/clusters", body, repeatable=False))
            # The answer may have only the id and what was asked for.
            return replace(made, state=made.state or "CREATING")
        except UnansweredError:
            if time.monotonic() > deadline:
                raise
            time.sleep(api.limits.pause)  # a cluster just made may not be listed at once


def wait_until_active(
    api: Api, cluster: Cluster, say: Say, check: Callable[[Cluster], None] = lambda cluster: None
) -> Cluster:
    """Wait until a cluster can be used.

    Args:
        check: called with the cluster at each poll; raises an error if waiting is useless.

    Raises:
        TargetError: it cannot be made, or takes too long; says in which state it is.
    """
    began, polls, said = time.monotonic(), api.limits.polls(), ""
    while cluster.state != "ACTIVE":
        minutes = (time.monotonic() - began) / 60
        if cluster.state not in _COMING or cluster.note:
            why = f"; TiDB Cloud says {cluster.note}" if cluster.note else ""
            raise TargetError(
                f"{cluster.name}: the cluster is {cluster.state} and will not become active{why}; "
                "see TiDB Cloud's console, or take another region or other node sizes"
            )
        if minutes * 60 > api.limits.create:
            raise TargetError(
                f"{cluster.name}: the cluster is still {cluster.state} after {minutes:.0f} min; "
                "TiDB Cloud says 20 to 30: see its status page, and try again later"
            )
        if (progress := f"cluster {cluster.state}, {minutes:.0f} min") != said:
            say(said := progress)
        time.sleep(next(polls))
        try:
            cluster = of_id(api, cluster.id)
        except NotFoundError:  # it was made a moment ago
            if minutes * 60 > api.limits.outage:
                raise
        check(cluster)
    return cluster


def open_to(api: Api, cluster: Cluster, network: str) -> None:
    """Open a cluster's public endpoint to one network, and to nobody else."""
    body = {"enabled": True, "ipAccessList": [{"cidrNotation": network, "description": "Benchlab"}]}
    api.call("PATCH", f"/clusters/{cluster.id}/tidbNodeGroups/-/publicEndpointSetting", body)


def of_id(api: Api, id_: str) -> Cluster:
    """One cluster. Raises NotFoundError if there is none."""
    return _cluster(api.get(f"/clusters/{id_}"))


def ask_to_delete(api: Api, cluster: Cluster) -> None:
    """Ask for a cluster's deletion, which takes minutes. Raises as :meth:`Api.call`."""
    api.call("DELETE", f"/clusters/{cluster.id}")


def delete(api: Api, cluster: Cluster) -> None:
    """Delete a cluster, and wait until it is gone.

    Raises:
        TargetError: it is still there; says what to do.
    """
    deadline, polls, why = time.monotonic() + api.limits.delete, api.limits.polls(), ""
    while True:
        try:
            found = of_id(api, cluster.id)
            if found.state == "DELETED":
                return
            if found.state != "DELETING":
                ask_to_delete(api, cluster)
                why = ""
        except NotFoundError:
            return
        except RefusedError as error:  # a cluster that is being changed, for example
            why = f": {error}"
        if time.monotonic() > deadline:
            raise TargetError(
                f"{cluster.name}: the cluster is still there and costs money{why}; delete it in "
                "TiDB Cloud's console, or try again"
            )
        time.sleep(next(polls))


def _cluster(document: dict[str, Any]) -> Cluster:
    groups = (document.get("tidbNodeSetting") or {}).get("tidbNodeGroups") or ()
    endpoints = [one for group in groups for one in group.get("endpoints") or ()]
    version = str(document.get("version") or "").removeprefix("v")
    short = (document.get("annotations") or {}).get(_NO_MACHINES, "")
    return Cluster(
        id=str(document.get("clusterId", "")),
        name=str(document.get("displayName", "")),
        state=str(document.get("state", "")),
        version=f"v{version}" if version else "",
        endpoints={
            str(one.get("connectionType")): (str(one["host"]), int(one.get("port") or PORT))
            for one in endpoints
            if one.get("host")
        },
        note="that it has too few machines" if short not in ("", "false") else "",
    )
