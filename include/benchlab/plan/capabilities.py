"""What a target can do: its module in ``targets/`` declares it, and each plan keeps it.

Example:
    ``if plan.can.rents: ...`` instead of a comparison of the target's name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Capabilities:
    """What a target is and can do.

    Attributes:
        topology: the kind of topology it needs; None: it has one machine, or existing servers.
        rents: whether it costs money.
        deploys: whether the servers are made for the campaign; else they are reached by the
            ``connections`` of its report type, and left as they are.
        administers: whether Benchlab installs, configures, stops and copies the servers. Otherwise
            a restore loads the tables anew, and no item of a configuration can be set.
        chooses_version: whether a side has the version that its report type names; otherwise one
            version is measured, which somebody else chose.
        shares_machine: whether client and servers run on one machine.
        slows_down: whether it can slow the candidate down on purpose.
        keeps_datasets: whether its hosts can restore datasets from snapshots on S3.
        deferrable: whether a trial's task can be set aside while the client runs.
    """

    topology: str | None = None
    rents: bool = False
    deploys: bool = True
    administers: bool = True
    chooses_version: bool = True
    shares_machine: bool = False
    slows_down: bool = False
    keeps_datasets: bool = False
    deferrable: bool = True

    @property
    def loads_together(self) -> bool:
        """Whether one stage loads all sides at once, which takes a host for each server.

        Agrees with :func:`benchlab.plan.steps.loads_at_once`.
        """
        return self.rents and self.deploys_clusters

    @property
    def deploys_clusters(self) -> bool:
        """Whether Benchlab deploys a cluster for each side, whose leaders it may then move."""
        return self.topology is not None and self.administers
