"""The report of a campaign on a fleet: what a reader of the page finds there.

The golden file is a published plan's page; BENCHLAB_UPDATE_GOLDEN=1 writes it anew.
"""

from __future__ import annotations

import dataclasses
import html
import json
import os
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from upath import UPath

from benchlab import language
from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.home import find
from benchlab.hosts.samples import Figure, HostFigures
from benchlab.language import english, message
from benchlab.plan import report_type
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES
from benchlab.plan.topology import HostsTopology
from benchlab.report import bundle
from benchlab.report.formats import pages
from benchlab.report.model import hardware, software
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.sentences import method, wording
from benchlab.results import approval, ended_servers
from benchlab.results import rows as store_rows
from benchlab.results.records import Campaign, InstanceFacts, TrialResult
from benchlab.results.store import Store
from tests.builders import campaigns

GOLDEN = Path(__file__).parents[2] / "golden" / "report"
# Of each role: CPU at 900 threads, GiB of memory, MB/s written, received and sent.
LOAD_OF_ROLE = {
    "pd": (0.06, 1.9, 2.2, 0.4, 0.3),
    "tikv": (0.71, 78.4, 187.1, 61.0, 140.9),
    "tidb": (0.83, 11.2, 0.6, 188.8, 176.0),
    "client": (0.38, 3.3, 0.1, 402.1, 311.7),
}
SETTINGS = {
    "tidb_enable_1pc": "ON",
    "tidb.log.level": "error",
    "tidb.security.auto-tls": "false",
    "tikv.raftstore.store-pool-size": "3",
    "tikv.storage.scheduler-worker-pool-size": "5",
    "pd.cluster-version": "5.1.1",
    "pd.schedule.leader-schedule-limit": "4",
}
SETTINGS_AFTER = SETTINGS | {
    "tidb.security.auto-tls": "true",
    "tikv.storage.flow-control.enable": "true",
    "pd.cluster-version": "5.2.0",
}
Case = tuple[Campaign, Comparison, list[TrialResult]]


def host_figures(plan: Plan, trial: PlannedTrial) -> tuple[HostFigures, ...]:
    """Every host's, the load by its role; the second TiKV host is busier than its peers."""
    found = []
    for host in plan.hosts:
        roles = host.role.split("+")
        cpu, memory, *rates = (sum(x) for x in zip(*(LOAD_OF_ROLE[r] for r in roles), strict=True))
        cpu = min(cpu * min(trial.threads, 900) / 900 + 0.08 * (host.name == "tikv-2"), 0.97)
        written, received, sent = (Figure(rate * 1e6, 1.6 * rate * 1e6) for rate in rates)
        figures = {
            "cpu_busy": Figure(cpu, min(cpu + 0.11, 1.0)),
            "cpu_steal": Figure(0.0004, 0.002),
            "cpu_iowait": Figure(cpu / 40, cpu / 9),
            "memory_used_bytes": Figure(memory * 2**30, 1.04 * memory * 2**30),
            "disk_busy": Figure(cpu / 3, cpu),
            "disk_read_bytes_per_s": Figure(0.0, 1.3e6),
            "disk_write_bytes_per_s": written,
            "net_rx_bytes_per_s": received,
            "net_tx_bytes_per_s": sent,
        }
        work = {"client": 0.22, "load balancer": 0.47} if "client" in roles else {}
        found.append(HostFigures(host.name, cores=16, figures=figures, processes=work))
    return tuple(found)


def case_of(made: Campaign, changes: dict[str, float] | None = None, noise: float = 0.004) -> Case:
    """A campaign with its trials, each with figures of all hosts."""
    known = campaigns.known_change(changes or {}, noise, base=2400.0)
    results = [
        dataclasses.replace(
            result, hosts="c1/x.hosts.csv", host_figures=host_figures(made.plan, result.trial)
        )
        for result in campaigns.results_of(
            made.plan, known, lambda trial: 1.1 + trial.threads / 90 + (trial.side == "candidate")
        )
    ]
    return made, compare(made.plan, results, 2.0), results


def report_of(**fields: Any) -> Report:
    """The report of a campaign on the ten EC2 hosts."""
    return model.build(*case_of(campaigns.fleet_campaign(**fields)))


@cache
def published_case() -> Case:
    """The published v5.2.0 plan, measured again."""
    plan = find().configs / "published" / "sysbench_v520_vs_v511.yaml"
    made = campaigns.fleet_campaign(
        report_type.load(plan), variables={"baseline": SETTINGS, "candidate": SETTINGS_AFTER}
    )
    changes = {
        "oltp_point_select": 0.1103,
        "oltp_read_write": -0.0124,
        "oltp_update_index": -0.0433,
        "oltp_update_non_index": -0.0198,
    }
    return case_of(made, changes, noise=0.0)


@cache
def published_files() -> dict[str, bytes]:
    """All files of its report."""
    return bundle.make(*published_case())


def test_the_page_of_a_published_plan_is_as_agreed() -> None:
    """The golden file is the agreed page of a fleet, sentence by sentence."""
    made = published_files()["report.md"]
    if os.environ.get("BENCHLAB_UPDATE_GOLDEN"):
        (GOLDEN / "fleet.md").write_bytes(made)
    assert made.decode() == (GOLDEN / "fleet.md").read_text(encoding="utf-8")


def test_the_html_page_of_a_fleet_says_what_the_markdown_says() -> None:
    """Hardware, servers, parameters and the document stand in both pages."""
    page = published_files()["report.html"].decode()
    report = model.build(*published_case())
    text = markdown_of(report)
    assert report.fleet is not None
    said = [
        *(
            cell
            for row in hardware.rows(report.fleet, report.client, report.language)
            for cell in row
        ),
        *(git_hash or "" for _, _, git_hash in report.servers),
        *(block.heading for block in report.parameter_blocks),
        *(block.text.splitlines()[-1] for block in report.parameter_blocks),
        "drift of the hosts cannot be distinguished from a change of the version",
        "the published document: sysbench 1.1.0-ead2689",
        "tidb.security.auto-tls",
        "Each host by itself",
    ]
    for sentence in said:
        assert html.escape(sentence, quote=True).replace("&quot;", "&#34;") in page
        assert sentence in text


def markdown_of(report: Report) -> str:
    """Its page, with the escapes taken out."""
    return re.sub(r"\\(.)", r"\1", html.unescape(pages.markdown(report)))


def test_a_reader_finds_every_role_with_its_hosts() -> None:
    """Role, number, instance type and what the hosts reported; none of it is in the software."""
    report = report_of(environment={"zone": "us-west-2b"})
    assert report.fleet is not None
    rows = hardware.rows(report.fleet, report.client, report.language)
    assert [row[:5] for row in rows] == [
        ["PD", "m5.xlarge", "3", "4", "15.3"],
        ["TiKV", "i3.4xlarge", "3", "16", "120.0"],
        ["TiDB", "c5.4xlarge", "3", "16", "30.8"],
        ["Sysbench, HAProxy", "c5.9xlarge", "1", "36", "69.1"],
    ]
    assert rows[1][5:] == [
        "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz",
        "xfs",
    ]
    assert hardware.sentences(report.fleet, report.language) == [
        "All 10 hosts were rented for this campaign in one zone (us-west-2b).",
        "All run Debian GNU/Linux 12 (bookworm), kernel 6.1.0-18-cloud-amd64.",
    ]
    assert set(report.software) == {"sysbench", "haproxy"}


@pytest.mark.parametrize("code", ["en", "zh"])
def test_the_script_that_installed_tiup_stands_among_the_programs_with_its_hash(code: str) -> None:
    """What the hash covers is said, and that the script has changed; nothing where none was run."""
    address, sha256, earlier = "https://mirrors.example.org/install.sh", "a" * 64, "b" * 64
    told = {"tiup_script": address, "tiup_script_sha256": sha256}
    report = report_of(languages=["en", "zh"], environment=told)
    report = dataclasses.replace(report, language=language.load(code))
    title = report.language.say("tool-tiup-script")
    assert (title, address, sha256) in method.software(report)
    covers = report.language.say("software-script")
    assert method.script(report) == covers
    changed = report_of(environment=told | {"tiup_script_before": f"2026-11-20 {earlier}"})
    changed = dataclasses.replace(changed, language=report.language)
    assert earlier in str(method.script(changed))
    page = markdown_of(changed)
    assert all(part in page for part in (sha256, earlier, covers))
    assert method.script(report_of()) is None


def test_who_approved_its_cost_and_when_is_said() -> None:
    """A name is no Markdown; nothing where nobody has answered, or had to."""
    at = datetime(2026, 11, 28, 12, 5, tzinfo=UTC)

    def told(one: approval.Approval | None) -> str | None:
        environment = {approval.KEY: approval.as_text(one)} if one else {}
        return dict(method.provenance(report_of(environment=environment))).get("Approved by")

    assert told(approval.Approval(at, "ada", at)) == "ada, 2026-11-28 12:05:00 UTC"
    assert told(approval.Approval(asked_at=at)) is None
    assert told(None) is None


def test_what_was_rented_is_compared_with_what_was_wanted() -> None:
    """Other types, another region, spot hosts and lost ones: a sentence each, in any language."""
    other = "3 x i4i.4xlarge: 16 cores, 120.0 GiB, A, Linux, kernel 6, data on xfs"
    report = report_of(
        languages=["en", "zh"],
        environment={
            "zone": "us-east-1a",
            "tikv_hosts": other,
            "spot_hosts": "tikv-1, tikv-2",
            "replaced_hosts": "1: tikv-2; 7: tidb-1, pd-1",
        },
    )
    assert report.fleet is not None
    assert hardware.rows(report.fleet, report.client, report.language)[1][1] == "i4i.4xlarge"
    deployed = (
        "Both sides were then deployed and loaded again: trials before and after that belong "
        "to two deployments."
    )
    types, *others = hardware.sentences(report.fleet, report.language)[1:]
    assert types.endswith("rented instead of those in brackets: i4i.4xlarge (i3.4xlarge).")
    assert others == [
        "The preferred region, us-west-2, had no capacity.",
        "2 hosts were spot hosts: tikv-1, tikv-2.",
        f"After one trial a host was lost and replaced: tikv-2. {deployed}",
        f"After 7 trials hosts were lost and replaced: tidb-1, pd-1. {deployed}",
    ]
    chinese = hardware.sentences(report.fleet, language.load("zh"))
    assert len(chinese) == 6
    assert "竞价实例" in chinese[3]
    assert not set(report.software) & {"spot_hosts", "replaced_hosts"}


def test_servers_that_ended_while_sides_were_prepared_are_in_the_report() -> None:
    """In each of its languages; and among no machine's facts."""
    how = message("ended-again", at="2026-11-26 18:53:04 UTC", again="2026-11-26 18:53:19 UTC")
    ended = ended_servers.ended("tikv", "tikv-2", how, [])
    noted: dict[str, str] = {}
    for phase in ("load", "check after load"):
        said_of = ended_servers.in_stage(phase, "baseline", ended)
        noted = {ended_servers.KEY: ended_servers.with_noted(noted, said_of)}
    report = report_of(languages=["en", "zh"], environment=noted)
    (said,) = (one for one in wording.quality(report) if one.startswith("Servers that ended"))
    assert said.startswith(
        "Servers that ended unexpectedly during, or just before, a stage that prepares or checks "
        "the data (2): load (baseline): tikv on tikv-2 ended at 2026-11-26 18:53:04 UTC and was "
        "started again by systemd at "
    )
    assert not set(report.software) & {ended_servers.KEY}
    chinese = dataclasses.replace(report, language=language.load("zh"))
    (said,) = (one for one in wording.quality(chinese) if "自行终止的服务器（2）" in one)
    assert "（基线）：tikv-2 上的 tikv 于 2026-11-26 18:53:04 UTC 终止" in said
    assert "started" not in said


@pytest.mark.parametrize(
    ("line", "memory", "cpu", "system"),
    [
        ("3 x a.b: 16 cores, 120.0 GiB, A, B, Linux, kernel 6, data on xfs / "  # noqa: ISC004
         "a.b: 16 cores, 120.1 GiB, A, B, Linux, kernel 7, data on xfs",
         "120.0 / 120.1", "A, B", "Linux, kernel 6 / Linux, kernel 7"),
        ("3 x 16 cores, 7.5 GiB, , Debian GNU/Linux 12, kernel 6.1, data on ext4",
         "7.5", "n/a", "Debian GNU/Linux 12, kernel 6.1"),
        ("3 x something | else", "n/a", "n/a", "something | else"),
    ],
)  # fmt: skip
def test_hosts_that_differ_or_cannot_be_read_are_shown_as_they_are(
    line: str, memory: str, cpu: str, system: str
) -> None:
    """Unlike hosts of a role stand side by side; what cannot be read is not left out."""
    report = report_of(environment={"tikv_hosts": line})
    assert report.fleet is not None
    row = hardware.rows(report.fleet, report.client, report.language)[1]
    assert (row[4], row[5], row[6]) == (memory, cpu, system)


def test_before_its_hosts_have_reported_anything_a_fleet_has_a_table() -> None:
    """A campaign that failed while renting has the planned hosts, and everything else missing."""
    made = dataclasses.replace(campaigns.fleet_campaign(), environment={}, facts={})
    report = model.build(made, compare(made.plan, [], 2.0), [])
    assert report.fleet is not None
    assert hardware.rows(report.fleet, report.client, report.language)[0] == [
        "PD",
        "m5.xlarge",
        "3",
        *["n/a"] * 5,
    ]
    assert "| TiDB | c5.4xlarge | 3 |" in markdown_of(report)
    assert report.servers == ()
    assert "| tidb (baseline) | v5.1.1 | n/a |" in markdown_of(report)


def own_hosts() -> Campaign:
    """A campaign on four owned hosts, three of them with several roles."""
    topology = HostsTopology.model_validate(
        {
            "kind": "hosts",
            "ssh": "benchlab_hosts",
            "user": "tidb",
            "data": "/data",
            "hosts": [
                {"name": "host-1", "address": "10.0.0.1", "roles": ["client"]},
                {"name": "host-2", "address": "10.0.0.2", "roles": ["tidb", "pd", "tikv"]},
                {"name": "host-3", "address": "10.0.0.3", "roles": ["tidb", "tikv"]},
                {"name": "host-4", "address": "10.0.0.4", "roles": ["tidb", "tikv"]},
            ],
        }
    )
    return campaigns.fleet_campaign(
        topology=topology, target="hosts", report="sysbench_hosts", budget=None
    )


def test_owned_hosts_are_named_even_with_several_roles() -> None:
    """A host counts once; its load is shown under all its roles, never mixed with the client's."""
    report = model.build(*case_of(own_hosts()))
    assert report.fleet is not None
    rows = hardware.rows(report.fleet, report.client, report.language)
    assert [row[:3] for row in rows] == [
        ["PD", "host-2", "1"],
        ["TiKV", "host-2, host-3, host-4", "3"],
        ["TiDB", "host-2, host-3, host-4", "3"],
        ["Sysbench, HAProxy", "host-1", "1"],
    ]
    assert "4 hosts in all; with several roles: host-2 (tidb, pd, tikv); " in " ".join(
        hardware.sentences(report.fleet, report.language)
    )
    assert [(group.name, len(group.hosts)) for group in report.hosts.groups[::2]] == [
        ("client", 1),
        ("tidb+pd+tikv", 1),
        ("tidb+tikv", 2),
    ]
    assert "was measured with Sysbench on 4 hosts against" in wording.subject(report)
    assert "## Test environment\n" in pages.markdown(report)
    assert "Planned time and cost" not in dict(method.provenance(report))


def test_hosts_of_a_role_are_summed_up_and_shown_one_by_one() -> None:
    """Ten hosts are four rows a side; who is busier than its peers is in the other table."""
    found = report_of().hosts
    assert [(group.name, group.side) for group in found.groups] == [
        (role, side) for role in ("pd", "tikv", "tidb", "client") for side in SIDES
    ]
    assert len(found.each) == 20
    busy = {group.name: group.figures["cpu_busy"].mean for group in found.each}
    assert busy["tikv-2"] == pytest.approx(busy["tikv-1"] + 0.08)


def test_servers_that_are_alike_are_one_line_and_others_are_named() -> None:
    """Versions and sources of both sides by component; an odd one is not hidden among its peers."""
    made = campaigns.fleet_campaign()
    versions = {title: version for title, version, _ in software.servers(made, english())}
    assert len(versions) == 6
    assert versions["TiKV (candidate, 3 servers)"] == "v5.2.0"
    assert versions["TiDB (baseline, 3 servers)"] == "v5.1.1 (server: 5.7.25-TiDB-v5.1.1)"
    odd = InstanceFacts("tikv-3", "tikv", "5.2.0", "another source", "another configuration")
    others = tuple(one for one in made.facts["candidate"].instances if one.host != "tikv-3")
    facts = dataclasses.replace(made.facts["candidate"], instances=(*others, odd))
    made = dataclasses.replace(made, facts={**made.facts, "candidate": facts})
    titles = [title for title, *_ in software.servers(made, english())]
    assert [title for title in titles if title.startswith("TiKV")] == [
        "TiKV (baseline, 3 servers)",
        "TiKV (candidate, 2 servers on tikv-1, tikv-2)",
        "TiKV (candidate, 1 server on tikv-3)",
    ]
    assert "not all configured alike: TiKV (candidate)" in (
        software.configured(made, english()) or ""
    )


def test_declared_differences_stand_apart_from_those_that_nobody_asked_for() -> None:
    """Including those of components, by the names that the servers give them."""
    sides = {
        "baseline": {"version": "v5.1.1", "components": {"tikv": {"raftstore.store-pool-size": 2}}},
        "candidate": {"version": "v5.2.0", "parameters": {"log.level": "warn"}},
    }
    common = {"components": {"tikv": {"server.grpc-concurrency": 6}}}
    before = {
        "tidb.log.level": "info",
        "tidb.security.auto-tls": "false",
        "tikv.raftstore.store-pool-size": "2",
        "tikv.server.grpc-concurrency": "6",
        "tidb_config": '{"host": "10.0.0.1", "log": {"level": "info"}}',
    }
    after = before | {
        "tidb.log.level": "warn",
        "tidb.security.auto-tls": "true",
        "tikv.raftstore.store-pool-size": "3",
        "tikv.server.grpc-concurrency": "5",
        "tidb_config": '{"host": "10.0.0.2", "log": {"level": "warn"}}',
    }
    report = report_of(
        engines={"tidb": {**sides, **common}}, variables={"baseline": before, "candidate": after}
    )
    found = report.variables
    assert [d.name for d in found.declared] == ["tidb.log.level", "tikv.raftstore.store-pool-size"]
    assert [(d.name, d.asked) for d in found.changed] == [
        ("tidb.security.auto-tls", False),
        ("tikv.server.grpc-concurrency", True),
    ]
    page = markdown_of(report)
    assert "Declared differences, as they took effect" in page
    assert "yet different in effect: tikv.server.grpc-concurrency." in page
    assert [(block.heading, block.text) for block in report.parameter_blocks] == [
        ("TiKV parameter configuration", "server.grpc-concurrency: 6"),
        (
            "TiKV parameter configuration, only the baseline (v5.1.1)",
            "raftstore.store-pool-size: 2",
        ),
        ("TiDB parameter configuration, only the candidate (v5.2.0)", 'log.level: "warn"'),
    ]
    assert "Different parameters are set for" in method.parameters(report)


def test_items_of_a_workload_are_set_where_the_servers_are_ours() -> None:
    """Only of TiDB Cloud's clusters the page says that nobody could set them."""
    sides = {
        side: {"version": version}
        for side, version in {"baseline": "v5.1.1", "candidate": "v5.2.0"}.items()
    }
    items = {"oltp_point_select": {"tikv": {"server.grpc-concurrency": 3}}}
    report = report_of(engines={"tidb": {**sides, "by_workload": items}})
    assert "not set" not in method.parameters(report)
    assert "server.grpc-concurrency: 3" in markdown_of(report)


def test_the_page_says_where_the_dataset_came_from_and_that_rows_differ() -> None:
    """A restored dataset lies otherwise than a loaded one; equal checksums claim no difference."""
    loaded = report_of()
    assert "with different contents" in method.steps(loaded)[1]
    assert "--rand-seed does not make its load repeatable" in method.steps(loaded)[1]
    assert not any("dataset snapshot" in note for note in method.notes(loaded))
    restored = report_of(environment={"dataset": "snapshot"})
    assert method.steps(restored)[1].startswith("Restore 16 tables of 10,000,000 rows")
    assert "an earlier campaign loaded them" in method.steps(restored)[1]
    saved = report_of(environment={"dataset": "new snapshot"})
    assert method.steps(saved)[1].startswith("Load 16 tables of 10,000,000 rows with the client, ")
    assert "earlier" not in method.steps(saved)[1]
    assert any("a restore writes them to disk in order" in n for n in method.notes(restored))
    assert "deployed and loaded once" in wording.deployments(restored)
    assert "before their dataset snapshots were taken" in pages.markdown(restored)
    made = campaigns.fleet_campaign()
    same = dict.fromkeys(SIDES, made.facts["baseline"])
    alike = model.build(*case_of(dataclasses.replace(made, facts=same)))
    assert "with different contents" not in method.steps(alike)[1]
    # Clusters have checksums of their own, with a part that is the same for the same rows.
    of_clusters = {
        side: dataclasses.replace(facts, dataset_checksum=f"sbtest1:20:4100+{number}")
        for number, (side, facts) in enumerate(made.facts.items())
    }
    for source, differ in (("snapshot", False), ("loaded", True)):
        # What clients load at random may have as many bytes by chance.
        found = dataclasses.replace(made, facts=of_clusters, environment={"dataset": source})
        said = method.steps(model.build(*case_of(found)))[1]
        assert ("with different contents" in said) == differ


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("change", [0.0, -0.2])
def test_every_verdict_of_a_sequential_campaign_says_that_drift_is_in_it(
    rounds: int, change: float
) -> None:
    """However many rounds, and whatever the verdict; interleaved campaigns do not say it."""
    changes = dict.fromkeys(("oltp_point_select", "oltp_update_index"), change)
    drift = "drift of the hosts cannot be distinguished from a change of the version"
    for placement in ("sequential", "interleaved"):
        made = campaigns.fleet_campaign(placement=placement, rounds=rounds)
        report = model.build(*case_of(made, changes))
        said = [wording.outcome(report, section) for section in report.sections]
        assert all((drift in sentence) == (placement == "sequential") for sentence in said)
        assert ("before the candidate" in wording.deployments(report)) == (
            placement == "sequential"
        )
        assert ("every verdict is inconclusive or unstable" in wording.deployments(report)) == (
            rounds == 1
        )
        steps = " ".join(method.steps(report))
        assert ("right after the other" in steps) == (placement == "interleaved")
        assert ("right after each other" in method.how_to_read(report)[0]) == (
            placement == "interleaved"
        )
        verdicts = {section.figures.verdict for section in report.sections}
        assert verdicts == {
            "inconclusive" if rounds == 1 else "regression" if change else "inconclusive"
        }


def test_an_aa_campaign_on_a_fleet_says_that_both_sides_are_the_same() -> None:
    """Each side is a cluster of its own, of one version."""
    report = report_of(sides="same", rounds=2)
    assert "the same once more (candidate) on the same hosts" in method.steps(report)[0]
    assert "an A/A campaign with Sysbench on 10 EC2 hosts" in wording.subject(report)
    assert len(report.servers) == 6
    assert all(version.startswith("v5.1.1") for _, version, _ in report.servers)


def test_hostile_text_of_a_fleet_stands_for_itself() -> None:
    """Hosts, servers and documents put no HTML, link or cell into a page."""
    from markdown_it import MarkdownIt

    evil = "<script>alert(1)</script> | a*b*c [y](http://evil.example/) &amp; ```"
    published = {"document": evil, "client": evil, "differences": {"steps": [evil]}}
    value = {"log.file": evil, "tidb_init": evil}
    made = campaigns.fleet_campaign(
        environment={
            **dict.fromkeys(("tikv_hosts", "zone", "sysbench", "dataset", "spot_hosts"), evil),
            "replaced_hosts": f"1: {evil}",
        },
        published=published,
        engines={
            "tidb": {
                "baseline": {"version": "v5.1.1", "parameters": value},
                "candidate": {"version": "v5.2.0"},
            }
        },
    )
    facts = {
        side: dataclasses.replace(
            facts_of_side,
            instances=tuple(InstanceFacts(evil, evil, evil, evil, f"{n}") for n in range(2)),
        )
        for side, facts_of_side in made.facts.items()
    }
    made = dataclasses.replace(made, facts=facts)
    files = bundle.make(*case_of(made))
    assert b"<script>" not in files["report.html"]
    text = files["report.md"].decode().split("---\n", 2)[2]
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<script" not in page
    assert "<a " not in page
    assert "<em>" not in page
    assert page.count("<table>") == len(re.findall(r"^\|[:|-]+$", text, re.MULTILINE))


def test_other_datasets_are_described_as_well() -> None:
    """Warehouses of TPC-C are no tables of n/a rows."""
    report = report_of(
        workloads=["tpcc"],
        dataset={"warehouses": 5000},
        rounds=2,
        budget={"approve_above": 20, "limit": 500},
    )
    assert method.steps(report)[1].startswith("Load 5,000 warehouses of TPC-C into each side.")


def test_the_servers_come_back_from_the_store(tmp_path: Path) -> None:
    """A report rebuilt from the store names every server as before; old rows have none."""
    made = campaigns.fleet_campaign()
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as store:
        store.add_campaign(dataclasses.replace(made, facts={}))
        for side, facts in made.facts.items():
            store.set_facts(made.id, side, facts)
        assert store.campaign(made.id).facts == made.facts
    row = store_rows.campaign_row(made)
    old = {
        side: {key: value for key, value in facts.items() if key != "instances"}
        for side, facts in json.loads(row["facts"]).items()
    }
    read = store_rows.campaign_of(SimpleNamespace(**{**row, "facts": json.dumps(old)}))
    assert read.facts["candidate"].instances == ()
    assert read.facts["candidate"].version == made.facts["candidate"].version
