"""What is refused when a campaign is planned, before anything is stored, taken or rented."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from benchlab import engines
from benchlab.campaign import planning, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.campaign.stages import CampaignRun
from benchlab.errors import SpecError, UnavailableError
from benchlab.home import find
from benchlab.language import message
from benchlab.plan.plan import Plan, make, mean_quiet_minutes
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.plan.steps import Basis, DatasetState
from benchlab.results.store import open_store
from tests.builders import installation, plans


def report(name: str, **changes: Any) -> ReportSpec:
    """A report type of this installation, with other values."""
    return report_types.load(report_types.find_report(find(), name)).with_overrides(changes)


def test_a_version_that_does_not_exist_is_refused_before_anything_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its side; a release of the calendar is not asked for, and so needs no network."""
    asked = []

    def nobody_has(version: str, servers: Path) -> str:
        asked.append(version)
        return f"there is no {version}"

    monkeypatch.setattr(engines.by_name()["mariadb"], "not_published", nobody_has)
    here = installation.Here(tmp_path).home
    wanted = {"engine": "mariadb", "engines.mariadb.candidate.version": "99.9.9"}
    with open_store(here) as store:
        with pytest.raises(SpecError) as caught:
            CampaignRun.create(
                here,
                store,
                plans.to_run(here, store, report("sysbench_local", **wanted)),
                "c1",
                "a test",
            )
        assert store.campaign_ids() == []
    assert asked == ["99.9.9"]
    assert str(caught.value).startswith("candidate: 99.9.9: there is no 99.9.9; the newest in the")


def test_a_version_that_could_not_be_asked_for_is_planned_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a network nobody knows: neither refused nor taken for checked."""

    def nobody_answers(version: str, servers: Path) -> str:
        raise UnavailableError(message("maven-silent"))

    monkeypatch.setattr(engines.by_name()["mariadb"], "not_published", nobody_answers)
    spec = report("sysbench_local", **{"engines.mariadb.candidate.version": "10.11.99"})
    resolved = Resolver(find(), asks=Asks.MIRRORS).resolve(Request(spec, date(2026, 1, 1)))
    (note,) = resolved.basis.notes
    said = "candidate: could not check whether version 10.11.99 exists: Maven Central does"
    assert str(note).startswith(said)
    assert note in make(resolved, "c1").warnings


def test_what_a_topology_leaves_open_is_known_when_it_is_planned() -> None:
    """Host keys of owned hosts; rented ones and this machine need nothing."""
    (owned,) = planning.undecided(find(), report("sysbench_hosts"))
    assert str(owned).startswith("topology hosts_published: no host_key for host-1")
    for name in ("sysbench_ec2", "sysbench_ec2_first", "sysbench_local"):
        assert planning.undecided(find(), report(name)) == []


@pytest.mark.parametrize("path", report_types.report_files(find()), ids=lambda path: path.stem)
def test_every_report_type_has_an_estimate_and_nobody_is_asked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A nightly and what was measured included; its price where hosts are rented."""
    monkeypatch.setenv("PATH", "/nowhere")
    spec = report_types.load(path)
    plan = make(Resolver(find(), asks=Asks.NOBODY).resolve(Request(spec, date(2026, 1, 1))), "c1")
    assert plan.minutes > 0
    assert (plan.dollars is not None) == (spec.target == "ec2")


def test_the_weekly_report_type_is_as_cheap_as_it_says() -> None:
    """With a dataset snapshot, and without: its limit then pays for a new anchor as well."""

    def planned(dataset: DatasetState | None, **changes: Any) -> tuple[Plan, float]:
        resolver = Resolver(find(), asks=Asks.NOBODY)
        request = Request(report("sysbench_ec2_weekly", **changes), date(2026, 1, 1))
        made = make(resolver.complete(resolver.versions(request), Basis(dataset)), "c1")
        return made, made.usd_per_minute or 0.0

    kept, price = planned("kept", snapshots="s3://bucket/prefix")
    assert kept.minutes <= 2.2 * 60
    assert kept.minutes * price <= 17
    assert mean_quiet_minutes(kept) * price <= 19
    assert kept.most_minutes * price <= 48
    loaded, price = planned(None)
    bridge, _ = planned(None, design="fixed")
    assert loaded.most_minutes * price == pytest.approx(bridge.dollars, abs=0.1)


def test_what_is_read_for_a_plan_makes_no_build(tmp_path: Path) -> None:
    """`doctor`, `plan` and a form ask before a person has decided: only a campaign makes builds."""
    here, made = installation.Here(tmp_path).home, tmp_path / "made"
    build = {"command": ["touch", str(made), "{output}"], "commit": "0123456789abcdef" + "0" * 24}
    side = {"version": "v8.5.7", "builds": {"tidb": build}}
    spec = plans.spec(engine="tidb", engines={"tidb": {"baseline": side}}, sides="single")
    resolved = Resolver(here).resolve(Request(spec, date(2026, 1, 1)))
    assert make(resolved, "c1").trials
    assert not made.exists()
