"""What a server that exists cannot do is refused before anybody connects to it."""

from __future__ import annotations

import dataclasses
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from benchlab import home
from benchlab.analysis.verdict.compare import compare
from benchlab.campaign import fit, report_types, resolving
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.engines.given import engine_of, product_of, refusal, version_of
from benchlab.errors import SpecError, TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.lock import MachineLock
from benchlab.language import load
from benchlab.plan.plan import make
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.report.formats import pages
from benchlab.report.model import report as model
from benchlab.report.sentences import method
from benchlab.results.records import GateResult
from benchlab.results.store import Store
from benchlab.targets import existing, local
from benchlab.targets.this_machine import SCHEMA_FILE, OnThisMachine, remove_data
from tests.builders import campaigns, plans
from tests.builders.installation import Here

CONNECTIONS = {"baseline": "one", "candidate": "other"}


def shipped(**changes: Any) -> ReportSpec:
    """The shipped report type with changes (`__` for a dot)."""
    path = home.find().configs / "reports" / "sysbench_existing.yaml"
    spec = report_types.load(path)
    return spec.with_overrides({key.replace("__", "."): value for key, value in changes.items()})


def two_sides() -> dict[str, Any]:
    """Two clusters, compared in one campaign."""
    sides = {"baseline": {"version": "running"}, "candidate": {"version": "running"}}
    return {
        "sides": "different",
        "connections": CONNECTIONS,
        "engines": {"tidb": sides, "mariadb": sides},
    }


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"connections": {}}, "connections: missing: name the Airflow Connection of each side"),
        ({"connections": CONNECTIONS}, "connections: baseline, candidate: name the Airflow"),
        ({"load_balancer": "haproxy"}, "the client connects to the address of the Connection"),
        ({"topology": "ec2_small"}, "topology: ec2_small: the target existing has none"),
        ({"snapshots": "s3://b"}, "snapshots: the target existing always loads its dataset"),
        (
            {"schedule": {"runs": "on_release", "types": ["patch"]}},
            "schedule: an existing server has no releases to follow",
        ),
        ({"engines__tidb__baseline__version": "newest"}, "version: newest: an existing server"),
        ({"engines__tidb__parameters": {"a": 1}}, "engines.tidb.parameters: Benchlab does not"),
        ({"engines__tidb__components": {"pd": {"a": 1}}}, "engines.tidb.components"),
        (
            {"workloads": ["tpcc"], "dataset": {"warehouses": 1}, "threads": [1]},
            "cannot hide a password; write embedded",
        ),
        (
            {"workloads": ["tpch_q1"], "dataset": {"scale_factor": 1}, "threads": [1]},
            "workloads: tpch_q1: its client (tiup, go-tpc) cannot hide a password; use workloads",
        ),
        (
            {"connections": {"baseline": "benchlab_results"}},
            "connections: benchlab_results is the store of results",
        ),
        ({"offered_connections": ["benchlab_results"]}, "benchlab_results is the store of results"),
    ],
)
def test_what_cannot_be_done_there_is_refused(changes: dict[str, Any], refused: str) -> None:
    """In plain words, and by its field."""
    with pytest.raises(SpecError) as error:
        fit.check(shipped(**changes), "x")
    assert refused in str(error.value)


def test_two_clusters_can_be_compared_and_one_cannot_be_both() -> None:
    """They may be of the same version: what else they differ in is not written down here."""
    fit.check(shipped(**two_sides()), "x")
    with pytest.raises(SpecError, match="both sides are the same server"):
        fit.check(shipped(**{**two_sides(), "connections": dict.fromkeys(CONNECTIONS, "one")}), "x")
    with pytest.raises(SpecError, match="slowdown_pct: 5"):
        fit.check(shipped(**two_sides(), slowdown_pct=5), "x")
    with pytest.raises(SpecError, match="deployments: 3: nothing is deployed"):
        fit.check(shipped(**two_sides(), deployments=3), "x")


def test_a_target_that_deploys_has_versions_and_no_connections() -> None:
    """`running` names nothing where nobody can be asked."""
    path = home.find().configs / "reports" / "sysbench_local.yaml"
    local = report_types.load(path)
    with pytest.raises(SpecError, match="version: running: the target local deploys a server"):
        fit.check(local.with_overrides({"engines.tidb.baseline.version": "running"}), "x")
    with pytest.raises(SpecError, match=r"client\.connection: the target local has a client"):
        fit.check(local.with_overrides({"client.connection": "loader"}), "x")
    with pytest.raises(SpecError, match="connections: the target local deploys its own servers"):
        fit.check(local.with_overrides({"connections": CONNECTIONS}), "x")


@pytest.mark.parametrize(
    ("reported", "product", "engine", "version"),
    [
        ("5.7.25-TiDB-v6.5.0", "TiDB", "tidb", "v6.5.0"),
        ("8.0.11-TiDB-v7.1.3-serverless", "TiDB", "tidb", "v7.1.3-serverless"),
        ("8.0.11-TiDB-v7.1.3-dirty", "TiDB", "tidb", "v7.1.3"),
        ("8.0.11-TiDB-v9.0.0-beta.2.pre-12-gab", "TiDB", "tidb", "v9.0.0-beta.2.pre-12-gab"),
        ("10.11.5-MariaDB-log", "MariaDB", "mariadb", "10.11.5"),
        ("5.5.5-10.6.12-MariaDB", "MariaDB", "mariadb", "10.6.12"),
        ("8.0.36-0ubuntu0.22.04.1", "MySQL", "mariadb", "8.0.36"),
        ("5.7.44-48-log", "MySQL", "mariadb", "5.7.44"),
        ("9.0.1-cloud", "MySQL", "mariadb", "9.0.1"),
    ],
)
def test_a_server_is_known_by_what_it_calls_itself(
    reported: str, product: str, engine: str, version: str
) -> None:
    """Product, engine and version; the plan and the store have the real version."""
    assert (product_of(reported), engine_of(reported)) == (product, engine)
    assert version_of(reported) == version


def test_what_has_no_version_is_refused() -> None:
    """Nothing could be said of its figures later."""
    with pytest.raises(TargetError, match=r"'5\.7\.25-TiDB-None', which has no version in it"):
        version_of("5.7.25-TiDB-None")


@pytest.mark.parametrize("called", ["proxy", "5.7.25-OceanBase-v4.2.1.8", "8.0.26-tidb-5.2"])
def test_what_is_none_of_the_products_is_refused(called: str) -> None:
    """It is neither MySQL because of a number nor TiDB because of a word."""
    for of in (version_of, product_of, engine_of):
        with pytest.raises(TargetError, match=f"{called!r}: that is none of TiDB, MariaDB and"):
            of(called)


def test_running_is_what_the_servers_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the engine; servers of two engines are not compared."""
    said = {"baseline": "5.7.25-TiDB-v6.1.0", "candidate": "5.7.25-TiDB-v6.5.0"}
    monkeypatch.setattr(existing, "asked", lambda spec, access: said)
    spec, notes = resolving.with_running(shipped(**two_sides()), Access())
    assert spec.engine == "tidb"
    assert [
        side.version for side in (spec.side("tidb", "baseline"), spec.side("tidb", "candidate"))
    ] == ["v6.1.0", "v6.5.0"]
    assert str(notes[0]) == "baseline: running is v6.1.0, as one says"
    with pytest.raises(SpecError, match="engine: mariadb: the server calls itself"):
        resolving.with_running(shipped(**two_sides(), engine="mariadb"), Access())
    said["candidate"] = "10.11.5-MariaDB"
    with pytest.raises(SpecError, match="write a report type for each engine"):
        resolving.with_running(shipped(**two_sides()), Access())


def test_a_server_without_a_number_needs_its_version_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The field is named; where it says a version, that is taken."""
    said = {"baseline": "5.7.25-TiDB-v6.1.0", "candidate": "5.7.25-TiDB-None"}
    monkeypatch.setattr(existing, "asked", lambda spec, access: said)
    with pytest.raises(TargetError, match=r"^engines\.tidb\.candidate\.version: the server calls"):
        resolving.with_running(shipped(**two_sides()), Access())
    written = {"engines.tidb.candidate.version": "v2.0.6"}
    spec, _ = resolving.with_running(shipped(**two_sides()).with_overrides(written), Access())
    assert spec.side("tidb", "candidate").version == "v2.0.6"


def test_an_estimate_asks_no_server() -> None:
    """A DAG and its form are made without any Connection."""
    spec = shipped()
    resolver = Resolver(home.find(), asks=Asks.NOBODY)
    resolved = resolver.resolve(Request(spec, date(2025, 1, 1)))
    assert make(resolved, "c1").minutes > spec.trial_count


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("ERROR 1862 (HY000): Your password has expired. To log in you must", "has expired"),
        ("ERROR 3118 (HY000): Access denied for user. Account is locked.", "is locked"),
        ("ERROR 1290 (HY000) at line 1: The MySQL server is running with the", "is read-only"),
    ],
)
def test_what_mysql_refuses_is_said_in_plain_words(printed: str, said: str) -> None:
    """As MySQL 9.7.4 answers to an account that somebody forgot, and on a replica."""
    assert refusal(printed).endswith(said)


@pytest.mark.parametrize("number", ["ERROR 1045 (28000)", "ERROR 2013 (HY000)", "error 2013"])
def test_a_plugin_that_the_client_lacks_is_named(number: str) -> None:
    """As MariaDB's client and sysbench print it; it is neither the password nor the network."""
    printed = (
        f"{number}: Plugin tidb_sm3_password could not be loaded: "
        "/usr/lib/x86_64-linux-gnu/libmariadb3/plugin/tidb_sm3_password.so: cannot open"
    )
    assert refusal(printed).startswith("the account logs in by tidb_sm3_password, and MariaDB's")


def test_a_password_that_needs_tls_says_so() -> None:
    """TiDB has no RSA key for `caching_sha2_password`; as the client and sysbench print it."""
    for number in ("ERROR 2061 (HY000)", "FATAL: error 2061"):
        said = refusal(f"{number}: Couldn't read RSA public key from server")
        assert "caching_sha2_password" in said
        assert "over an encrypted connection only: set extra.ssl_mode" in said


def test_an_unknown_refusal_is_said_without_the_librarys_text() -> None:
    """Its number is enough to look it up."""
    assert refusal("ERROR 1040 (HY000): Too many") == "the server answers with error 1040"
    assert refusal("") == "it does not answer"


@pytest.mark.parametrize("target", [existing.Target, local.Target])
def test_a_dead_campaign_keeps_the_login_that_its_schema_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: type[OnThisMachine]
) -> None:
    """Another campaign takes the machine and removes its data; it can still be given back."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(tmp_path / "machine.lock"))
    here, spec = Home(tmp_path, tmp_path), plans.spec()
    side = here.campaign("dead") / "baseline"
    (side / "data").mkdir(parents=True)
    note, *login = side / SCHEMA_FILE, side / "client.cnf", side.parent / "ca-baseline.pem"
    for file in (note, *login):
        file.touch()
    MachineLock().acquire("dead", "a test", here.root, None, lease_s=-1.0)
    displaced = target(here, "next", plans.plan(spec), spec, Access()).acquire("a test")
    assert displaced is not None
    assert not (side / "data").exists()
    assert all(file.exists() for file in login)
    note.unlink()
    remove_data(here, "dead")
    assert not any(file.exists() for file in login)


def test_every_missing_connection_is_named_before_anything_is_stored(here: Here) -> None:
    """As only a person can say where the clusters of a published plan are; a plan says it too."""
    spec = report_types.load(report_types.find_report(here.home, "sysbench_v21_vs_v20"))
    with Store(here.home.store_url, here.home.objects) as store:
        with pytest.raises(SpecError) as error:
            campaigns.begin(here.home, store, spec, "c1")
        assert not store.campaign_ids()
    first, second = str(error.value).splitlines()
    assert first.startswith("connection tidb_v20: there is none. On the command line set AIRFLOW_C")
    assert second.startswith("connection tidb_v21: there is none.")
    assert "cannot be run: connection tidb_v20" in here.run("plan", "sysbench_v21_vs_v20").stdout


@pytest.mark.parametrize(
    ("engine", "why"),
    [("tidb", "TiDB does not show this account"), ("mariadb", "on MariaDB and MySQL")],
)
def test_a_report_says_what_cannot_be_known_of_servers_that_exist(engine: str, why: str) -> None:
    """Whether others worked there; and it advises no deployments, but what can be done."""
    made = campaigns.campaign(shipped(**two_sides(), engine=engine))
    unseen = (GateResult("background_work", "not evaluated", None, "no analyze ran"),)
    results = [
        dataclasses.replace(result, gates=unseen)
        for result in campaigns.results_of(made.plan, campaigns.known_change({}, 0.002))
    ]
    report = model.build(made, compare(made.plan, results, 2.0), results)
    for text in (pages.markdown(report), pages.html(report)):
        assert f"background_work was never evaluated: {why}" in text
        assumed = "because the variation between servers is assumed, not measured"
        assert f"more rounds would not help, {assumed}" in text
        assert "neither several deployments nor A/A campaigns can replace the assumption" in text
        assert "deployments of each side" not in text


def test_why_mysql_is_measured_as_mariadb_is_said_in_every_language_of_a_report() -> None:
    """Each part of the reason, and not the first one only."""
    spec = shipped(engine="mariadb")
    _, why = Resolver(home.find()).engine(spec)
    made = dataclasses.replace(campaigns.campaign(), engine_reason=why)
    report = model.build(made, compare(made.plan, [], 2.0), [], language=load("zh"))
    said = "".join(method.notes(report))
    assert "由所连接的服务器得知；MySQL 按 mariadb 测量" in said
    assert "its servers say so" not in said
