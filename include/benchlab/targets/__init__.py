"""Finds targets, where campaigns run, by name. A module in this package with ``Target`` is one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchlab.discovery import members
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan import topology as topologies
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.topology import Topology
from benchlab.targets import fleet_files
from benchlab.targets.cloud import lease_file
from benchlab.targets.target import BaseTarget, Taken


@cache
def by_name() -> dict[str, type[BaseTarget]]:
    """Target classes by name: ``local``, ``hosts``, ``ec2``, ..."""
    modules = members("benchlab.targets", "Target").values()
    return {module.Target.name: module.Target for module in modules}


def load_topology(home: Home, spec: ReportSpec) -> Topology | None:
    """The topology that a report type names, from ``configs/topologies/``.

    Returns:
        None if the target needs no topology.

    Raises:
        SpecError: there is no such topology, the report type names none but its target needs one
            (or the reverse), or it is not of the kind that the target needs.
    """
    kind = by_name()[spec.target].can.topology
    if spec.topology is None and kind is None:
        return None
    if spec.topology is None or kind is None:
        wants = f"needs a topology of kind {kind}" if kind else "has no topology: leave it out"
        raise SpecError(f"topology: {spec.topology or 'missing'}; the target {spec.target} {wants}")
    path = home.configs / "topologies" / f"{spec.topology}.yaml"
    if not path.is_file():
        known = ", ".join(file.stem for file in sorted(path.parent.glob("*.yaml"))) or "none"
        raise SpecError(f"topology: {spec.topology}: there is no {path}; topologies: {known}")
    found = topologies.load(path)
    if found.kind != kind:
        raise SpecError(
            f"topology: {spec.topology} is of kind {found.kind}, the target {spec.target} needs "
            f"one of kind {kind}"
        )
    return found


def give_back(
    home: Home,
    campaign: str,
    access: Access,
    *,
    target: str | None = None,
    ask_driver: bool = False,
    regions: Sequence[str] = (),
    by_person: bool = False,
) -> str:
    """End a campaign wherever it runs and give its hosts back; repeatable, needs no store.

    Example:
        ``give_back(home, "c1", Access(), by_person=True)`` is `benchlab give-back c1`.

    Args:
        target: the name of its target; None: the one that its directory names or the files there
            show, else ``local``.
        ask_driver, regions, by_person: see :class:`Taken`.

    Returns:
        What was given back, for people.

    Raises:
        TargetError: names what could not be given back.
    """
    taken = Taken(home, campaign, access, ask_driver, regions, by_person)
    return by_name()[target or _target_of(taken.state)].give_back(taken)


def _target_of(state: Path) -> str:
    """The target of a campaign, by its directory, in which any file may be lost or damaged."""
    mark = state / "target"
    named = mark.read_text(encoding="utf-8") if mark.exists() else ""
    if named in by_name():
        return named
    # A cluster's client may be rented on EC2, so the cluster comes first.
    if (state / lease_file.FILE).exists():
        return "tidb_cloud"
    if (state / fleet_files.RENTAL_FILE).exists():
        return "ec2"
    return "hosts" if (state / fleet_files.OWNER_FILE).exists() else "local"
