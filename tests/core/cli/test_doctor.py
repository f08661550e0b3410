"""What `benchlab doctor` reports on report types, accounts, notifiers and the calendar."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from benchlab.cli import doctor
from benchlab.cli.doctor import Check
from benchlab.hosts import metrics, steadiness
from tests.builders.installation import Here

TODAY = datetime.now(UTC).date()
OLD = "v6.4.0,2022-11-17,DMR\nv6.5.0,2022-12-29,LTS\n"


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A calm machine without AWS credentials, even if the developer has some."""
    monkeypatch.setattr(metrics, "other_work", lambda executors: dict.fromkeys(executors, 0.03))
    monkeypatch.setattr(steadiness, "variation", lambda: 0.01)
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_PROFILE",
        "AWS_DEFAULT_PROFILE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def said(here: Here, what: str) -> Check:
    """The detail of the one check of this name."""
    (found,) = [check for check in doctor.examine(here.home) if check.what == what]
    return found


def test_a_machine_that_computes_unevenly_is_named(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its intervals will be wide, whatever the plan; that is no reason against a campaign."""
    assert said(here, "cpu steadiness").good
    monkeypatch.setattr(steadiness, "variation", lambda: 0.082)
    found = said(here, "cpu steadiness")
    assert (found.good, found.blocks) == (False, False)
    assert found.detail.startswith("what its cores compute in half a second varied by 8.2%, though")
    monkeypatch.setattr(metrics, "other_work", lambda executors: dict.fromkeys(executors, 0.5))
    names = [check.what for check in doctor.examine(here.home)]
    assert "cpu" in names
    assert "cpu steadiness" not in names, "what else is at work would be taken for it"


def decide(here: Here) -> None:
    """Decide what the topologies of these tests leave open."""
    key = (
        "host_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlbv0QUGMJSz0nYHlDJ8cWJ7gMFEnmiqXWmDwFCWKzS"
    )
    path = here.home.configs / "topologies" / "hosts_published.yaml"
    path.write_text(path.read_text().replace(", roles:", f", {key}, roles:"))


def test_a_report_type_that_a_run_would_refuse_is_reported(here: Here) -> None:
    """What is undecided is named; local report types can run nevertheless."""
    found = said(here, "report type sysbench_hosts")
    assert (found.good, found.blocks) == (False, False)
    assert found.detail.startswith(
        "cannot run yet: topology hosts_published: no host_key for host-1"
    )
    decide(here)
    found = said(here, "report type sysbench_ec2")
    assert found.good
    assert (
        found.detail == "is complete, with tidb; a campaign looks at what it rents when it begins"
    )
    assert "looks at its hosts when" in said(here, "report type sysbench_hosts").detail
    assert said(here, "report type sysbench_local").detail == "can run, with mariadb"


def test_a_report_type_of_servers_that_nobody_named_blocks_nothing(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is shipped it has no Connection; local campaigns can run, and doctor ends with 0."""
    monkeypatch.delenv("AIRFLOW_CONN_BENCHLAB_CLUSTER", raising=False)
    found = said(here, "report type sysbench_existing")
    assert (found.good, found.blocks) == (False, False)
    assert found.detail.startswith("cannot run yet: connection benchlab_cluster: there is none.")
    assert [check.what for check in doctor.examine(here.home) if check.blocks] == []


def test_the_client_of_tpcc_is_named_with_why_it_is_not_tiup_s(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TiUP without its component `bench` is no client; doctor and plan say which is used."""
    for name, script in (
        ("tiup", '[ "$*" = list ]'),
        ("go-tpc", "echo Release version: v1.0.12"),
    ):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("TIUP_HOME", str(tmp_path))
    chosen = "go-tpc v1.0.12; no tiup (neither it nor its mirror has the component bench)"
    found = said(here, "tpcc_local: client")
    assert (found.good, found.detail) == (True, chosen)
    asked = ("plan", "tpcc_local", "--set", "engine=mariadb")
    programs = {name: os.environ[name] for name in ("PATH", "TIUP_HOME")}
    assert f"client: {chosen}" in here.run(*asked, **programs).stdout
    (tmp_path / "bin" / "tiup").write_text("#!/bin/sh\nexit 1\n")
    found = said(here, "tpcc_local: client")
    assert (found.good, found.blocks) == (False, False)
    assert found.detail.startswith("client.program: tiup is on ")
    assert "cannot be run: client.program: tiup is on " in here.run(*asked, **programs).stdout


def test_this_machine_is_not_checked_for_a_fleet_s_servers(here: Here) -> None:
    """The fleet's hosts fetch them."""
    servers = [check.what for check in doctor.examine(here.home) if ": tidb v" in check.what]
    assert {what.split(":")[0] for what in servers} == {
        *("sysbench_local", "sysbench_local_single", "tpcc_local")
    }


def test_a_missing_server_would_be_fetched(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is here is reported as installed."""
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")
    found = said(here, "sysbench_local_releases: mariadb 11.4.5")
    assert found.detail == "would be fetched from Maven Central"
    found = said(here, "sysbench_local_releases: mariadb 10.11.5")
    assert found.detail.startswith("installed in ")


def test_credentials_are_checked_if_hosts_are_rented(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A note says whether they are there, missing or misnamed; AWS is not called."""
    found = said(here, "aws")
    assert (found.good, found.blocks) == (False, False)
    assert "finds no credentials" in found.detail
    assert (
        "sysbench_ec2, sysbench_ec2_first, sysbench_ec2_watch, sysbench_ec2_weekly, tpcc_ec2 "
        "cannot be run" in found.detail
    )
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("somebody is called"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    found = said(here, "aws")
    assert (found.good, found.detail) == (
        True,
        "boto3 finds credentials (env); AWS itself was not asked",
    )
    monkeypatch.setenv("AWS_PROFILE", "nosuch")
    found = said(here, "aws")
    assert (found.good, found.blocks) == (False, False)
    assert "nosuch" in found.detail


def test_credentials_are_not_checked_if_nothing_is_rented(here: Here) -> None:
    """They are not mentioned."""
    for path in (here.home.configs / "reports").glob("*_ec2*.yaml"):
        path.unlink()
    assert "aws" not in {check.what for check in doctor.examine(here.home)}


def test_notifiers_are_counted_and_checked(here: Here) -> None:
    """Before there is anything to report; `validate` also checks the file."""
    path = here.home.configs / "notifications.yaml"
    assert said(here, "notifiers").detail == f"0 in {path}: nobody is notified of anything"
    mail = "{name: mail, notifier: a.Mail, arguments: {text: '{text}'}"
    path.write_text(f"notifiers: [{mail}}}]\n")
    assert said(here, "notifiers").detail == f"1 in {path}: mail"
    assert f"{path}: good" in here.run("validate", path).stdout
    path.write_text(f"notifiers: [{mail}, reports: [nosuch]}}]\n")
    found = said(here, "notifiers")
    assert (found.good, found.blocks) == (False, False)
    assert "notifiers.0.reports: unknown: nosuch" in found.detail
    assert "notifiers.0.reports: unknown: nosuch" in here.refused("validate", path)
    path.unlink()
    assert str(path) in here.refused("validate", path)


@pytest.mark.parametrize(
    ("version", "day", "recent"),
    [
        ("v6.5.1,{},patch", TODAY, True),
        ("v6.5.1,{},patch", TODAY - timedelta(weeks=27), False),
        # No report type compares it.
        ("v9.0.0-rc.1,{},pre-release", TODAY, False),
    ],
)
def test_an_outdated_calendar_is_reported(
    here: Here, version: str, day: date, recent: bool
) -> None:
    """With the report types whose schedules depend on it; it blocks nothing."""
    path = here.home.configs / "releases.csv"
    path.write_text(f"version,release_date,type\n{OLD}{version.format(day)}\n")
    found = said(here, "release calendar: tidb")
    assert found.good is recent
    assert not found.blocks
    # Without a version after its anchor there is nothing to watch.
    watched = ", sysbench_ec2_watch, sysbench_ec2_weekly" * ("pre-release" not in version)
    missed = f"so sysbench_ec2{watched} may miss new ones"
    assert recent or missed in found.detail
    assert (f", {(TODAY - day).days} days ago" in found.detail) == ("pre-release" not in version)
    assert "`benchlab releases update --from tiup` adds new ones" in found.detail


@pytest.mark.parametrize(("days", "recent"), [(90, True), (91, False)])
def test_the_age_of_prices_is_reported(here: Here, days: int, recent: bool) -> None:
    """If a report type rents hosts; it blocks nothing."""
    day = TODAY - timedelta(days=days)
    path = here.home.prices
    path.write_text(path.read_text().replace("2025-01-15", day.isoformat()))
    found = said(here, "prices")
    assert (found.good, found.blocks) == (recent, False)
    assert f"the oldest of {day} ({days} days ago); `benchlab prices update`" in found.detail


@pytest.mark.parametrize(
    ("busy", "good", "part"),
    [(0.03, True, "3%"), (0.98, False, "98%"), (None, False, "does not report")],
)
def test_a_machine_that_is_busy_with_something_else_is_reported(
    here: Here, monkeypatch: pytest.MonkeyPatch, busy: float | None, good: bool, part: str
) -> None:
    """It keeps no campaign from running, and is worth knowing before one is."""
    monkeypatch.setattr(metrics, "other_work", lambda executors: dict.fromkeys(executors, busy))
    found = said(here, "cpu")
    assert (found.good, found.blocks) == (good, False)
    assert part in found.detail
