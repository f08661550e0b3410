"""The sentences on a fleet: who shares which hosts, what lies between client and servers."""

from __future__ import annotations

from benchlab.report.hardware import FleetHardware
from benchlab.report.model import Report

SQL_SERVERS = "TiDB servers"
AFTER_RESTORE = (
    "After a restore the hosts have nothing of the data in their caches, and the trial waits until "
    "the leaders of the regions are spread evenly, move no more, or a time limit is over."
)


def title(report: Report) -> str:
    """The heading of the environment, which on the published pages names the cloud."""
    rented = report.fleet is not None and report.fleet.rented
    return "Test environment (AWS EC2)" if rented else "Test environment"


def notes(report: Report, fleet: FleetHardware) -> tuple[str, ...]:
    """What limits or helps the conclusions because of how the fleet was used."""
    client = next((role for role in fleet.roles if role.role == "client"), None)
    name = client.hosts[0] if client and client.hosts else "its host"
    others = [role for role in fleet.shared.get(name, ()) if role != "client"]
    alone = (
        f"which also runs {', '.join(others)}: load and servers take from each other"
        if others
        else "where nothing else runs"
    )
    port = f", port {report.entry_port}" if report.entry_port else ""
    number = fleet.number("tidb")
    servers = f"the {number} {SQL_SERVERS}" if number > 1 else "the one TiDB server"
    found = [
        (
            "The clusters of both sides lie on the same hosts and run one at a time, so that no "
            "difference between hosts can explain a difference between the sides."
        ),
        (
            f"The client connects to HAProxy on its own host ({name}{port}), {alone}. HAProxy "
            f"passes the connections on to {servers} in turn (roundrobin)."
        ),
    ]
    if report.placement == "sequential":
        found.append(
            "Placement is sequential: all of the baseline was measured before the candidate. "
            "Whatever of the hosts or the cloud changed in the meantime is in the difference "
            "between the sides, and in no interval."
        )
    if report.restored_dataset:
        found.append(
            "The dataset was restored from a dataset snapshot on both sides. It holds the rows as "
            "they were loaded once, but they lie on the disks as a restore writes them, in order "
            "and without the traces of loading: throughputs may differ from those of a campaign "
            "that loaded its dataset."
        )
    return tuple(found)


def published(report: Report) -> str:
    """How the plan relates to the published document; its differences are listed after it."""
    found = report.published
    if found is None:
        return ""
    differences = (
        " Where the plan differs from the document, besides what was chosen when the campaign was "
        "started:"
        if found.differences
        else ""
    )
    return (
        f"This is the plan of \u201c{found.document}\u201d, measured anew. The document's figures "
        "are from other hosts and another time: its changes can be set beside those of this "
        f"report, its throughputs cannot.{differences}"
    )


def tool(report: Report, name: str, value: str) -> str:
    """A tool's version; of the client with that of the published document, where it is another."""
    theirs = report.published.client if report.published else None
    if theirs is None:
        return value
    # TPC-C's clients have a row of their own: the row of TiUP is what deploys the clusters.
    row = "client" if report.client == "TPC-C" else theirs.split()[0]
    if name != row:
        return value
    return f"{value} (the published document: {theirs})"


def parameters(report: Report) -> str:
    """Whether the sides were asked for the same parameters."""
    both = " and ".join(side.label for side in report.sides.values())
    if not report.parameter_blocks:
        return f"{both} are asked for no parameters: their defaults apply."
    if report.same_parameters:
        return f"{both} are asked for the same parameters."
    return f"{both} are asked for different parameters, as listed."
