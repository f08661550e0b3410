"""What a trial needs to know about its campaign: the deployed sides, and what all trials share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchlab.analysis.gates.gates import Gate
from benchlab.engines.database import OPEN_USER, USER, Database
from benchlab.plan.fields.client import Client
from benchlab.plan.fields.engines import Components
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import Side
from benchlab.results.records import Campaign
from benchlab.targets.target import Deployment, ServersOfOthers
from benchlab.workloads.client import Endpoint, program_of
from benchlab.workloads.workload import Workload


@dataclass(frozen=True)
class TrialSetup:
    """What is the same for every trial of a workload.

    Attributes:
        deployment: the target on which the sides are deployed.
        campaign: its record, with the chosen client and the facts of the deployed sides.
        workload: the module that implements the trial's workload.
        password: the password of the databases.
        gates: the gates of trials.
        rate: see :attr:`benchlab.workloads.client.Session.rate`.
        items: configuration items that the side's servers have in addition.
    """

    deployment: Deployment
    campaign: Campaign
    workload: Workload
    password: str = field(repr=False)
    gates: Sequence[Gate]
    rate: int | str | None = None
    items: Components = field(default_factory=dict)

    def engine(self, trial: PlannedTrial) -> Database:
        """A trial's side, with the configuration items that it or its workload alone has."""
        side, plan = self.deployment.engine(trial.side), self.campaign.plan
        if not plan.can.administers:
            return side
        items = self.campaign.report_type.items_of(plan.engine, trial.workload)
        for more in (items, self.items):
            side = side.with_components(more) if more else side
        return side


def client_config(deployment: Deployment, side: Side) -> Path:
    """The path of the client's option file, which contains the password, on the client's host."""
    of_others = isinstance(deployment, ServersOfOthers)
    name = f"workload-{side}.cnf" if of_others else "workload.cnf"
    return deployment.directory / name


def endpoint(
    deployment: Deployment, side: Side, workload: Workload, client: Client, password: str
) -> Endpoint:
    """The client's address and account; a client that cannot hide a password gets none."""
    if isinstance(deployment, ServersOfOthers):
        return deployment.endpoint(side)
    private = program_of(client.program, workload.PROGRAMS).takes_password
    balancer = deployment.balancer(side)
    return Endpoint(
        balancer.host,
        balancer.entry_port,
        USER if private else OPEN_USER,
        password if private else "",
        workload.DATABASE,
    )
