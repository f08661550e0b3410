"""A home of its own whose report types run on a rented test fleet.

AWS is :class:`tests.hosts.cloud.Cloud`; every instance is a host with a real sshd, on which the
stand-in for TiUP puts one real MariaDB behind the fleet's TiDB addresses. SSH, HAProxy, sysbench,
backup and restore are real.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab.results.records import Campaign, TrialResult
from benchlab.targets import fleet_files
from tests import machine
from tests.hosts import standin
from tests.hosts.cloud import NOTHING, REGION, Cloud
from tests.hosts.install_script import script_on
from tests.hosts.namespaces import Namespaces, unused
from tests.hosts.object_storage import KEYS, bucket_on
from tests.machine import Machine, machine_in

TOPOLOGY = "test_fleet"
# The same whose TiKV hosts are spot hosts.
SPOT_TOPOLOGY = "test_spot_fleet"
PUBLISHED_TOPOLOGY = "ec2_published"
# The published fleet has 3 of each but the client.
HOSTS = {"pd": 1, "tikv": 2, "tidb": 2}
CLI = "benchlab.cli.main"
AUTHORITY = "etc/install-script.pem"
SMALL = {
    "topology": TOPOLOGY,
    "baseline": "v5.1.1",
    "candidate": "v5.2.0",
    "workloads": "oltp_update_index",
    "threads": "2",
    "rounds": "1",
    "seconds": "1",
    "warmup_seconds": "0",
    "dataset.tables": "1",
    "dataset.table_size": "1000",
}


class RentingCloud(Cloud):
    """AWS whose instances come with the stand-in for TiUP.

    Attributes:
        granted: environment of every login on instances that boot from now on: what a real one
            is granted by its instance profile.
        certificate: of the server that has TiUP's install script.
        pauses_ms: how slow TiDB is on them: see :func:`standin.install`.
    """

    granted: Mapping[str, str] = {}
    certificate = ""
    pauses_ms: Mapping[str, Sequence[float]] = {}

    def _boot(self, address: str, script: str, fail: list[str]) -> str:
        console = super()._boot(address, script, fail)
        host = self.host(address)
        listed = self.client("ec2").describe_instances()["Reservations"]
        tokens = {
            instance["MetadataOptions"]["HttpTokens"]
            for reservation in listed
            for instance in reservation["Instances"]
            if instance["State"]["Name"] in ("pending", "running")  # not of an earlier fleet
            and {"Key": "benchlab:role", "Value": "tikv"} in instance["Tags"]
        }
        imdsv2_only = "required" in tokens
        standin.install(host, imdsv2_only=imdsv2_only, pauses_ms=self.pauses_ms)
        (host.root / AUTHORITY).write_text(self.certificate)
        told = {"CURL_CA_BUNDLE": f"/{AUTHORITY}", **self.granted}
        lines = [f'{name}="{value}"\n' for name, value in told.items()]
        (host.root / "etc/environment").write_text("".join(lines))
        return console


@dataclass
class Rented:
    """A machine from which campaigns rent, and what they rent from."""

    machine: Machine
    cloud: RentingCloud
    namespaces: Namespaces

    def settings(self, **changed: object) -> list[str]:
        """See :func:`settings`."""
        return settings(**changed)

    def instance(self, name: str) -> str:
        """The living instance of a host's name, where one campaign is at work."""
        listed = self.cloud.client("ec2").describe_instances(
            Filters=[
                {"Name": "tag:benchlab:name", "Values": [name]},
                {"Name": "instance-state-name", "Values": ["pending", "running"]},
            ]
        )
        (found,) = [i for group in listed["Reservations"] for i in group["Instances"]]
        return str(found["InstanceId"])

    def address(self, name: str) -> str:
        """The address of that host."""
        listed = self.cloud.client("ec2").describe_instances(InstanceIds=[self.instance(name)])
        return str(listed["Reservations"][0]["Instances"][0]["PrivateIpAddress"])


@contextmanager
def rented_in(folder: Path, servers: Path) -> Iterator[Rented]:
    """A machine and its cloud, for as long as the caller needs them."""
    project = project_in(folder)
    with (
        unused(folder / "network") as namespaces,
        script_on(namespaces.gateway, folder / "install") as (script, certificate),
        RentingCloud(folder / "cloud", namespaces) as cloud,
        machine_in(folder, servers, project, **cloud.environment) as rented,
    ):
        cloud.certificate = certificate
        made = _decided(project, namespaces, script)
        write_topology(project, made, PUBLISHED_TOPOLOGY)
        for role, count in HOSTS.items():
            made["roles"][role]["count"] = count
        write_topology(project, made)
        made["roles"]["tikv"]["capacity"] = "spot"
        write_topology(project, made, SPOT_TOPOLOGY)
        yield Rented(rented, cloud, namespaces)


@contextmanager
def bucket_for(rented: Rented) -> Iterator[Any]:
    """A bucket, which Benchlab may use, and by an instance profile the hosts."""
    with (
        bucket_on(rented.namespaces.gateway, REGION) as (endpoint, made),
        pytest.MonkeyPatch.context() as patch,
    ):
        rented.cloud.granted = {
            "AWS_ENDPOINT_URL_S3": endpoint,
            "AWS_DEFAULT_REGION": REGION,
            **{name.upper(): value for name, value in KEYS.items()},
        }
        rented.machine.environment["AWS_ENDPOINT_URL_S3"] = endpoint
        patch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
        rented.cloud.client("iam").create_instance_profile(InstanceProfileName="datasets")
        for name in (TOPOLOGY, SPOT_TOPOLOGY):
            file = rented.machine.here.configs / f"topologies/{name}.yaml"
            topology = yaml.safe_load(file.read_text())
            file.write_text(yaml.safe_dump({**topology, "instance_profile": "datasets"}))
        yield made


def project_in(folder: Path) -> Path:
    """A project whose configurations can be changed.

    All hosts share this machine's CPU and show its figures; rented ones have their own.
    """
    return machine.project_in(folder, "client_cpu")


def write_topology(project: Path, topology: Mapping[str, object], name: str = TOPOLOGY) -> None:
    """The topology of the small campaign."""
    text = yaml.safe_dump(dict(topology), sort_keys=False)
    (project / "configs/topologies" / f"{name}.yaml").write_text(text)


def settings(**changed: object) -> list[str]:
    """`--set` arguments of the small campaign, with changes (`__` for a dot)."""
    values: dict[str, object] = dict(SMALL)
    values |= {key.replace("__", "."): value for key, value in changed.items()}
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


def assert_every_host_measured(campaign: Campaign, trials: Sequence[TrialResult]) -> None:
    """Each trial has figures of every host of its fleet, and was judged by its neighbours.

    Every TiKV said whether it held writes back.
    """
    fleet = {host.name for host in campaign.plan.hosts}
    for trial in trials:
        reasons = {host.host: host.reason for host in trial.host_figures if not host.figures}
        assert not reasons, trial.trial.id
        assert {host.host for host in trial.host_figures} == fleet
        judged = {gate.gate: gate.status for gate in trial.gates}
        assert judged["write_stall"] == "pass", trial.gates
        assert {gate: judged[gate] for gate in machine.OF_NEIGHBOURS} == dict.fromkeys(
            machine.OF_NEIGHBOURS, "pass"
        )


def assert_nothing_left(rented: Rented, *campaigns: str) -> None:
    """No instance, key, group, host, process, secret or lock of these campaigns."""
    machine = rented.machine
    assert rented.cloud.holdings() == NOTHING
    assert rented.namespaces.addresses == ()
    assert "nothing to end" in machine.run(CLI, "reap")
    for campaign in campaigns:
        assert machine.left_running(campaign) == []
        directory = machine.here.campaign(campaign)
        for secret in ("ssh_key", "password", "fleet.json"):
            assert not (directory / secret).exists()
        lock = directory / fleet_files.DRIVER_LOCK
        assert not lock.exists() or lock.read_text() == ""


def _decided(project: Path, namespaces: Namespaces, script: str) -> dict[str, Any]:
    """The published fleet, with what it leaves to whoever rents it."""
    shipped = (project / f"configs/topologies/{PUBLISHED_TOPOLOGY}.yaml").read_text()
    own = {"ssh_from": f"{namespaces.gateway}/32", "tiup": script}
    return {**yaml.safe_load(shipped), **own}
