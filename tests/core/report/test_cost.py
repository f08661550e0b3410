"""What a million transactions cost: hand-computed prices, and where there is none."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.language import load
from benchlab.plan import plan as planning
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.pricing import PriceList
from benchlab.plan.topology import CloudTopology
from benchlab.report import bundle, evidence
from benchlab.report.formats import terminal
from benchlab.report.model import cost
from benchlab.report.model import report as model
from benchlab.report.model.cost import Priced
from benchlab.report.validation import run, tables
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.store import Store
from benchlab.site import campaign as site_campaign
from benchlab.site.page import Site, render
from tests.builders import campaigns, plans
from tests.builders.evidence import (
    ID,
    SPEC,
    as_json,
    bundle_of,
    files_of,
    forged,
    keep,
    measured,
)
from tests.builders.installation import ROOT
from tests.core.report import test_one_version

Case = tuple[Campaign, Comparison, list[TrialResult]]
# Three PDs, TiKVs and TiDBs; the client at 1.53 and 500 GiB of volumes are not in it.
HOURLY = 3 * 0.192 + 3 * 1.248 + 3 * 0.68
T_2 = 4.302652729911275  # Student's, 97.5 %, two degrees of freedom
HEADING = "Dollars per million transactions"


def case_of(tps: Callable[[PlannedTrial], float | None], **fields: Any) -> Case:
    """A campaign on the published fleet, with one deployment unless there are more."""
    own = {"workloads": ["oltp_read_write"], "rounds": 3, "deployments": 1, **fields}
    made = campaigns.fleet_campaign(placement="interleaved", **own)
    results = campaigns.results_of(made.plan, tps)
    return made, compare(made.plan, results, 2.0), results


def scattered(trial: PlannedTrial) -> float:
    """1000, 1100, 1210 at 150 threads, half of it at 600; the candidate does twice as much."""
    value = 1000 * 1.1 ** (trial.round - 1) * (2 if trial.side == "candidate" else 1)
    return value if trial.threads == 150 else value / 2


def priced(case: Case) -> Priced:
    """Its only workload."""
    (found,) = cost.of_campaign(*case[:2])
    return found


def within(tps: float, times: float) -> tuple[float, ...]:
    """A price whose interval reaches so many times as far down and up."""
    return usd(tps), usd(tps) / times, usd(tps) * times


def usd(tps: float) -> float:
    """Of a million transactions, by hand."""
    return HOURLY / (tps * 3600) * 1e6


def test_a_price_is_the_servers_hosts_over_throughput() -> None:
    """6.36 dollars an hour over 1,100 TPS is 1.606 a million; the interval is of three rounds."""
    found = priced(case_of(scattered))
    half = math.exp(T_2 * math.log(1.1) / math.sqrt(3))
    assert (found.name, found.threads, found.at_most) == ("oltp_read_write", 150, False)
    assert usd(1100) == pytest.approx(1.60606, abs=1e-5)
    assert dataclasses.astuple(found.prices["baseline"]) == pytest.approx(within(1100, half))
    assert found.prices["candidate"].usd == pytest.approx(usd(2200))
    assert found.change_pct == pytest.approx(-50)


def test_of_several_deployments_the_interval_is_of_their_means() -> None:
    """Six rounds in three deployments are three values; two deployments leave one degree."""

    def tps(trial: PlannedTrial) -> float:
        return 1000 * 1.1 ** ((trial.round - 1) // 2)

    half = math.exp(T_2 * math.log(1.1) / math.sqrt(3))
    own = priced(case_of(tps, rounds=6, deployments=3, threads=[150])).prices["baseline"]
    assert dataclasses.astuple(own) == pytest.approx(within(1100, half))


def test_fewer_than_three_rounds_have_a_price_and_no_interval() -> None:
    """Nothing is said about how it scatters."""
    case = case_of(scattered, rounds=2)
    own = priced(case).prices["baseline"]
    assert own.usd == pytest.approx(usd(1000 * 1.1**0.5))
    assert (own.low, own.high) == (None, None)
    (row,) = cost.rows(model.build(*case))
    assert row == ["Read Write", "150", "1.68", "n/a", "0.842", "n/a", "-50.00%"]


def test_both_versions_are_compared_at_one_saturated_thread_count() -> None:
    """Where their throughputs add up to most, though the candidate does more elsewhere."""

    def tps(trial: PlannedTrial) -> float:
        return {150: 1000.0, 600: 3000.0, 900: 2000.0}[trial.threads] * (
            1.2 if (trial.side, trial.threads) == ("candidate", 900) else 1
        )

    case = case_of(tps, threads=[150, 600, 900])
    assert (priced(case).threads, priced(case).at_most) == (600, False)
    assert not any("At most" in said for said in cost.sentences(model.build(*case)))


def test_the_most_threads_measured_are_said_to_be_at_most() -> None:
    """More of them may give a lower price."""
    case = case_of(lambda trial: float(trial.threads))
    assert priced(case).at_most
    assert (
        "At most these prices: Read Write. Throughput was highest at the largest thread count "
        "measured; more threads may lower the price."
    ) in cost.sentences(model.build(*case))


def test_a_thread_count_without_a_side_is_not_compared_and_a_workload_without_any_is_missing() -> (
    None
):
    """Neither of them is zero."""

    def lost(trial: PlannedTrial) -> float | None:
        return None if (trial.side, trial.threads) == ("candidate", 150) else scattered(trial)

    assert (priced(case_of(lost)).threads, priced(case_of(lost)).at_most) == (600, True)

    def all_lost(trial: PlannedTrial) -> float | None:
        gone = trial.workload == "oltp_insert" and trial.side == "candidate"
        return None if gone else scattered(trial)

    case = case_of(all_lost, workloads=["oltp_insert", "oltp_read_write"])
    assert priced(case).name == "oltp_read_write"
    assert [row[0] for row in cost.rows(model.build(*case))] == ["Read Write"]
    assert found_in(case) == set()


def test_of_one_version_there_is_its_own_price() -> None:
    """No second side, and no change."""
    case = test_one_version.case("fleet")
    report, found = model.build(*case), cost.of_campaign(*case[:2])
    assert all(set(one.prices) == {"baseline"} and one.change_pct is None for one in found)
    assert cost.columns(report) == ["Workload", "Threads", "v5.1.1", "95% interval"]
    assert not any("version" in said or "change" in said for said in cost.sentences(report))


def test_tpmc_counts_new_orders() -> None:
    """A minute's, not a second's; and the table says so."""
    made = campaigns.tpcc_campaign(threads=[400])
    results = [campaigns.tpcc_result(one, 60_000.0) for one in made.plan.trials]
    case = made, compare(made.plan, results, 2.0), results
    assert priced(case).prices["baseline"].usd == pytest.approx(HOURLY / 3.6)
    page = bundle.make(*case)["report.md"].decode()
    assert "## Dollars per million New Orders" in page


def unpriced() -> dict[str, Case]:
    """Campaigns of which no price is known."""
    local = campaigns.campaign()
    results = campaigns.results_of(local.plan)
    made, comparison, of_fleet = case_of(scattered)
    rented = made.environment["tikv_hosts"].replace("i3.4xlarge", "i4i.4xlarge")
    elsewhere = dataclasses.replace(
        made, environment={**made.environment, "tikv_hosts": rented, "zone": "us-west-2a"}
    )
    region = dataclasses.replace(made, environment={**made.environment, "zone": "us-east-1a"})
    raw = made.plan.to_json()
    del raw["serving_usd_per_hour"]
    before = dataclasses.replace(made, plan=Plan.from_json(raw))
    return {
        "this machine": (local, compare(local.plan, results, 2.0), results),
        "another type was rented than the plan has a price of": (elsewhere, comparison, of_fleet),
        "another region": (region, comparison, of_fleet),
        "a plan made before there were such prices": (before, comparison, of_fleet),
        "nothing measured": (made, compare(made.plan, [], 2.0), []),
    }


@pytest.mark.parametrize("why", list(unpriced()))
def test_without_a_price_nothing_is_shown(why: str) -> None:
    """No table, no sentence, no key, and no zero; the report is valid."""
    case = unpriced()[why]
    made = bundle.make(*case, languages=("en", "zh"))
    assert cost.of_campaign(*case[:2]) == []
    for name in ("report.md", "report.html", "zh/report.md", "report.json"):
        text = made[name].decode()
        assert HEADING not in text
        assert "usd_per_million" not in text
    assert HEADING not in terminal.render(model.build(*case), 120, colour=False)


def test_another_type_of_the_client_changes_no_price() -> None:
    """Its host is not in it."""
    made, comparison, results = case_of(scattered)
    rented = made.environment["client_hosts"].replace("c5.9xlarge", "c6i.8xlarge")
    other = dataclasses.replace(made, environment={**made.environment, "client_hosts": rented})
    assert rented != made.environment["client_hosts"]
    assert cost.of_campaign(other, comparison) == cost.of_campaign(made, comparison)
    assert results


def test_a_host_type_without_a_price_is_refused_when_it_is_planned() -> None:
    """No plan has a price that leaves it out."""
    known = plans.prices()
    fewer = {key: price for key, price in known.prices.items() if key[0] != "i3.4xlarge"}
    resolved = plans.resolved(
        plans.fleet_spec(),
        "tidb",
        topology=plans.ec2_topology(),
        prices=PriceList(known.path, fewer),
    )
    with pytest.raises(SpecError, match=r"i3\.4xlarge"):
        planning.make(resolved, "c1")


@pytest.mark.parametrize("client", ["here", "rented"])
@pytest.mark.parametrize("price", [5.0, None])
def test_a_cluster_of_tidb_cloud_costs_what_its_topology_says(
    client: str, price: float | None
) -> None:
    """Its client's host is not in it, and where the topology has no price there is none."""
    beside = {
        "instance_type": "c5.9xlarge", "image": {"id": "ami-0123456789abcdef0"}, "user": "admin",
        "ssh_from": "172.31.0.0/16", "ssh_by": "private",
    }  # fmt: skip
    cluster = CloudTopology.model_validate(
        {
            "kind": "tidb_cloud", "provider": "aws", "region": "us-west-2", "endpoint": "peering",
            "tidb": {"size": "8C16G", "count": 2},
            "tikv": {"size": "8C32G", "count": 3, "storage_gib": 500},
            "client": "here" if client == "here" else beside,
            "usd_per_hour": price, "priced_on": price and date(2026, 1, 31),
        }
    )  # fmt: skip
    spec = plans.fleet_spec(
        target="tidb_cloud", topology="tidb_cloud_first", sides="single", deployments=1,
        placement="sequential", restore="never", workloads=["oltp_point_select"],
        engines={"tidb": {"baseline": {"version": "v8.5.3"}}},
    )  # fmt: skip
    resolved = plans.resolved(spec, "tidb", topology=cluster, prices=plans.prices())
    made = campaigns.campaign(spec, plan_=planning.make(resolved, "c1"))
    assert made.plan.serving_usd_per_hour == price
    results = campaigns.results_of(made.plan)
    case = made, compare(made.plan, results, 2.0), results
    assert [one.prices["baseline"].usd for one in cost.of_campaign(*case[:2])] == (
        [pytest.approx(5 / 3.6)] if price else []
    )
    if price:
        assert cost.sentences(model.build(*case))[0].startswith(
            "The servers' hosts cost $5.00 an hour (list prices of "
        )


def test_a_price_is_no_other_measurement() -> None:
    """A campaign is resumed, though prices have changed; and the plan comes back from its JSON."""
    made = campaigns.fleet_campaign().plan
    assert made.serving_usd_per_hour == pytest.approx(HOURLY)
    assert Plan.from_json(made.to_json()).serving_usd_per_hour == made.serving_usd_per_hour
    assert made.measures_as(dataclasses.replace(made, serving_usd_per_hour=9.0))
    assert "serving_usd_per_hour" not in campaigns.campaign().plan.to_json()


# ---------------------------------------------------------------- where it is shown


def test_pages_json_and_terminal_have_one_table() -> None:
    """The same figures everywhere, with what is in them and the day of the prices."""
    case = case_of(scattered)
    made, report = bundle.make(*case, languages=("en", "zh")), model.build(*case)
    table = ["Read Write", "150", "1.61", "1.27 to 2.04", "0.803", "0.634 to 1.02", "-50.00%"]
    assert cost.rows(report) == [table]
    page = made["report.md"].decode()
    assert f"## {HEADING}" in page
    assert f"| {' | '.join(table)} |" in page
    about = cost.sentences(report)[0]
    assert about.startswith("The servers' hosts cost $6.36 an hour (list prices of 2024-01-01)")
    html, shown = made["report.html"].decode(), terminal.render(report, 120, colour=False)
    for text in (f"{HEADING}</h2>", "1.27 to 2.04", "0.803"):
        assert text in html
    for text in (HEADING, "1.27 to 2.04", "0.803", "list prices of 2024-01-01"):
        assert text in " ".join(shown.split())
    document = json.loads(made["report.json"])["usd_per_million"]
    assert (document["usd_per_hour"], document["prices_as_of"]) == (6.36, "2024-01-01")
    (found,) = document["workloads"]
    assert (found["name"], found["threads"], found["at_most"]) == ("oltp_read_write", 150, False)
    assert found["prices"]["baseline"]["usd"] == pytest.approx(usd(1100))
    assert found["prices"]["baseline"]["low"] == pytest.approx(1.2675, abs=1e-4)
    assert found["change_pct"] == pytest.approx(-50)


def test_in_chinese() -> None:
    """Heading, interval and sentences; no word of English but names."""
    case = case_of(lambda trial: scattered(trial) * trial.threads)
    report = model.build(*case, language=load("zh"))
    page = bundle.make(*case, languages=("zh",))["report.md"].decode()
    assert "## 每百万个事务的费用（美元）" in page
    assert " 至 " in cost.rows(report)[0][3]
    about, at_most = cost.sentences(report)
    assert "每小时共 $6.36" in about
    assert "2024-01-01" in about
    assert "最高" in at_most
    single = model.build(*test_one_version.case("fleet"), language=load("zh"))
    assert "版本" not in "".join(cost.sentences(single))


def test_the_campaign_s_page_has_the_table(tmp_path: Path) -> None:
    """Beside its results, in both languages."""
    made, _, results = case_of(scattered)
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        store.add_campaign(made)
        for result in results:
            store.add_trial(made.id, result)
        site = partial(Site, Home(ROOT, tmp_path), store, now=datetime(2024, 2, 1, tzinfo=UTC))
        for code, heading in (("en", HEADING), ("zh", "每百万个事务的费用（美元）")):
            here = site(language=load(code))
            page = render(here, site_campaign.campaign(here, made.id))
            assert page.index(heading) < page.index("0.803")


# ---------------------------------------------------------------- a wrong figure is found


def first(document: Any) -> Any:
    """What the file says of the workload."""
    return document["usd_per_million"]["workloads"][0]


FAULTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "usd": (lambda found: first(found)["prices"]["baseline"].update(usd=1.7), "baseline_usd"),
    "sides": (
        lambda found: first(found)["prices"].update(
            baseline=first(found)["prices"]["candidate"],
            candidate=first(found)["prices"]["baseline"],
        ),
        "candidate_usd",
    ),
    "interval": (
        lambda found: first(found)["prices"]["candidate"].update(low=0.8),
        "candidate_low",
    ),
    "no interval": (
        lambda found: first(found)["prices"]["candidate"].update(high=None),
        "candidate_high",
    ),
    "threads": (lambda found: first(found).update(threads=600), "threads"),
    "at most": (lambda found: first(found).update(at_most=True), "at_most"),
    "sign": (lambda found: first(found).update(change_pct=50.0), "change_pct"),
    "hour": (lambda found: found["usd_per_million"].update(usd_per_hour=7.89), "usd_per_hour"),
    "day": (lambda found: found["usd_per_million"].update(prices_as_of="2023-01-01"), "as_of"),
    "none": (lambda found: found.pop("usd_per_million"), "usd_per_hour"),
    "no workload": (lambda found: found["usd_per_million"]["workloads"].clear(), "baseline_usd"),
}


def found_in(case: Case, fault: Callable[[Any], None] = lambda document: None) -> set[str]:
    """The columns of prices that do not hold where there is a fault in the document."""
    made, outcome, results = case
    files = bundle.figures(made, outcome, results)
    document = json.loads(files["report.json"])
    fault(document)
    files["report.json"] = json.dumps(document).encode()
    checked = run.check(tables.of_report(model.build(made, outcome, results), files))
    return {one.column for one in checked.failures if one.table == "prices"}


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_wrong_price_is_found(name: str) -> None:
    """Whatever of it is wrong in the file, by its column."""
    fault, column = FAULTS[name]
    assert any(column in one for one in found_in(case_of(scattered), fault))


@pytest.mark.parametrize("fields", [{}, {"rounds": 2}, {"rounds": 6, "deployments": 3}])
def test_nothing_is_found_in_sound_prices(fields: dict[str, Any]) -> None:
    """With intervals and without, of rounds and of deployments."""
    assert found_in(case_of(scattered, **fields)) == set()
    assert found_in(test_one_version.case("fleet")) == set()


@pytest.mark.parametrize("why", list(unpriced()))
def test_a_price_that_nobody_knows_is_found(why: str) -> None:
    """A report that has prices without a plan's is wrong."""
    document = bundle.figures(*case_of(scattered))["report.json"]
    planted = json.loads(document)["usd_per_million"]
    assert found_in(unpriced()[why]) == set()
    assert found_in(unpriced()[why], lambda found: found.update(usd_per_million=planted))


def test_verifying_evidence_recomputes_it(tmp_path: Path) -> None:
    """From the raw outputs; a changed price is named with its place, as the only difference."""
    made = campaigns.fleet_campaign(id=ID, placement="interleaved", deployments=1, **SPEC)
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        store.add_campaign(made)
        for planned in made.plan.trials:
            keep(store, ID, measured(made, planned))
        content = bundle_of(store)
    document = json.loads(files_of(content)["report/report.json"])
    first(document)["prices"]["baseline"]["usd"] += 0.01
    changes = {"report/report.json": as_json(document)}
    path, found = tmp_path / "evidence.zip", []
    for written in (content, forged(content, changes)):
        path.write_bytes(written)
        differences = evidence.verify(path).differences
        found.append([(one.file, one.where) for one in differences])
    place = "usd_per_million.workloads[oltp_read_write].prices.baseline.usd"
    assert found == [[], [("report/report.json", place)]]
