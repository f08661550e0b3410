"""What targets with a fleet share: on which ports each side's cluster is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Self

import pytest

from benchlab import engines
from benchlab.engines.cluster import Executors, Wanted
from benchlab.home import Home, find
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.plan import plan as planning
from benchlab.plan import pricing
from benchlab.plan.plan import Plan
from benchlab.targets import fleet_files
from benchlab.targets.fleet import CLIENT_TOOLS, SERVER_TOOLS, STORAGE_TOOLS, FleetTarget
from benchlab.targets.target import Say, Taken
from tests.builders import plans

HOST = FleetHost(
    "all-1", ("client", "tidb"), "192.0.2.1", "192.0.2.1", "admin", "ssh-ed25519 A", Path("/data")
)


class Clusters:
    """In place of the engine's clusters: notes which are removed, and from which ports."""

    def __init__(self) -> None:
        self.removed: list[tuple[str, int]] = []

    def on_fleet(self, fleet: Fleet, executors: Executors, wanted: Wanted) -> Self:
        """The one that is asked for next."""
        self.wanted = wanted
        return self

    def destroy(self) -> None:
        """Note it."""
        self.removed.append((self.wanted.side, self.wanted.port_set))


class Owned(FleetTarget):
    """A fleet of one host that nobody reaches."""

    name = "hosts"

    def preflight(self) -> None:
        """Nothing to refuse."""

    def hosts(self, say: Say) -> Fleet:
        """The one host."""
        return Fleet((HOST,))

    @classmethod
    def return_hosts(cls, taken: Taken) -> str:
        """Nothing is to be cleaned."""
        return ""


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Clusters:
    """What the targets of this test deploy."""
    made = Clusters()
    monkeypatch.setattr(engines, "cluster_of", lambda name: made)
    return made


def target(folder: Path, plan: Plan, spec: Any) -> Owned:
    """The campaign's target, as another process of the campaign makes it."""
    made = Owned(Home(find().project, folder), "c1", plan, spec, Access())
    made.state.mkdir(parents=True, exist_ok=True)
    made.keep(Fleet((HOST,)))
    return made


def port_sets(of: Owned, clusters: Clusters) -> dict[str, int]:
    """The port set of each side."""
    found: dict[str, int] = {}
    for side in of.sides:
        of.engine(side)
        found[side] = clusters.wanted.port_set
    return found


def test_sides_swap_ports_once_both_clusters_are_gone(tmp_path: Path, clusters: Clusters) -> None:
    """Whichever process asks: where a cluster is follows from what is on the hosts."""
    spec = plans.fleet_spec(rounds=2, deployments=2)
    prices = pricing.load(find().configs / "prices.csv")
    plan = planning.make(
        plans.resolved(spec, "tidb", topology=plans.ec2_topology(), prices=prices), "c1"
    )
    first = port_sets(target(tmp_path, plan, spec), clusters)
    assert sorted(first.values()) == [0, 1]
    target(tmp_path, plan, spec).begin_deployment(1)
    assert clusters.removed == [], "of the first one nothing is in the way"
    for _ in plan.sides:  # before each side is deployed
        target(tmp_path, plan, spec).begin_deployment(2)
    assert sorted(clusters.removed) == sorted(first.items()), "each once, from the ports it had"
    second = port_sets(target(tmp_path, plan, spec), clusters)
    assert second == {side: 1 - number for side, number in first.items()}


def test_every_program_that_hosts_need_is_in_the_lists_that_people_install_from() -> None:
    """What every Debian has is not: those packages are essential, or needed by such."""
    everywhere = {"findutils", "mawk", "tar", "util-linux"}
    wanted = {*(CLIENT_TOOLS | SERVER_TOOLS | STORAGE_TOOLS).values()} - everywhere
    assert {"iproute2", "openssh-client", "rsync"} <= wanted
    project = Path(__file__).parents[3]
    listed = re.findall(
        r"^\??([a-z0-9-]+)", (project / "requirements-debian.txt").read_text(), re.M
    )
    assert wanted <= {*listed}
    guide = (project / "docs/guide/hosts.md").read_text()
    assert wanted <= {*re.findall(r"`([a-z0-9-]+)`", guide.partition("**Topology**")[0])}


def test_hosts_that_are_given_back_have_no_deployment(tmp_path: Path, clusters: Clusters) -> None:
    """A campaign that is resumed on other hosts begins there."""
    spec = plans.fleet_spec()
    given_back = target(tmp_path, plans.plan(spec), spec)
    given_back.begin_deployment(2)
    assert (given_back.state / fleet_files.DEPLOYMENT_FILE).exists()
    Owned.give_back(Taken(given_back.home, "c1", Access()))
    assert not (given_back.state / fleet_files.DEPLOYMENT_FILE).exists()
