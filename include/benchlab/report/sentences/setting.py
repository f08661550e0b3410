"""The sentences on the setting, as plain text: hosts, programs, parameters, variables.

Of a fleet: who shares which hosts, what lies between client and servers.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchlab.language import side_name
from benchlab.language.names import items
from benchlab.language.numbers import MISSING
from benchlab.report.model.hardware import FleetHardware
from benchlab.report.model.report import Report, ReportSide


def title(report: Report) -> str:
    """The heading of the environment, which on the published pages names the cloud."""
    rented = report.fleet is not None and report.fleet.rented
    return report.language.say("environment-ec2" if rented else "environment")


def notes(report: Report, fleet: FleetHardware) -> tuple[str, ...]:
    """What limits or helps the conclusions because of how the fleet was used."""
    say = report.language.say
    found = [say("fleet-same-hosts"), _entry(report, fleet)]
    if report.placement == "sequential":
        found.append(say("fleet-sequential"))
    if report.restored_dataset:
        found.append(say("fleet-restored-dataset"))
    return tuple(found)


def _entry(report: Report, fleet: FleetHardware) -> str:
    """How the client's connections come to the servers."""
    client = next((role for role in fleet.roles if role.role == "client"), None)
    host = client.hosts[0] if client and client.hosts else None
    others = [role for role in fleet.shared.get(host or "", ()) if role != "client"]
    return report.language.say(
        "fleet-entry",
        host=host or report.language.say("fleet-client-host"),
        port=str(report.entry_port),
        others=items(others, report.language) or "none",
        servers=fleet.number("tidb"),
    )


def published(report: Report) -> str:
    """How the plan relates to the published document; its differences are listed after it."""
    found, language = report.published, report.language
    if found is None:
        return ""
    said = [language.say("published-document", document=found.document)]
    if found.differences:
        said.append(language.say("published-differences"))
    return language.say("between-sentences").join(said)


def tool(report: Report, name: str, value: str) -> str:
    """A tool's version; of the client with that of the published document, where it is another."""
    theirs = report.published.client if report.published else None
    if theirs is None:
        return value
    # TPC-C's clients have a row of their own: the row of TiUP is what deploys the clusters.
    row = "client" if report.client == "TPC-C" else theirs.split()[0]
    if name != row:
        return value
    return report.language.say("published-tool", version=value, published=theirs)


def parameters(report: Report) -> str:
    """Whether the sides were asked for the same parameters."""
    asked = (
        "none" if not report.parameter_blocks else "same" if report.same_parameters else "different"
    )
    labels = {side: each.label for side, each in report.sides.items()}
    return report.language.say(f"parameters-{asked}", **labels)


def only_side(report: Report, side: ReportSide) -> str:
    """The heading of what one side has alone."""
    return report.language.say("head-only-side", side=side_name(side.side), version=side.version)


def variables(report: Report) -> str:
    """Which effective variables differ though nobody asked, in one sentence."""
    found, say = report.variables, report.language.say
    if not found.known:
        return say("variables-unknown", missing=MISSING)
    return say(
        "variables-found",
        kind="cluster" if report.servers else "server",
        compared=found.compared,
        changed=len(found.changed),
        trivial=found.trivial,
        **{side: len(names) for side, names in found.only.items()},
    )


def changed(report: Report) -> str:
    """So many variables have another value on each side."""
    return report.language.say(
        "variables-changed",
        kind="cluster" if report.servers else "server",
        count=len(report.variables.changed),
    )


def only(report: Report, side: ReportSide) -> str:
    """So many variables does one side have alone."""
    return report.language.say(
        "variables-only",
        kind="cluster" if report.servers else "server",
        count=len(report.variables.only[side.side]),
        side=side.label,
    )


def asked_alike(report: Report) -> str | None:
    """The variables that were set alike and differ nevertheless."""
    names = [change.name for change in report.variables.changed if change.asked]
    if not names:
        return None
    return report.language.say("variables-asked-alike", names=items(names, report.language))


def names(report: Report, found: Iterable[str]) -> str:
    """Identifiers, one after the other."""
    return items(found, report.language)


def machine(report: Report) -> tuple[tuple[str, str], ...]:
    """What the machine told of itself, as names and values."""
    items_told = report.machine.items()
    return tuple((_known(report, f"machine-{name}", name), value) for name, value in items_told)


def software(report: Report, side: ReportSide) -> str:
    """What runs on a side: the version, and what the server says of itself."""
    if side.server is None or side.server == side.version:
        return side.version
    return report.language.say("software-version", asked=side.version, reported=side.server)


def with_side(report: Report, name: str, side: ReportSide) -> str:
    """A name with that of its side behind it."""
    return report.language.say("software-component", service=name, side=side_name(side.side))


def tool_name(report: Report, name: str) -> str:
    """A tool's name in the software table."""
    return _known(report, f"tool-{name}", name)


def _known(report: Report, known: str, name: str) -> str:
    """A recorded name in the report's language, where it has a message for it."""
    return report.language.say(known) if report.language.has(known) else name
