"""`benchlab plan` shows what will happen and what it costs, before anything is started."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchlab.campaign import planning, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.cli import dry_run
from benchlab.cli.dry_run import Command
from benchlab.cli.main import app
from benchlab.cli.plan import REFUSED
from benchlab.errors import SpecError, TargetError
from benchlab.home import Home, find
from benchlab.plan import pricing
from benchlab.plan.fields.client import Client
from benchlab.plan.plan import Plan
from benchlab.plan.resolved import Request
from benchlab.plan.steps import CONFIGURE_S
from benchlab.plan.topology import Ec2Topology
from benchlab.plan.topology import load as load_topology
from benchlab.report.formats import plan_text
from benchlab.report.formats.plan_text import duration
from benchlab.targets.dataset_snapshots import KeptDatasets
from benchlab.targets.ec2.rental_file import SPARE_MINUTES
from tests.builders import plans
from tests.builders.installation import Here

HOME = find()
ROOT = Path(__file__).parents[3]


def plan(*arguments: str) -> str:
    """What `benchlab plan` prints."""
    done = CliRunner().invoke(app, ["plan", *arguments], catch_exceptions=False)
    assert done.exit_code in (0, REFUSED), done.output
    return done.stdout


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The datasets of all fleets are on S3."""
    monkeypatch.setattr(KeptDatasets, "are_kept", lambda datasets: True)


@pytest.mark.usefixtures("kept")
def test_a_fleet_s_plan_shows_steps_hosts_quota_disk_and_dollars() -> None:
    """Everything that a person has to know before approving it."""
    shown = plan("sysbench_ec2", "--set", "snapshots=s3://bucket/prefix")
    for part in (
        "rent 10 hosts in us-west-2",
        "candidate: deploy",
        "from the dataset snapshot, by BR",
        "dataset: it is on S3",
        "3 x tikv (i3.4xlarge)",
        "vCPUs: 144",
        "on each storage host, for data, snapshots, programs and TiKV's reserve (5 GiB; on a disk",
        "at list prices of 20",
        "approval above 20 dollars (a person has to approve it), refused above 60, where it also",
        "repeats: up to 7.7 h and 60.",
        "at worst: 60.00 dollars, the limit, at which it stops measuring",
        "round 6 · ",
        "restore, warm-up, 60 s",
        "estimates",
    ):
        assert part in shown


def test_at_worst_a_plan_costs_all_its_repeats() -> None:
    """Where the limit leaves room for all of them."""
    spec = report_types.load(report_types.find_report(HOME, "sysbench_ec2_first"))
    planned = plans.plan_in(HOME, spec, "tidb", "c1")
    assert planned.dollars is not None
    assert planned.repeat_dollars is not None
    worst = planned.dollars + planned.repeat_dollars
    assert f"at worst: {worst:.2f} dollars, with all blocks" in plan("sysbench_ec2_first")


def test_a_plan_does_not_assume_what_it_could_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without access to S3 the dearer estimate is shown, and why; in the approval as well."""

    def refused(datasets: KeptDatasets) -> bool:
        raise TargetError("snapshots: AccessDenied")

    monkeypatch.setattr(KeptDatasets, "are_kept", refused)
    there = ("--set", "snapshots=s3://bucket/prefix")
    shown = plan("sysbench_ec2", *there)
    assert "keep it as a dataset snapshot, by BR" in shown
    assert "because S3 cannot be asked: snapshots: AccessDenied" in shown
    document = json.loads(plan("sysbench_ec2", "--json", *there))
    assert document["dataset"] == "unknown"
    assert document["seeded_minutes"] < document["minutes"]
    spec = report_types.load(report_types.find_report(HOME, "sysbench_ec2"))
    asked = plan_text.question(spec, Plan.from_json(document), "")
    assert "whether it is on S3 is not known; if it is: " in asked
    assert "AccessDenied" in asked
    monkeypatch.setattr(KeptDatasets, "are_kept", lambda datasets: False)
    assert "dataset: it is not on S3 yet" in plan("sysbench_ec2", *there)


@pytest.mark.parametrize(("days", "is_old"), [(90, False), (91, True)])
def test_old_prices_are_said_to_be_old_beside_the_dollars(
    here: Here, days: int, is_old: bool
) -> None:
    """With the command that asks for today's; also where a person is asked to approve."""
    day = datetime.now(UTC).date() - timedelta(days=days)
    path = here.home.prices
    path.write_text(path.read_text().replace("2025-01-15", day.isoformat()))
    spec = report_types.load(report_types.find_report(here.home, "sysbench_v520_vs_v511"))
    planned = plans.plan_in(here.home, spec, "tidb", "c1")
    old = f", at list prices of {day}, more than 90 days old: `benchlab prices update` asks"
    for shown in (plan_text.render(spec, planned, ""), plan_text.question(spec, planned, "")):
        assert f", at list prices of {day}" in shown
        assert (old in shown) == is_old


def test_what_the_dollars_leave_out_is_said(here: Here) -> None:
    """A dataset that is kept on S3 costs something after the campaign, zones of one fleet nothing.

    160 million rows, each once, at 0.023 dollars a GiB and month.
    """
    spec = report_types.load(report_types.find_report(here.home, "sysbench_v520_vs_v511"))
    assert "all are in one zone" in plan_text.render(
        spec, plans.plan_in(here.home, spec, "tidb", "c1"), ""
    )
    kept = spec.model_copy(update={"snapshots": "s3://bucket/prefix"})
    planned = plans.plan_in(here.home, kept, "tidb", "c1")
    gib = 16 * 10_000_000 * 220 / 2**30
    assert planned.s3_usd_a_month == pytest.approx(gib * 0.023, abs=0.02)
    shown = plan_text.render(kept, planned, "")
    assert f"about {planned.s3_usd_a_month:.2f} dollars a month for each dataset snapshot" in shown
    path = here.home.prices
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("s3,")))
    planned = plans.plan_in(here.home, kept, "tidb", "c1")
    assert "s3_usd_a_month" not in planned.to_json()
    assert "`benchlab prices update` adds its price" in plan_text.render(kept, planned, "")


def test_a_plan_shows_the_dearest_hosts_that_may_be_rented(tmp_path: Path) -> None:
    """Beside the preferred ones; it is what the limits are compared with, here and by a person."""
    shutil.copytree(HOME.configs, tmp_path / "configs")
    file = tmp_path / "configs/topologies/ec2_published.yaml"
    wanted = "tikv: {instance_type: i3.4xlarge, "
    assert wanted in file.read_text()
    other = f"{wanted}or_types: [i4i.4xlarge], "
    file.write_text(file.read_text().replace(wanted, other))
    home = Home(tmp_path, tmp_path / "state")
    spec = report_types.load(report_types.find_report(home, "sysbench_ec2"))
    spec = Resolver(home, asks=Asks.NOBODY).versions(Request(spec, date(2024, 6, 1))).spec
    made = plans.plan_in(home, spec, "tidb", "c1")
    assert made.dollars is not None
    assert made.most_dollars is not None
    dearer = made.minutes / 60 * 3 * (1.373 - 1.248)
    assert made.most_dollars == pytest.approx(made.dollars + dearer, abs=0.02)
    assert made.repeat_dollars is not None
    rich = spec.with_overrides({"budget": {"approve_above": 1000, "limit": 1000}})
    worst = made.most_dollars * (1 + made.repeat_dollars / made.dollars)
    assert f"at worst: {worst:.2f} dollars" in plan_text.render(rich, made, ""), "of the dearest"
    told = plan_text.question(spec, made, "2026-11: 7.00 dollars are spent")
    assert f"about **{made.dollars:.2f} dollars**" in told
    assert "\n- 2026-11: 7.00 dollars are spent\n" in told
    assert f"at most {made.most_dollars:.2f} dollars" in told
    assert Plan.from_json(made.to_json()) == made
    assert "most_dollars" not in plans.plan_in(HOME, spec, "tidb", "c1").to_json()


def test_a_first_run_costs_less_than_two_dollars() -> None:
    """Even if this machine is lost, and the hosts end themselves as late as they do."""
    planned = json.loads(plan("sysbench_ec2_first", "--json"))
    assert planned["dollars"] < 2
    topology = load_topology(HOME.configs / "topologies" / "ec2_first.yaml")
    assert isinstance(topology, Ec2Topology)
    longest = planned["minutes"] + max(planned["minutes"], planned["repeat_minutes"])
    lifetime = longest + SPARE_MINUTES
    left_alone = pricing.load(HOME.configs / "prices.csv").rent(topology).dollars(lifetime)
    assert left_alone < 2
    page = (ROOT / "docs/guide/first-run-aws.md").read_text(encoding="utf-8")
    assert f"dollars: about {planned['dollars']:.2f}" in page
    assert f"that would be {left_alone:.2f} dollars" in page


def test_a_machine_s_plan_says_that_nothing_is_rented() -> None:
    """It does not mention dollars, quota or hosts."""
    shown = plan("sysbench_local", "--set", "engine=mariadb")
    assert "nothing is rented" in shown
    assert not {"dollars", "vCPUs", "approval"} & set(shown.split())


def test_a_published_plan_is_compared_with_its_page() -> None:
    """With the document, its client, both durations, and every difference."""
    shown = plan("sysbench_v520_vs_v511")
    spec = report_types.load(report_types.find_report(HOME, "sysbench_v520_vs_v511"))
    assert spec.published is not None
    assert spec.published.document in shown
    assert "sysbench 1.1.0-ead2689" in shown
    assert "as on the page" in shown
    for difference in spec.published.sentences:
        assert difference in shown


@pytest.mark.parametrize("name", ["tpcc_v520_vs_v511", "tpcc_v540_vs_v530"])
def test_a_published_tpcc_plan_takes_hardly_longer_than_its_page_by_hand(name: str) -> None:
    """Although the page checks nothing: both sides are loaded at once, tables analyzed in parallel.

    By hand it stays what it was: the page loads one side after the other.
    """
    document = json.loads(plan(name, "--json"))
    assert document["minutes"] <= 1.1 * document["page_minutes"]
    assert document["page_minutes"] > 2 * 5000 * 4 / 60


def test_the_json_is_the_plan() -> None:
    """`--json` prints the plan as the store keeps it, with the same overrides."""
    document = json.loads(plan("sysbench_ec2", "--json", "--set", "rounds=2"))
    assert document["rounds"] == 2
    assert len(document["hosts"]) == 10
    assert document["dollars"] > 0


def test_commands_are_in_the_order_in_which_they_run() -> None:
    """Deploy and load both sides, analyze, back up, then the first trial."""
    shown = plan("sysbench_v520_vs_v511", "--commands")
    marks = (
        "tiup cluster deploy <campaign>-baseline v5.1.1",
        "haproxy -c",
        "tiup cluster deploy <campaign>-candidate v5.2.0",
        " prepare\n",
        "ANALYZE TABLE sbtest.sbtest16;",
        "baseline/data /data/benchlab/<campaign>/baseline/snapshot",
        "baseline/snapshot /data/benchlab/<campaign>/baseline/data",
        "sysbench oltp_point_select",
        "sysbench oltp_update_non_index",
    )
    places = [shown.index(mark) for mark in marks]
    assert places == sorted(places)


def test_a_workload_s_own_items_are_shown_where_they_are_set() -> None:
    """Of both sides, from a stopped cluster; the next workload has what all others have. The plan
    counts the time, and each of these trials says it.
    """
    key = "raft-engine.prefill-for-recycle"
    own = f"engines.tidb.by_workload={{oltp_point_select: {{tikv: {{{key}: false}}}}}}"
    versions = "engines.tidb.baseline.version=v7.1.3", "engines.tidb.candidate.version=v7.5.0"
    bare = "engines.tidb.parameters={}", "engines.tidb.components={}"
    changed = [part for each in (own, *versions, *bare) for part in ("--set", each)]
    shown = plan("sysbench_v520_vs_v511", "--commands", *changed)
    measured = shown[shown.index("## measure") :]
    for side in ("baseline", "candidate"):
        marks = (
            f"tiup cluster stop <campaign>-{side}",
            f"{key}: false",
            f"tiup cluster edit-config <campaign>-{side} --topology-file",
            f"tiup cluster reload <campaign>-{side} --skip-restart",
            f"tiup cluster start <campaign>-{side}",
        )
        place = 0
        for mark in marks:
            place = measured.index(mark, place)
        of_side = measured[: measured.rindex(f"edit-config <campaign>-{side}")]
        assert of_side.rindex("tikv: {}") > of_side.rindex(f"{key}: false"), "set back"
    without = plan("sysbench_v520_vs_v511", "--json", *changed[2:])
    planned = json.loads(plan("sysbench_v520_vs_v511", "--json", *changed))
    changes = [trial["workload"] for trial in planned["trials"] if trial.get("configure")]
    assert changes == ["oltp_point_select", "oltp_read_write"] * 2
    less = json.loads(without)["minutes"]
    assert planned["minutes"] == pytest.approx(less + len(changes) * CONFIGURE_S / 60, abs=0.11)
    text = plan("sysbench_v520_vs_v511", *changed)
    assert text.count(" · restore, configure, 300 s") == len(changes)
    assert "6 trials of 300 s, 1 restore, 1 change of configuration" in text
    assert "TiDB Cloud" not in text


@pytest.mark.parametrize("name", ["sysbench_local", "sysbench_ec2", "sysbench_hosts"])
def test_an_unknown_value_is_a_name_in_brackets(name: str) -> None:
    """Addresses of rented hosts, the campaign, the password: never a made-up value."""
    shown = plan(name, "--commands")
    assert "<campaign>" in shown
    assert ("<tidb-1>:4000" in shown) == (name == "sysbench_ec2")
    assert ("172.16.30.32:4000" in shown) == (name == "sysbench_hosts")
    by_cores = {"sysbench_local": "1", "sysbench_ec2": "30"}.get(name, "<cores of client, at most ")
    for line in shown.splitlines():
        assert "IDENTIFIED BY" not in line or "'<password>'" in line
        assert "nbthread" not in line or line.startswith(f"    nbthread {by_cores}")


def test_the_list_begins_with_what_it_leaves_out() -> None:
    """Such as dataset snapshots, which depend on what S3 has."""
    shown = plan("sysbench_ec2", "--commands", "--set", "snapshots=s3://bucket/prefix")
    assert shown.startswith("# Not listed: ")
    assert "snapshots" in shown.split("\n\n")[0]
    assert " restore db" not in shown


def test_the_statements_of_a_check_are_shown_where_they_run() -> None:
    """Before the snapshot and after the last trial; sysbench's tables have none."""
    shown = plan("tpcc_local", "--commands", "--set", "engine=mariadb")
    marks = ("## check after load", "## back up", "## measure", "## check after last trial")
    places = [shown.index(mark) for mark in marks]
    assert places == sorted(places)
    assert shown.count("CREATE INDEX benchlab_h_customer ON history") == 2
    assert "CREATE INDEX" not in plan("sysbench_local", "--commands")


def test_a_plan_on_tidb_cloud_says_what_it_lacks_and_what_it_does_not_set() -> None:
    """The price, in the words that refuse a run; TiKV's parameters by workload, in a warning."""
    spec = report_types.load(report_types.find_report(HOME, "sysbench_v713_cloud"))
    with pytest.raises(SpecError, match="usd_per_hour: not known; write what") as refused:
        planning.refuse_undecided(HOME, spec)
    shown = plan("sysbench_v713_cloud")
    assert str(refused.value).splitlines()[0] in shown
    assert "recorded but not set: only TiDB Cloud's support" in shown


@pytest.mark.parametrize("way", [(), ("--json",), ("--commands",)])
def test_a_script_learns_that_a_plan_cannot_be_run(way: tuple[str, ...]) -> None:
    """By the exit code, whichever way it is shown; what is missing is named."""
    refused = CliRunner().invoke(app, ["plan", "sysbench_hosts", *way])
    assert refused.exit_code == REFUSED
    assert "no host_key for host-1" in refused.output
    free = CliRunner().invoke(app, ["plan", "sysbench_local_single", *way])
    assert free.exit_code == 0
    assert "no host_key" not in free.output


def test_a_plan_for_a_fleet_needs_no_server_on_this_machine() -> None:
    """TiUP on the fleet installs them."""
    spec = report_types.load(report_types.find_report(HOME, "sysbench_v520_vs_v511"))
    assert Resolver(HOME).engine(spec)[0] == "tidb"


def test_commands_as_text_name_stage_and_host_once() -> None:
    """A heading where stage or host changes, and only there."""
    spec = report_types.load(report_types.find_report(HOME, "sysbench_v713_cloud"))
    made = dry_run.commands_of(HOME, spec, plans.plan_in(HOME, spec, "tidb", "c1"))
    text = dry_run.render(made)
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == [
        *("## load, on client", "## analyze, on client"),
        *("## measure, on TiDB Cloud's support", "## measure, on client"),
    ]


def tpcc_commands(report: str, **client: Any) -> list[Command]:
    """The commands of a TPC-C campaign with the client that is named."""
    spec = report_types.load(HOME.configs / "reports" / f"{report}.yaml")
    spec = spec.model_copy(update={"client": Client(**client)})
    engine = "tidb" if spec.topology else "mariadb"
    return list(dry_run.commands_of(HOME, spec, plans.plan_in(HOME, spec, engine, "c1")))


@pytest.mark.parametrize(
    ("report", "address", "between"),
    [("tpcc_ec2", "<client-1>", ["haproxy -db"]), ("tpcc_local", "127.0.0.1", [])],
)
def test_the_account_without_a_password_is_created_before_the_load(
    report: str, address: str, between: list[str]
) -> None:
    """Only for the schema, which exists by then, and only from the load balancer's address."""
    made = tpcc_commands(report, program="go-tpc")
    (account,) = [n for n, c in enumerate(made) if "CREATE USER 'bench_open'" in c.text]
    assert made[account].text.splitlines() == [
        f"DROP USER IF EXISTS 'bench_open'@'{address}';",
        f"CREATE USER 'bench_open'@'{address}';",
        f"GRANT ALL ON tpcc.* TO 'bench_open'@'{address}';",
    ]
    assert made[account - 1].text.endswith("CREATE DATABASE tpcc;\n")
    after = [command.text for command in made[account + 1 :]]
    assert [word in text for word, text in zip(between, after, strict=False)] == [True] * len(
        between
    )
    assert "go-tpc tpcc prepare" in after[len(between)]
    assert "--user=bench_open" in after[len(between)]


@pytest.mark.parametrize("report", ["tpcc_ec2", "tpcc_local"])
def test_the_embedded_client_has_the_account_with_a_password(report: str) -> None:
    """It is started with its script, and no other account is created."""
    made = tpcc_commands(report, program="embedded")
    started = [command.text for command in made if "sysbench " in command.text]
    assert started
    assert all("<campaign>/tpcc.lua" in text for text in started)
    assert not any("bench_open" in command.text for command in made)


def test_durations_are_in_a_suitable_unit() -> None:
    """Minutes below two hours, hours from there on."""
    assert (duration(9.54), duration(119.9), duration(292.8)) == ("9.5 min", "119.9 min", "4.9 h")
