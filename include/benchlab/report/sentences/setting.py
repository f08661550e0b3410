"""The sentences on the setting, as plain text: hosts, programs, parameters, variables.

Each makes a sentence or the rows of a table: ``software(report)`` is
``[("MariaDB (baseline)", "10.2.11", None), ..., ("sysbench", "1.0.20", None)]``.
"""

from __future__ import annotations

from benchlab.language import side_name
from benchlab.language.names import items
from benchlab.language.numbers import MISSING
from benchlab.report.model.hardware import FleetHardware
from benchlab.report.model.report import Report, ReportSide
from benchlab.report.model.software import Row, same
from benchlab.results.records import HASH_OF, SCRIPT, SCRIPT_BEFORE


def notes(report: Report, fleet: FleetHardware) -> tuple[str, ...]:
    """What limits or helps the conclusions because of how the fleet was used."""
    say = report.language.say
    same = [say("fleet-same-hosts")] if report.has_verdicts else []
    found = [*same, _entry(report, fleet)]
    if report.plan.placement == "sequential" and report.has_verdicts:
        found.append(say("fleet-sequential"))
    if report.restored_dataset:
        found.append(say("fleet-restored-dataset"))
    return tuple(found)


def _entry(report: Report, fleet: FleetHardware) -> str:
    """How the client's connections come to the servers."""
    client = next((role for role in fleet.roles if role.role == "client"), None)
    host = client.hosts[0] if client and client.hosts else None
    others = [role for role in fleet.shared.get(host or "", ()) if role != "client"]
    where = {
        "host": host or report.language.say("fleet-client-host"),
        "others": items(others, report.language) or "none",
    }
    if report.spec.load_balancer == "none":
        to = "server" if report.plan.can.administers else "endpoint"
        return report.language.say("fleet-entry-direct", to=to, **where)
    port, servers = str(report.spec.ports.entry), fleet.number("tidb")
    return report.language.say("fleet-entry", port=port, servers=servers, **where)


def published(report: Report) -> str:
    """How the plan relates to the published document; its differences are listed after it."""
    found, language = report.spec.published, report.language
    if found is None:
        return ""
    said = [language.say("published-document", document=found.document)]
    if found.sentences:
        said.append(language.say("published-differences"))
    return language.say("between-sentences").join(said)


def parameters(report: Report) -> str:
    """Whether the sides were asked for the same parameters."""
    plan = report.plan
    if not plan.can.administers and report.spec.engines[plan.engine].by_workload:
        return report.language.say("parameters-not-set")
    alike = "same" if same(report.campaign) else "different"
    labels = {name: side.label for name, side in report.sides.items()}
    return report.language.say(
        f"parameters-{alike if report.parameter_blocks else 'none'}", **labels
    )


def variables(report: Report) -> str:
    """How many effective variables differ though nobody asked for it, in one sentence."""
    found, say = report.variables, report.language.say
    if not found.known:
        return say("variables-unknown", missing=MISSING)
    return say(
        "variables-found",
        compared=found.compared,
        changed=len(found.changed),
        trivial=found.trivial,
        **{side: len(names) for side, names in found.only.items()},
    )


def asked_alike(report: Report) -> str | None:
    """The variables that were set alike but differ, in one sentence; None if there are none."""
    names = [change.name for change in report.variables.changed if change.asked]
    if not names:
        return None
    return report.language.say("variables-asked-alike", names=items(names, report.language))


def machine(report: Report) -> list[tuple[str, str]]:
    """What is recorded of the machine, as names and values."""
    facts = report.machine.items()
    return [(_name(report, f"machine-{name}", name), value) for name, value in facts]


def software(report: Report) -> list[Row]:
    """The rows of the software table."""
    tools, hashes = report.software.items(), report.environment
    return [
        *(report.servers or [_server(report, side) for side in report.sides.values()]),
        *(
            (
                _name(report, f"tool-{name}", name),
                tool(report, name, version),
                hashes.get(HASH_OF.format(name)),
            )
            for name, version in tools
        ),
    ]


def script(report: Report) -> str | None:
    """What the hash of TiUP's install script covers, and if it has changed; None: no script."""
    if SCRIPT not in report.environment:
        return None
    day, _, sha256 = report.environment.get(SCRIPT_BEFORE, "").partition(" ")
    said = [report.language.say("software-script")]
    if sha256:
        said.append(report.language.say("software-script-changed", day=day, sha256=sha256))
    return report.language.say("between-sentences").join(said)


def _server(report: Report, side: ReportSide) -> Row:
    """What runs on a side: the version, and what the server says of itself."""
    say, name = report.language.say, side_name(side.side)
    version = side.version
    if side.server is not None and side.server != version:
        version = say("software-version", asked=version, reported=side.server)
    return say("software-component", service=report.engine_title, side=name), version, side.git_hash


def tool(report: Report, name: str, value: str) -> str:
    """A tool's version; the client's beside the one that a published document names."""
    theirs = report.spec.published.client if report.spec.published else None
    if theirs is None:
        return value
    # TPC-C's client has a row of its own: the row ``tiup`` is what deploys the clusters.
    row = "client" if report.client == "TPC-C" else theirs.split()[0]
    if name != row:
        return value
    return report.language.say("published-tool", version=value, published=theirs)


def _name(report: Report, known: str, name: str) -> str:
    """A recorded name in the report's language, where it has a message for it."""
    known = known.replace("_", "-")
    return report.language.say(known) if report.language.has(known) else name
