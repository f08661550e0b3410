"""A fake of the TiDB Cloud Dedicated API: an HTTP server on loopback that refuses what it refuses.

From its public description (``v1beta1``): digest authentication, the fields of a request, the
limits of names, passwords, node sizes, node counts, storage and page sizes, the quotas of an
organization, no label but the project's, a creation that answers with little more than the id,
states over time, and so many requests a minute, beyond which it says when that is over. Time is
counted in requests that ask for a cluster, so that no test waits.

The description says neither that names are unique nor that a cluster cannot be deleted while it is
made: here both are possible.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from benchlab.hosts.access import Access
from benchlab.hosts.server_login import ServerLogin, Tls
from tests.builders.given_server import GivenServer

PUBLIC, PRIVATE = "PUBKEY42", "private-key-1f6c"
REALM = "tidb.cloud"
NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9]{2,62}[A-Za-z0-9]")
# "Determine Your TiDB Size"; some larger ones are to be had from TiDB Cloud's support only.
SIZES = {
    "tidb": ("4C16G", "8C16G", "8C32G", "16C32G", "16C64G", "32C64G"),
    "tikv": ("4C16G", "8C32G", "8C64G", "16C64G"),
}
# GiB of a TiKV node, at least and by its vCPUs at most.
LEAST_GIB, MOST_GIB = 200, {4: 2048, 8: 4096, 16: 6144}
# Nodes of all clusters of an organization ("Limitations and Quotas").
QUOTA = {"tidb": 10, "tikv": 15}
REGIONS = ("aws-us-west-2", "aws-us-east-1", "gcp-us-west1")
# All that a request may say of a cluster, of its TiDB, of a group of these, of its TiKV.
WRITABLE = (
    {"displayName", "regionId", "labels", "port", "rootPassword", "pausePlan"}
    | {"tidbNodeSetting", "tikvNodeSetting", "tiflashNodeSetting"},
    {"nodeSpecKey", "tidbNodeGroups"},
    {"displayName", "nodeCount"},
    {"nodeSpecKey", "nodeCount", "storageSizeGi", "storageType", "raftStoreIops"},
)
VERSION = "8.5.2"


class Refused(Exception):
    """An answer with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass
class FakeCloud:
    """One organization.

    Attributes:
        host, port_of_server: the endpoint that clusters have.
        creating, endpoint_after, deleting: how many questions a state lasts.
        faults: status codes with which the next requests of a method are answered; 0: the
            connection is closed after the request was carried out.
        projects: that there are beside the default one.
        a_minute: requests that a key may send in a minute of ``clock``.
        limit_header: in which it says when it may send more.
        kept: ids of clusters that it refuses to delete.
        stuck: whether clusters stay CREATING for ever.
        no_machines: whether clusters cannot be made for want of machines.
        ahead: seconds by which its clock is ahead of this machine's.
        made: is called with the root password of each new cluster.
        requests: method and path of every authenticated request.
    """

    host: str = "127.0.0.1"
    port_of_server: int = 4000
    version: str = VERSION
    creating: int = 2
    endpoint_after: int = 0
    deleting: int = 1
    stuck: bool = False
    no_machines: bool = False
    ahead: float = 0.0
    kept: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    a_minute: int = 100
    limit_header: str = "X-Ratelimit-Reset"
    clock: Callable[[], float] = time.monotonic
    sent_in: tuple[float, int] = (0, 0)
    faults: list[tuple[str, int]] = field(default_factory=list)
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    passwords: dict[str, str] = field(default_factory=dict)
    made: Callable[[str], None] = lambda password: None
    port: int = 0

    def access(self, private: str = PRIVATE, ca: Path = Path("/etc/hostname")) -> Access:
        """What the command line would have from its environment."""
        login = ServerLogin("tidb_cloud", "127.0.0.1", self.port, PUBLIC, private, Tls(ca))
        return Access(server=lambda name: login)

    def hand_out(self, server: GivenServer) -> None:
        """Every cluster from now on is this server, with its own root password."""
        for host in server.sql("SELECT host FROM mysql.user WHERE user = 'root'").split():
            if host != "localhost":  # the socket's, by which the server itself is administered
                server.sql(f"DROP USER 'root'@'{host}'")
        self.host, self.port_of_server = server.address, server.port
        self.made = lambda password: server.account("root", password)

    def living(self) -> list[str]:
        """Names of the clusters that cost money."""
        return [one["displayName"] for one in self.clusters.values()]

    def until_more(self) -> int | None:
        """Count a request; seconds until it may be sent if there have been too many."""
        minute, second = divmod(self.clock(), 60)
        sent = self.sent_in[1] + 1 if self.sent_in[0] == minute else 1
        self.sent_in = (minute, sent)
        return None if sent <= self.a_minute else math.ceil(60 - second)

    def add(self, name: str, state: str = "ACTIVE", project: str | None = None) -> dict[str, Any]:
        """A cluster that was made by somebody."""
        id_ = str(1000 + len(self.passwords))
        self.passwords[id_] = ""
        group: dict[str, Any] = {"nodeCount": 1, "isDefaultGroup": True, "endpoints": []}
        self.clusters[id_] = {
            "clusterId": id_,
            "displayName": name,
            "state": state,
            "project": project,
            "version": self.version,
            "annotations": {},
            "tidbNodeSetting": {"tidbNodeGroups": [group]},
            "asked": 0,
        }
        return self.clusters[id_]

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> dict[str, Any]:
        """Carry out one request."""
        if (method, path) == ("GET", "/clusters"):
            return self._list(query)
        if (method, path) == ("POST", "/clusters"):
            return self._create(body, dry=query.get("validateOnly") == "true")
        found = re.fullmatch(r"/clusters/(\d+)(/tidbNodeGroups/-/publicEndpointSetting)?", path)
        if found is None or found[1] not in self.clusters:
            raise Refused(404, "the cluster is not found")
        cluster = self.clusters[found[1]]
        if method == "PATCH" and found[2]:
            return self._open(cluster, body)
        if method == "DELETE":
            if found[1] in self.kept:
                raise Refused(400, "the cluster cannot be deleted now")
            cluster |= {"state": "DELETING", "asked": 0}
        elif method == "GET":
            self._grow_older(cluster)
        return _public(cluster)

    def _list(self, query: dict[str, str]) -> dict[str, Any]:
        size, first = min(int(query.get("pageSize", 10)), 100), int(query.get("pageToken", 0))
        if (project := query.get("projectId")) not in (None, *self.projects):
            raise Refused(403, "the API key has no permission to access the project")
        found = [one for one in self.clusters.values() if one["project"] == project]
        page, more = found[first : first + size], first + size < len(found)
        token = {"nextPageToken": str(first + size)} if more else {}
        return {"clusters": [_public(one) for one in page], "totalSize": 0, **token}

    def _create(self, body: Any, *, dry: bool) -> dict[str, Any]:
        if message := _fault(body):
            raise Refused(400, message)
        if dry:
            return {}
        project = body.get("labels", {}).get("tidb.cloud/project")
        cluster = self.add(body["displayName"], "CREATING", project)
        self.passwords[cluster["clusterId"]] = body.get("rootPassword", "")
        self.made(body.get("rootPassword", ""))
        answered = ("displayName", "regionId", "labels", "port")
        return {"clusterId": cluster["clusterId"], **{k: body[k] for k in answered if k in body}}

    def _grow_older(self, cluster: dict[str, Any]) -> None:
        cluster["asked"] += 1
        asked = cluster["asked"]
        if cluster["state"] == "CREATING":
            if self.no_machines:
                cluster["annotations"] = {"tidb.cloud/insufficient-vm-resource": "true"}
            elif asked >= self.creating and not self.stuck:
                cluster |= {"state": "ACTIVE", "asked": 0}
        elif cluster["state"] == "ACTIVE" and asked >= self.endpoint_after:
            self._endpoint(cluster, "VPC_PEERING")
        elif cluster["state"] == "DELETING" and asked >= self.deleting:
            del self.clusters[cluster["clusterId"]]
        if cluster["state"] == "ACTIVE" and not self.endpoint_after:
            self._endpoint(cluster, "VPC_PEERING")

    def _open(self, cluster: dict[str, Any], body: Any) -> dict[str, Any]:
        if cluster["state"] != "ACTIVE":
            raise Refused(400, "the cluster is not active")
        self._endpoint(cluster, "PUBLIC")
        cluster["open_to"] = [one["cidrNotation"] for one in body["ipAccessList"]]
        return {"enabled": body["enabled"]}

    def _endpoint(self, cluster: dict[str, Any], kind: str) -> None:
        (group,) = cluster["tidbNodeSetting"]["tidbNodeGroups"]
        new = {"host": self.host, "port": self.port_of_server, "connectionType": kind}
        group["endpoints"] = [
            *(one for one in group["endpoints"] if one["connectionType"] != kind),
            new,
        ]


def _fault(body: Any) -> str | None:
    """Why a cluster cannot be made; the first reason."""
    if unknown := _unknown(body):
        return f"{unknown[0]} is not a field of the request"
    required = {"displayName", "regionId", "port", "tidbNodeSetting", "tikvNodeSetting"}
    if missing := sorted(required - body.keys()):
        return f"{missing[0]} is required"
    tidb, tikv = body["tidbNodeSetting"], body["tikvNodeSetting"]
    if missing := sorted({"nodeCount", "nodeSpecKey", "storageSizeGi"} - tikv.keys()):
        return f"tikvNodeSetting.{missing[0]} is required"
    counts = [group.get("nodeCount", 0) for group in tidb.get("tidbNodeGroups") or ()]
    if len(counts) != 1 or counts[0] < 1:
        return "tidbNodeGroups must contain exactly one group with its nodeCount"
    nodes = {"tidb": counts[0], "tikv": tikv["nodeCount"]}
    sizes = {"tidb": tidb.get("nodeSpecKey"), "tikv": tikv["nodeSpecKey"]}
    if not all(size in SIZES[component] for component, size in sizes.items()):
        return "the node spec is not available in the region"
    most_gib = MOST_GIB[int(sizes["tikv"].partition("C")[0])]
    small = "4C16G" in sizes.values()
    reasons = {
        "the number of TiKV nodes must be a multiple of 3": nodes["tikv"] not in range(3, 999, 3),
        "storageSizeGi is out of range": not LEAST_GIB <= tikv["storageSizeGi"] <= most_gib,
        "4 vCPU: all nodes, at most 2 of TiDB, 3 of TiKV": small
        and (len({*sizes.values()}) > 1 or nodes["tidb"] > 2 or nodes["tikv"] != 3),
        "the organization has not enough quota": any(nodes[name] > QUOTA[name] for name in nodes),
        "displayName is not valid": not NAME.fullmatch(body["displayName"]),
        "only the label tidb.cloud/project can be specified": bool(
            set(body.get("labels", ())) - {"tidb.cloud/project"}
        ),
        "rootPassword must be 8 to 64 characters long": (
            not 8 <= len(body.get("rootPassword", "x" * 8)) <= 64
        ),
        "port is not valid": not 1024 <= body["port"] <= 65535,
        "regionId is not valid": body["regionId"] not in REGIONS,
    }
    return next((reason for reason, is_so in reasons.items() if is_so), None)


def _unknown(body: Any) -> list[str]:
    """The fields that the request's description does not have, or that only answers have."""
    tidb = body.get("tidbNodeSetting", {})
    groups, tikv = tidb.get("tidbNodeGroups", ()), body.get("tikvNodeSetting", {})
    parts = zip(WRITABLE, ([body], [tidb], groups, [tikv]), strict=True)
    return sorted(key for known, all_of in parts for one in all_of for key in one.keys() - known)


def _public(cluster: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in cluster.items() if key not in ("asked", "project")}


class _Handler(BaseHTTPRequestHandler):
    cloud: ClassVar[FakeCloud]
    nonces: ClassVar[set[str]]

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        cloud, address = type(self).cloud, urlsplit(self.path)
        if not self._is_authentic():
            nonce = secrets.token_hex(8)
            type(self).nonces.add(nonce)
            challenge = f'Digest realm="{REALM}", nonce="{nonce}", qop="auth", algorithm=MD5'
            self._say(401, {"message": "the API key is not valid"}, {"WWW-Authenticate": challenge})
            return
        path = address.path.removeprefix("/v1beta1")
        cloud.requests.append((self.command, path))
        if (seconds := cloud.until_more()) is not None:
            self._say(429, {"message": "too many requests"}, {cloud.limit_header: str(seconds)})
            return
        fault = next((one for one in cloud.faults if one[0] in (self.command, "*")), None)
        if fault is not None:
            cloud.faults.remove(fault)
            if fault[1]:
                self._say(fault[1], {"message": "not now"}, {})
                return
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        try:
            status, document = 200, cloud.answer(self.command, path, query, body)
        except Refused as refused:
            status, document = refused.status, {"message": refused.message, "details": []}
        if fault is not None:
            return  # carried out, and nobody is told: HTTP/1.0 closes the connection
        self._say(status, document, {})

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 - the standard library's names

    def _is_authentic(self) -> bool:
        given = dict(re.findall(r'(\w+)="?([^",]+)"?', self.headers.get("Authorization", "")))
        if given.get("nonce") not in type(self).nonces or given.get("username") != PUBLIC:
            return False
        one = _md5(f"{PUBLIC}:{REALM}:{PRIVATE}")
        two = _md5(f"{self.command}:{self.path}")
        middle = ":".join(given[key] for key in ("nonce", "nc", "cnonce", "qop"))
        right = _md5(f"{one}:{middle}:{two}")
        return (given["response"], given["uri"]) == (right, self.path)

    def _say(self, status: int, document: dict[str, Any], headers: dict[str, str]) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The header ``Date`` of each answer, by the API's own clock."""
        return formatdate((timestamp or time.time()) + type(self).cloud.ahead, usegmt=True)

    def log_message(self, *_: Any) -> None:
        """Nothing: a test shows what it needs."""


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


@contextmanager
def serving(port: int = 0) -> Iterator[FakeCloud]:
    """An organization whose API answers on loopback as long as the caller needs it."""
    cloud = FakeCloud()
    handler = type("Handler", (_Handler,), {"cloud": cloud, "nonces": set()})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    cloud.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield cloud
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
