"""A campaign on a deployment whose clients and servers do what a test wants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from benchlab.campaign.money import Money
from benchlab.campaign.recovery import Recovery
from benchlab.campaign.remaining import Remaining
from benchlab.campaign.sequence import TrialSequence
from benchlab.campaign.state import StateFile
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import EngineError
from benchlab.home import Home
from benchlab.hosts.executor import JobStatus
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.results.records import TrialResult
from benchlab.results.store import Store
from tests.builders import campaigns, plans, states
from tests.builders.fakes import FakeDeployment, FakeExecutor

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "sysbench"
GOOD = (GOLDEN / "sysbench_read_write_t4.txt").read_text()
KILLED = (GOLDEN / "sysbench_killed_midrun.txt").read_text()


class Bench:
    """A campaign on a deployment whose clients and servers do what a test wants."""

    def __init__(self, directory: Path, store: Store, **fields: Any) -> None:
        usual = {"workloads": ["oltp_read_write"], "threads": [4], "seconds": 5, "rounds": 2}
        self.spec: ReportSpec = plans.spec(**{**usual, **fields})
        checksum = " ".join(f"{table}:1:1" for table in self.spec.dataset.rows_by_table)
        facts = {
            side: campaigns.side_facts(version, dataset_checksum=checksum)
            for side, version in zip(SIDES, ("10.2.11", "10.11.5"), strict=True)
        }
        made = campaigns.campaign(self.spec, facts=facts)
        self.store, self.plan = store, made.plan
        self.redo: Callable[[], Collection[str]] | None = None
        store.add_campaign(made)
        self.broken_clients: set[str] = set()
        self.broken_servers: set[str] = set()
        self.executor = FakeExecutor(program=self.program)
        self.deployment = FakeDeployment(self.plan, self.executor)
        home = self.home = Home(ROOT, directory)
        self.state = StateFile(home.campaign(made.id))
        self.sequence = self.opened()
        self.directory = home.campaign(made.id)
        states.provisioned(self.state)
        states.prepared(self.state)

    def opened(self, redo: Callable[[], Collection[str]] | None = None) -> TrialSequence:
        """Its trials in another process, where ``redo`` replaces hosts that are lost."""
        of = StoredCampaign(self.home, self.store, self.store.campaign("c1"))
        money = Money(of, self.deployment)
        recovery = Recovery(of, self.deployment, self.state, money, redo)
        self.sequence = TrialSequence(
            of, self.deployment, self.state, Remaining(of), money, recovery, self.lay_out
        )
        return self.sequence

    def lay_out(self) -> None:
        """Prepare both sides."""
        states.prepared(self.state)

    def program(self, job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        """Servers run until they are stopped; clients print a good or a broken output."""
        if job in self.broken_servers:
            raise EngineError(f"{job} does not start")
        if not job.startswith("client"):
            return JobStatus("running"), ""
        if any(name in job for name in self.broken_clients):
            return JobStatus("complete", 1), KILLED
        return JobStatus("complete", 0), GOOD

    def results(self) -> list[TrialResult]:
        """The results in the store."""
        return self.store.trials("c1")

    def restores(self) -> int:
        """How often a snapshot was restored."""
        return sum(line.startswith("restore") for line in self.executor.log)
