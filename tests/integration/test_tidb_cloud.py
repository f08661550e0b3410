"""A campaign on TiDB Cloud, from the creation of its cluster to a report and an empty account."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from benchlab.campaign import overrides, report_types, stages
from benchlab.campaign.stages import CampaignRun
from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.targets import tidb_cloud
from benchlab.targets.cloud.api import Limits
from benchlab.targets.tidb_cloud import Target
from tests.builders import given_server, plans
from tests.builders import tidb_cloud as fake
from tests.machine import machine_in, project_in

SMALL = {
    "workloads": ["oltp_update_index"],
    "threads": [2],
    "rounds": 2,
    "seconds": 1,
    "warmup_seconds": 0,
    "dataset.tables": 1,
    "dataset.table_size": 500,
}


def _priced_project(folder: Path) -> Path:
    project = project_in(folder)
    with (project / "configs/topologies/tidb_cloud_first.yaml").open("a") as file:
        file.write("usd_per_hour: 5\npriced_on: 2026-01-31\n")
    return project


def test_only_what_time_can_mend_is_waited_for(
    servers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password that is not known there yet; not a wrong certificate, nor a missing right.

    Every minute of waiting is paid for.
    """
    monkeypatch.setattr(Target, "limits", Limits(pause=0.01))
    home = Home(_priced_project(tmp_path), tmp_path / "home")
    (folder := tmp_path / "server").mkdir()
    given_server.certificate(folder / "other", "127.0.0.1")
    calls_itself = f"8.0.11-TiDB-v{fake.VERSION}"
    with (
        given_server.running(servers, folder, "10.11.5", tls=True, reports=calls_itself) as server,
        fake.serving() as cloud,
    ):
        cloud.hand_out(server)
        waited: list[float] = []

        def let_in(seconds: float = 0.0) -> None:
            waited.append(seconds)
            server.account("root", home.password("late"))

        monkeypatch.setattr(tidb_cloud, "time", SimpleNamespace(monotonic=float, sleep=let_in))

        def provision(campaign: str, ca: str) -> None:
            spec = report_types.load(home.configs / "reports/sysbench_cloud.yaml")
            plan = plans.plan_in(home, spec, "tidb", campaign)
            Target(home, campaign, plan, spec, cloud.access(ca=folder / ca)).provision(print)

        with pytest.raises(TargetError, match=r"certificate is not signed by extra\.ssl\.ca"):
            provision("wrong", "other.cert")
        cloud.made = lambda password: server.account("root", password, grant="SELECT ON *.*")
        with pytest.raises(TargetError, match="root@% lacks INSERT, UPDATE, DELETE, CREATE"):
            provision("poor", "server.cert")
        assert waited == []
        cloud.made = lambda password: None
        provision("late", "server.cert")
        assert len(waited) == 1


@pytest.mark.long  # hosts/test_fleet_dag measures by a client of its own; this, by this machine
def test_a_campaign_makes_its_cluster_measures_it_and_deletes_it(
    servers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an encrypted connection to a real server, with the campaign's own password."""
    monkeypatch.setattr(Target, "limits", Limits(pause=0.01, endpoint=10))
    project = _priced_project(tmp_path)
    (folder := tmp_path / "server").mkdir()
    calls_itself = f"8.0.11-TiDB-v{fake.VERSION}"
    with (
        given_server.running(servers, folder, "10.11.5", tls=True, reports=calls_itself) as server,
        fake.serving() as cloud,
        machine_in(tmp_path, servers, project) as machine,
    ):
        cloud.hand_out(server)
        access = cloud.access(ca=folder / "server.cert")
        spec = report_types.load(project / "configs/reports/sysbench_cloud.yaml")
        spec = overrides.override(spec, SMALL)
        with machine.store() as store:
            work = CampaignRun.create(
                machine.here,
                store,
                plans.to_run(machine.here, store, spec, access),
                "cloud",
                "a test",
                access,
            )
            paths = stages.run(work)
        campaign, trials = machine.outcome("cloud")
        assert cloud.living() == []
    assert campaign.state == "complete"
    assert [result.valid for result in trials] == [True, True]
    text = paths[0].read_text(encoding="utf-8")
    assert f"v{fake.VERSION}" in text
    assert "TiDB Cloud" in text
    written = [path for path in machine.here.root.rglob("*") if path.is_file()]
    secrets = [fake.PRIVATE, *cloud.passwords.values()]
    for path in written:
        content = path.read_bytes()
        assert not [one for one in secrets if one and one.encode() in content], path
