"""What a trial needs to know of where it runs: the deployed sides, and what all trials share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchlab.analysis.gates.gates import Gate
from benchlab.engines.database import OPEN_USER, USER
from benchlab.plan.dataset import AnyDataset
from benchlab.plan.report_type import Client, Side, SideSpec
from benchlab.results.records import SideFacts
from benchlab.targets.target import Deployment
from benchlab.workloads.client import Endpoint, program_of
from benchlab.workloads.workload import Workload


@dataclass(frozen=True)
class TrialSetup:
    """What is the same for every trial of a campaign.

    Attributes:
        client: its program has been chosen.
        client_path: what is started as the client; None: what its command says.
        workload: the module that has the trial's workload.
        facts: of each deployed side, for the gates; its dataset is checked where
            ``check_dataset`` is set.
        sides: what was asked for.
        environment: the campaign's; what the hosts of a fleet say of themselves is in it.
    """

    deployment: Deployment
    workload: Workload
    dataset: AnyDataset
    client: Client
    client_path: str | None
    warmup_seconds: int
    password: str = field(repr=False)
    gates: Sequence[Gate]
    facts: dict[Side, SideFacts]
    sides: Mapping[Side, SideSpec]
    environment: Mapping[str, str]


def client_config(deployment: Deployment) -> Path:
    """The client's option file with the password, on its host."""
    return deployment.directory / "workload.cnf"


def endpoint(
    deployment: Deployment, side: Side, workload: Workload, client: Client, password: str
) -> Endpoint:
    """Where the client connects, and as whom: without a password if it can take none in private."""
    private = program_of(client.program, workload.PROGRAMS).takes_password
    balancer = deployment.balancer(side)
    return Endpoint(
        balancer.host,
        balancer.entry_port,
        USER if private else OPEN_USER,
        password if private else "",
        workload.DATABASE,
    )
