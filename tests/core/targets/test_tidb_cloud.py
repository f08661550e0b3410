"""Clusters of TiDB Cloud: made once, waited for, deleted for certain, whatever the API does."""

from __future__ import annotations

import gzip
import itertools
import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from benchlab.campaign import overrides, planning, report_types
from benchlab.engines.given import DeniedError, NotYetError
from benchlab.errors import SpecError, TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.server_login import ServerLogin
from benchlab.targets import fleet_files, give_back
from benchlab.targets.cloud import api as calls
from benchlab.targets.cloud import clusters, lease_file, reaper
from benchlab.targets.cloud.api import Api, Limits, login_of
from benchlab.targets.ec2.reaper import ReaperError
from benchlab.targets.target import Taken
from benchlab.targets.tidb_cloud import RentedClient, Target
from tests.builders import plans
from tests.builders import tidb_cloud as fake
from tests.builders.tidb_cloud import FakeCloud
from tests.machine import PROJECT
from tests.ports import free_port

SOON = Limits(pause=0.005, outage=20, rate=20, create=20, endpoint=20, delete=20)
AT_ONCE = Limits(pause=0.005, outage=0, rate=0, create=0, endpoint=0, delete=0)
PRICE = "usd_per_hour: 5\npriced_on: 2026-01-31\n"
LONG_AGO = datetime(2024, 1, 1, tzinfo=UTC)
WAIT_FOR_LOGIN = Target._wait_for_login


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    """An organization of TiDB Cloud, where minutes are milliseconds."""
    monkeypatch.setattr(Target, "limits", SOON)
    # A server behind the endpoint is another test's.
    monkeypatch.setattr(Target, "_wait_for_login", lambda self, side: None)
    with fake.serving() as found:
        yield found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An installation whose topology has a price."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    with (tmp_path / "configs/topologies/tidb_cloud_first.yaml").open("a") as file:
        file.write(PRICE)
    return Home(tmp_path, tmp_path / "state")


def target(home: Home, access: Access, **changes: Any) -> Target:
    """The target of a campaign of the shipped report type."""
    spec = report_types.load(home.configs / "reports/sysbench_cloud.yaml").with_overrides(changes)
    return Target(home, "c1", plans.plan_in(home, spec, "tidb", "c1"), spec, access)


def provision(home: Home, cloud: FakeCloud) -> list[str]:
    """Make the cluster as a campaign does; what it says meanwhile."""
    said: list[str] = []
    made = target(home, cloud.access())
    made.preflight()
    made.provision(said.append)
    return said


def test_a_cluster_is_made_used_and_gone(home: Home, cloud: FakeCloud) -> None:
    """With the nodes of the topology and a password of the campaign's; its name says its expiry."""
    before = datetime.now(UTC)
    said = provision(home, cloud)
    (cluster,) = cloud.clusters.values()
    assert cloud.passwords[cluster["clusterId"]] == home.password("c1")
    assert any("CREATING" in text for text in said)
    (listed,) = clusters.listed(target(home, cloud.access())._api, None)
    assert listed.expires_at is not None
    assert listed.expires_at > before
    spending = target(home, cloud.access()).spending()
    assert spending is not None
    assert spending.usd_per_minute == pytest.approx(5 / 60, rel=0.01)
    assert "1 cluster deleted" in give_back(home, "c1", cloud.access())
    assert cloud.living() == []
    assert "0 processes ended" in give_back(home, "c1", cloud.access()), "repeatable"


def test_what_is_given_back_without_a_known_cluster_says_where_it_looked(
    home: Home, cloud: FakeCloud
) -> None:
    """Its file is lost; the cluster is gone from TiDB Cloud; nothing was made at all."""
    file = home.campaign("c1") / lease_file.FILE
    provision(home, cloud)
    kept = file.read_bytes()
    file.unlink()
    said = give_back(home, "c1", cloud.access(), target="tidb_cloud")
    assert f"no cluster was found: {file} is not here" in said
    assert "console lists it as benchlab-<expiry>-<mark>, and `benchlab reap` deletes it" in said
    assert "0 clusters" not in said
    assert len(cloud.living()) == 1
    file.write_bytes(kept)
    assert "1 cluster deleted" in give_back(home, "c1", cloud.access())
    file.write_bytes(kept)
    name = json.loads(kept)["name"]
    assert f"TiDB Cloud has no cluster {name} for this API key" in give_back(
        home, "c1", cloud.access()
    )
    (home.campaign("c1") / "spent").unlink()
    (home.campaign("c1") / "target").write_text("tidb_cloud")
    assert "it has made no cluster" in give_back(home, "c1", cloud.access())


def test_preflight_lets_the_api_check_the_request(home: Home, cloud: FakeCloud) -> None:
    """Before anything costs money; the API's own reason is in the message."""
    path = home.configs / "topologies/tidb_cloud_first.yaml"
    path.write_text(path.read_text().replace("8C16G", "7C16G"))
    with pytest.raises(TargetError, match="node spec is not available"):
        target(home, cloud.access()).preflight()
    assert cloud.living() == []


@pytest.mark.parametrize("fault", [0, 500, 503])
def test_a_lost_answer_makes_no_second_cluster(home: Home, cloud: FakeCloud, fault: int) -> None:
    """Whether or not the request was carried out."""
    made = target(home, cloud.access())
    made.preflight()
    cloud.faults = [("POST", fault)]
    made.provision(print)
    assert len(cloud.living()) == 1


def test_a_crash_while_it_is_made_leaves_nothing(
    home: Home, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is on disk before the request; a new try finds it, and so does giving back."""
    create = clusters.create

    def killed(*arguments: Any) -> clusters.Cluster:
        create(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(clusters, "create", killed)
    with pytest.raises(KeyboardInterrupt):
        provision(home, cloud)
    monkeypatch.setattr(clusters, "create", create)
    provision(home, cloud)
    assert len(cloud.living()) == 1
    give_back(home, "c1", cloud.access())
    assert cloud.living() == []


@pytest.mark.parametrize(
    ("state", "reason"),
    [({"stuck": True}, "still CREATING"), ({"no_machines": True}, "too few machines")],
    ids=["stuck", "failed"],
)
def test_a_cluster_that_cannot_be_had_is_deleted(
    state: dict[str, bool],
    reason: str,
    home: Home,
    cloud: FakeCloud,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Creation stuck, and creation failed."""
    vars(cloud).update(state)
    with monkeypatch.context() as patch:
        if cloud.stuck:
            patch.setattr(Target, "limits", replace(SOON, create=0))
        with pytest.raises(TargetError, match=reason):
            provision(home, cloud)
    give_back(home, "c1", cloud.access())
    assert cloud.living() == []


def test_another_version_than_planned_is_named_at_once(home: Home, cloud: FakeCloud) -> None:
    """Nobody waits half an hour for it."""
    cloud.version = "8.5.4"
    with pytest.raises(TargetError, match=r"write v8\.5\.4"):
        provision(home, cloud)
    (cluster,) = cloud.clusters.values()
    assert cluster["state"] == "CREATING"


def test_a_refused_deletion_is_asked_for_again(
    home: Home, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused once it is gone in the end; refused for ever, it is named and stays known."""
    provision(home, cloud)
    cloud.faults = [("DELETE", 400)] * 2
    with monkeypatch.context() as patch:
        patch.setattr(Target, "limits", AT_ONCE)
        with pytest.raises(TargetError, match="and costs money"):
            give_back(home, "c1", cloud.access())
    assert lease_file.read(home.campaign("c1")) is not None
    cloud.faults = [("DELETE", 400)]
    give_back(home, "c1", cloud.access())
    assert cloud.living() == []


def test_an_api_that_is_not_well_for_a_while_is_waited_for(
    home: Home, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it lasts too long, the cluster stays known."""
    cloud.faults = [("*", 500)] * 5
    provision(home, cloud)
    assert len(cloud.living()) == 1
    cloud.faults = [("*", 500)] * 2
    with monkeypatch.context() as patch:
        patch.setattr(Target, "limits", AT_ONCE)
        with pytest.raises(TargetError, match="status 500: not now"):
            give_back(home, "c1", cloud.access())
    cloud.faults = []
    give_back(home, "c1", cloud.access())
    assert cloud.living() == []


class Clock:
    """A time that passes only while somebody waits.

    Attributes:
        at: seconds since some moment.
        waited: how long each wait was.
        then: is called after each.
    """

    def __init__(self, at: float = 0.0) -> None:
        self.at, self.waited = at, list[float]()
        self.then: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        """The present."""
        return self.at

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.waited.append(seconds)
        self.at += seconds
        self.then()


def test_an_api_that_refuses_connections_for_a_minute_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the time that is really given to it; after three minutes it is named."""
    clock, port = Clock(), free_port()
    monkeypatch.setattr(calls, "time", clock)
    login = ServerLogin("tidb_cloud", "127.0.0.1", port, fake.PUBLIC, fake.PRIVATE)
    with ExitStack() as up:
        begun: list[FakeCloud] = []

        def begin_after_a_minute() -> None:
            if clock.at > 60 and not begun:
                begun.append(up.enter_context(fake.serving(port)))

        clock.then = begin_after_a_minute
        assert Api(login).get("/clusters")["clusters"] == []
        assert begun
    clock.then = lambda: None
    began = clock.at
    with pytest.raises(TargetError, match=r"127\.0\.0\.1 cannot be reached"):
        Api(login).get("/clusters")
    assert 180 < clock.at - began < 200


@pytest.mark.parametrize("header", ["X-Ratelimit-Reset", "Retry-After"])
def test_too_many_requests_are_followed_by_as_long_a_wait_as_the_api_says(
    cloud: FakeCloud, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no longer; where something else uses up what the key may send, that is said."""
    clock = Clock(at=1000.0)  # 20 s before a minute ends
    monkeypatch.setattr(calls, "time", clock)
    cloud.clock, cloud.a_minute, cloud.limit_header = clock.monotonic, 3, header
    api = Api(login_of(cloud.access()))
    for _ in range(4):
        api.get("/clusters")
    assert clock.waited == [20]
    cloud.a_minute = 0
    with pytest.raises(TargetError, match="more requests than TiDB Cloud allows this key"):
        api.get("/clusters")


def test_a_wrong_key_is_said_at_once_and_never_logged(
    home: Home, cloud: FakeCloud, caplog: pytest.LogCaptureFixture
) -> None:
    """The message names the Connection's fields; no log has key or password."""
    caplog.set_level(logging.DEBUG)
    with pytest.raises(TargetError, match="password the private key"):
        target(home, cloud.access(private="wrong-key-77")).preflight()
    provision(home, cloud)
    for secret in ("wrong-key-77", fake.PRIVATE, home.password("c1")):
        assert secret not in caplog.text


def test_a_new_cluster_is_given_a_while_to_know_its_password(
    home: Home, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as an endpoint, and no longer: then it is said that the account is refused."""
    denied = DeniedError("refused")
    check = Mock(side_effect=[denied, NotYetError("lost"), None, denied])
    monkeypatch.setattr(Target, "_wait_for_login", WAIT_FOR_LOGIN)
    monkeypatch.setattr(Target, "engine", lambda self, side: Mock(check=check))
    provision(home, cloud)
    assert check.call_count == 3
    monkeypatch.setattr(Target, "limits", replace(SOON, endpoint=0))
    with pytest.raises(DeniedError, match="refused"):
        provision(home, cloud)


def test_no_key_says_how_to_define_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the command line and in Airflow."""
    monkeypatch.delenv("AIRFLOW_CONN_TIDB_CLOUD", raising=False)
    with pytest.raises(
        TargetError, match=r"AIRFLOW_CONN_TIDB_CLOUD=.*make a Connection tidb_cloud"
    ):
        target(home, Access()).preflight()


def test_a_cluster_of_that_name_that_is_not_ours_is_left_alone(
    home: Home, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused, and giving back does not delete it."""
    cloud.add("benchlab-theirs")
    monkeypatch.setattr(clusters, "new_name", lambda expiry: "benchlab-theirs")
    with pytest.raises(TargetError, match="did not make; it was not touched"):
        provision(home, cloud)
    give_back(home, "c1", cloud.access())
    assert cloud.living() == ["benchlab-theirs"]


def test_an_endpoint_may_come_late(
    home: Home, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named a while after the cluster is active, and its name resolves later still."""
    cloud.endpoint_after, cloud.host = 2, "tidb.example.com"
    # getent(1), as it is where the name is known after it has been asked for twice.
    (bin_ := home.root / "bin").mkdir(parents=True)
    (bin_ / "getent").write_text(
        f"#!/bin/sh\necho $* >> {bin_}/asked\n"
        f"[ $(grep -c 'ahosts tidb.example.com' {bin_}/asked) -gt 2 ] || exit 2\n"
    )
    (bin_ / "getent").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    provision(home, cloud)
    lease = lease_file.read(home.campaign("c1"))
    assert lease is not None
    assert (lease.host, lease.port) == ("tidb.example.com", 4000)
    (bin_ / "asked").unlink()
    monkeypatch.setattr(Target, "limits", AT_ONCE)
    with pytest.raises(TargetError, match=r"tidb\.example\.com does not resolve"):
        provision(home, cloud)


def test_a_public_endpoint_is_opened_to_one_network(home: Home, cloud: FakeCloud) -> None:
    """Without a list TiDB Cloud would let everybody in."""
    path = home.configs / "topologies/tidb_cloud_first.yaml"
    opened = "endpoint: public\nopen_to: 203.0.113.7/32"
    path.write_text(path.read_text().replace("endpoint: peering", opened))
    provision(home, cloud)
    (cluster,) = cloud.clusters.values()
    assert cluster["open_to"] == ["203.0.113.7/32"]


def test_a_rented_client_is_given_back_even_if_the_cluster_is_not(
    home: Home, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And stays known until both are gone, so that a later try looks for both."""
    provision(home, cloud)
    rental = home.campaign("c1") / fleet_files.RENTAL_FILE
    rental.touch()
    ended: list[str] = []

    def return_hosts(_: Taken) -> str:
        ended.append("host")
        return "host ended"

    monkeypatch.setattr(RentedClient, "return_hosts", return_hosts)
    cloud.faults = [("DELETE", 400)] * 2
    with monkeypatch.context() as patch:
        patch.setattr(Target, "limits", AT_ONCE)
        with pytest.raises(TargetError, match="and costs money"):
            give_back(home, "c1", cloud.access())
    assert ended == ["host"]
    cloud.faults = []
    assert give_back(home, "c1", cloud.access()).endswith("1 cluster deleted, host ended")
    assert not rental.exists()


def test_a_rented_client_is_in_the_price_and_is_asked_for(home: Home) -> None:
    """The list prices of host and volume beside the cluster's; it lets this machine in."""
    path = home.configs / "topologies/tidb_cloud_published.yaml"
    path.write_text(path.read_text() + PRICE)
    plan = report_types.load(home.configs / "published/sysbench_v713_cloud.yaml")
    made = plans.plan_in(home, plan, "tidb", "c1")
    hourly = 5 + 0.306 + 50 * 0.00011
    assert made.dollars == pytest.approx(hourly * made.minutes / 60, abs=0.01)
    assert (made.vcpus, made.region) == (8, "us-west-2")
    planning.refuse_undecided(home, plan)
    path.write_text(path.read_text().replace("  ssh_from: 172.31.0.0/16\n", ""))
    planning.refuse_undecided(home, plan)
    (line,) = planning.arrangements(home, plan)
    assert line.startswith("ssh from: this machine's address in the hosts' network, asked at")


def test_the_reaper_deletes_what_is_past_its_expiry_and_nothing_else(
    home: Home, cloud: FakeCloud
) -> None:
    """More clusters than one page has; those of others, and of campaigns at work, stay."""
    provision(home, cloud)
    others = [f"shop-{number}" for number in range(105)]
    for name in (*others, "benchlab-by-hand"):
        cloud.add(name)
    expired = clusters.new_name(LONG_AGO)
    cloud.add(expired)
    (shown,) = reaper.reap(home, cloud.access(), dry_run=True, limits=SOON, say=print)
    assert "would be deleted" in shown
    assert expired in cloud.living()
    said: list[str] = []
    assert reaper.reap(home, cloud.access(), limits=SOON, say=said.append) == said
    assert expired in said[0]
    assert len(cloud.living()) == 107
    later = datetime.now(UTC) + timedelta(days=30)
    assert len(reaper.reap(home, cloud.access(), now=later, limits=SOON, say=print)) == 1


def test_no_fault_stops_the_reaper(home: Home, cloud: FakeCloud) -> None:
    """A damaged file, a project that is closed, a cluster that cannot be deleted.

    Each is named at the end, and what was deleted nevertheless is known.
    """
    cloud.projects = ("7",)
    path = home.configs / "topologies/tidb_cloud_published.yaml"
    for project in ("6", "7"):
        text = path.read_text().replace('# project: "1372813089454000000"', f'project: "{project}"')
        path.with_stem(f"of_{project}").write_text(text + PRICE)
    damaged = home.campaign("cut") / lease_file.FILE
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    refused, first, second = (clusters.new_name(LONG_AGO) for _ in range(3))
    ids = [cloud.add(refused, project="7")["clusterId"]]
    ids += [cloud.add(name)["clusterId"] for name in (first, second)]
    cloud.kept = (ids[0],)
    said: list[str] = []
    with pytest.raises(ReaperError) as caught:
        reaper.reap(home, cloud.access(), limits=replace(SOON, delete=0.1), say=said.append)
    for named in (str(damaged), "project 6: TiDB Cloud: GET /clusters: status 403", refused):
        assert named in str(caught.value)
    assert [name in text for name, text in zip((first, second), said, strict=True)] == [True, True]
    assert caught.value.reaped == tuple(said)
    asked = [path.rpartition("/")[2] for method, path in cloud.requests if method == "DELETE"]
    assert asked[:3] == ids, "none waits until another is gone"


@pytest.mark.parametrize("days", [-90, 90])
def test_the_api_s_clock_decides_when_a_cluster_expires(
    home: Home, cloud: FakeCloud, days: int
) -> None:
    """Wherever this machine's clock is, what is at work stays, for no longer than was planned."""
    cloud.ahead = days * 86_400.0
    provision(home, cloud)
    there = datetime.now(UTC) + timedelta(days=days)
    (mine,) = clusters.listed(Api(login_of(cloud.access()), SOON), None)
    assert mine.expires_at is not None
    assert there < mine.expires_at < there + timedelta(days=1)
    spending = target(home, cloud.access()).spending()
    assert spending is not None
    assert spending.dollars < 0.1
    assert reaper.reap(home, cloud.access(), limits=SOON, say=print) == []
    cloud.ahead += 86_400
    assert len(reaper.reap(home, cloud.access(), limits=SOON, say=print)) == 1


def test_nobody_is_asked_where_no_cluster_can_be(tmp_path: Path) -> None:
    """An installation without TiDB Cloud needs no key for its reaper."""
    home = Home(PROJECT, tmp_path / "state")
    assert reaper.reap(home, Access(), say=print) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"load_balancer": "haproxy"}, "load_balancer: haproxy"),
        ({"deployments": 2}, "deployments: 2"),
        ({"leaders": "as_placed"}, "leaders: as_placed"),
        ({"snapshots": "s3://bucket/prefix"}, "snapshots"),
        ({"engines.tidb.baseline.parameters.tidb_mem_quota_query": 1}, "parameters"),
    ],
)
def test_what_tidb_cloud_cannot_do_is_refused_while_validating(
    change: dict[str, Any], named: str
) -> None:
    """Each by its field."""
    home = Home(PROJECT, Path("/nowhere"))
    spec = report_types.load(home.configs / "reports/sysbench_cloud.yaml")
    with pytest.raises(SpecError, match=named):
        overrides.override(spec, change)


def test_two_sides_are_refused_while_validating(home: Home) -> None:
    """Nobody can choose the version of a second one."""
    path = home.configs / "reports/sysbench_cloud.yaml"
    text = path.read_text().replace("sides: single", "sides: same")
    version = "    baseline: {version: v8.5.2}\n"
    path.write_text(text.replace(version, version + version.replace("baseline", "candidate")))
    with pytest.raises(SpecError, match="sides: same: nobody can choose a version"):
        report_types.load(path)


@contextmanager
def answering(status: int, headers: dict[str, str], pieces: Iterable[bytes]) -> Iterator[Api]:
    """An API that gives this answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # nobody reads on
                for piece in pieces:
                    self.wfile.write(piece)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        login = ServerLogin("tidb_cloud", "127.0.0.1", server.server_port, "a", "b")
        yield Api(login, AT_ONCE)
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {}),
        (401, {"WWW-Authenticate": 'Digest realm="a", nonce="b", qop="auth", algorithm=MD5'}),
        (500, {}),
        (200, {"Content-Encoding": "gzip"}),
    ],
)
def test_an_answer_without_end_is_refused(status: int, headers: dict[str, str]) -> None:
    """Whatever it says it is; also one that asks for a login, and one that is packed."""
    with (
        answering(status, headers, itertools.repeat(gzip.compress(bytes(1 << 20)))) as api,
        pytest.raises(TargetError, match=r"127\.0\.0\.1 answers with more than 8 MB, or packed"),
    ):
        api.get("/clusters")


@pytest.mark.parametrize("text", [b"[" * 20_000, b"<html>", b"\xff", b"9" * 5000])
@pytest.mark.parametrize("status", [200, 404, 400])
def test_an_answer_that_is_no_json_is_an_error(text: bytes, status: int) -> None:
    """In words of Benchlab's own."""
    what = "the answer is not JSON|nested too deeply" if status == 200 else "without a reason"
    with answering(status, {}, [text]) as api, pytest.raises(TargetError, match=what):
        api.get("/clusters")
