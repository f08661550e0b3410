"""What a published plan must have done on a rented test fleet: what its document says.

A plan is shrunk only in what takes time; versions, hosts, parameters, workloads, their order,
restores, client, load balancer and tables are the document's. The facts of the documents are those
of tests/golden/published_plans.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from benchlab.engines.tidb import rules
from benchlab.plan.report_type import SIDES
from benchlab.results.records import Campaign, Moment
from benchlab.targets import fleet_files
from tests.hosts.namespaces import USER
from tests.hosts.rented import Rented, assert_every_host_measured

FACTS = Path(__file__).parents[1] / "golden" / "published_plans"
TPCC: dict[str, object] = {"dataset__warehouses": 1, "client__report_interval": 1}
SERVERS = ("pd", "tikv", "tidb")
# As TiDB shows what the documents set.
SHOWN = {
    "tidb_hashagg_final_concurrency": "1",
    "tidb_hashagg_partial_concurrency": "1",
    "tidb_enable_async_commit": "ON",
    "tidb_enable_1pc": "ON",
    "tidb_guarantee_linearizability": "OFF",
    "tidb_enable_clustered_index": "ON",
}
# Of the documents that show no configuration of HAProxy.
HAPROXY = {
    "bind": "127.0.0.1:13390",
    "balance": "roundrobin",
    **{f"server tidb-{n}": f"<tidb-{n}>:4000 check inter 200ms rise 1 fall 2" for n in (1, 2, 3)},
}


def settings(**changed: object) -> list[str]:
    """`--set` arguments of a plan that is shrunk (`__` for a dot)."""
    # On two cores a shorter trial could not show what its neighbours used.
    values = {"threads": "1,2", "seconds": 2, **changed}
    named = [f"{key.replace('__', '.')}={value}" for key, value in values.items()]
    return [part for one in named for part in ("--set", one)]


def facts_of(plan: str) -> dict[str, Any]:
    """The facts of a plan's document."""
    loaded: dict[str, Any] = yaml.safe_load((FACTS / f"{plan}.yaml").read_text(encoding="utf-8"))
    return loaded


def assert_given(rented: Rented, plan: str, campaign: str) -> None:
    """While it measures: EC2, TiUP and HAProxy were asked for what the document had."""
    facts = facts_of(plan)
    fleet = fleet_files.read_fleet(rented.machine.here.campaign(campaign))
    listed = rented.cloud.client("ec2").describe_instances(
        InstanceIds=[str(host.instance) for host in fleet.hosts]
    )["Reservations"]
    types = {i["InstanceId"]: i["InstanceType"] for group in listed for i in group["Instances"]}
    hosts = Counter((host.roles, types[str(host.instance)]) for host in fleet.hosts)
    assert hosts == {((role,), kind): n for role, (n, kind) in facts["hosts"].items()}
    client = rented.cloud.host(fleet.client.address)
    for side, version in zip(SIDES, facts["versions"], strict=True):
        known = f"/home/{USER}/.tiup/storage/cluster/clusters/{campaign}-{side}/meta.yaml"
        cluster = yaml.safe_load(client.run(f"cat {known}").stdout)
        assert cluster["tidb_version"] == version
        places = rules.out_of_tmp(version, Path("/data/benchlab") / campaign / side)
        items = {"tikv": facts["tikv"], "tidb": {**places, **facts["tidb"]}}
        assert cluster["topology"]["server_configs"] == items
        servers = {role: len(cluster["topology"][f"{role}_servers"]) for role in SERVERS}
        assert servers == {role: facts["hosts"][role][0] for role in SERVERS}
    printed = facts.get("haproxy", {})
    wanted = {key: value for key, (_, value, _) in printed.items() if value is not None} or HAPROXY
    text = "".join(f"{key} {value}\n" for key, value in wanted.items())
    for host in fleet.with_role("tidb"):
        text = text.replace(f"<{host.name}>", host.address)
    written = client.run(f"cat /data/benchlab/{campaign}/{SIDES[0]}/haproxy.cfg").stdout
    assert {*text.splitlines()} <= {line.strip() for line in written.splitlines()}


def assert_measured(rented: Rented, plan: str, campaign: str) -> None:
    """When it has ended: every trial in the document's order, and a report with its tables."""
    facts = facts_of(plan)
    found, trials = rented.machine.outcome(campaign)
    spec = found.report_type
    assert found.state == "complete"
    assert [name.removeprefix("oltp_") for name in spec.workloads] == facts["workloads"]
    first = [t for t in trials if t.attempt == 1]
    order = [(s, w, n) for s in SIDES for w in spec.workloads for n in spec.threads]
    assert [(t.trial.side, t.trial.workload, t.trial.threads) for t in first] == order
    restored = spec.restore == "per_workload"
    assert [(t.trial.threads, "restore" in t.phases) for t in first] == [
        (n, restored and n == spec.threads[0]) for _, _, n in order
    ]
    valid = [t for t in trials if t.valid]  # a pair that failed a gate has been measured again
    assert {t.trial.id for t in valid} == {t.trial.id for t in first}, [t.reasons for t in trials]
    assert_every_host_measured(found, valid)
    for side, version in zip(SIDES, facts["versions"], strict=True):
        assert found.facts[side].version.endswith(version)
        assert SHOWN.items() <= found.facts[side].variables.items()
    page = (rented.machine.here.reports / campaign / "report.md").read_text().replace("\\", "")
    assert spec.published is not None
    assert spec.published.document in page
    assert "Differences from the document" in page
    if (printed := facts["tables"]) is not None:
        lines = [line.strip("| ") for line in page.lower().splitlines()]
        assert lines.count(printed["headings"].lower()) == len(spec.workloads)
    if spec.workloads == ("tpcc",):
        assert found.environment["client_program"] == "tiup"
        assert found.environment["client_version"] == "tiup bench v1.12.0"
        assert_consistent(found, "load")
        assert_consistent(found, "last trial")
    verified = rented.machine.verified(campaign)
    assert verified.outcome == "holds", verified.lines()


def assert_consistent(campaign: Campaign, moment: Moment) -> None:
    """Every condition was checked on both sides at that moment, and holds."""
    assert set(campaign.facts) == set(SIDES)
    for facts in campaign.facts.values():
        found = facts.consistency[moment]
        assert {f"3.3.2.{n}" for n in (1, 2, 3, 4)} <= {c.clause for c in found}
        assert not [c for c in found if c.violations]
