"""Finds options, entry points, versions and clients that contradict the rest of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchlab.published.audit.discrepancy import Discrepancy
from benchlab.published.model import Claim, Command, Procedure, PublishedReport, Workload
from benchlab.published.version_names import all_among

_OF_A_CLOUD = re.compile(r"(?<![a-z])(nlb|elb|alb)(?![a-z])", re.IGNORECASE)
_THIS_HOST = re.compile(r"^(127(\.\d+){3}|localhost|::1)$")


def check(report: PublishedReport) -> Iterator[Discrepancy]:
    """Find ``command_error``, ``entry_point_mismatch``, ``version_mismatch``, ``tool_mismatch``."""
    for command in report.procedure.commands:
        yield from _command(command)
    yield from _entry_point(report.procedure)
    yield from _tools(report.procedure)
    own = report.exact_versions or report.versions
    in_tables = [version for workload in report.workloads for version in workload.versions]
    for claim in report.claims:
        yield from _sentence(claim, None, [*own, *in_tables], own)
    for workload in report.workloads:
        yield from _table(workload, own)
        for claim in workload.claims:
            yield from _sentence(claim, workload, [*own, *workload.versions], own)


# ---------------------------------------------------------------- commands


def _command(command: Command) -> Iterator[Discrepancy]:
    """Options that the client does not have, and a port given as go-tpc's password."""
    where = f"line {command.line}, command"
    for option in command.unknown:
        why = f"{command.client} has no option {option}"
        yield Discrepancy("command_error", where, command.line, option, None, why)
    if port := command.port_as_password:
        why = "-p is the password, the port is -P"
        yield Discrepancy("command_error", where, command.line, f"-p {port}", f"-P {port}", why)


def _entry_point(procedure: Procedure) -> Iterator[Discrepancy]:
    """One discrepancy for all measuring commands that bypass the load balancer.

    How the data are loaded does not matter.
    """
    wrong = [one for one in procedure.commands if one.measures and _is_another(procedure, one)]
    if not procedure.balancers or not wrong:
        return
    bound = ", ".join(map(str, procedure.entry_ports))
    yield Discrepancy(
        "entry_point_mismatch",
        f"line {', '.join(str(command.line) for command in wrong)}, command",
        wrong[0].line,
        ", ".join(dict.fromkeys(f"{command.host}:{command.port}" for command in wrong)),
        ", ".join(procedure.balancers) + (f", port {bound}" if bound else ""),
    )


def _is_another(procedure: Procedure, command: Command) -> bool:
    """Whether a command certainly connects to something other than the load balancer."""
    if _OF_A_CLOUD.search(command.host):
        return "NLB" not in procedure.balancers
    if procedure.balancers == ("NLB",) and _THIS_HOST.match(command.host):
        return True
    ports = procedure.entry_ports
    return bool(ports) and command.port.isdecimal() and int(command.port) not in ports


def _tools(procedure: Procedure) -> Iterator[Discrepancy]:
    """Steps that name a client other than the one that their command calls."""
    for line, tool in procedure.other_tools:
        clients = dict.fromkeys(one.client for one in procedure.commands if one.line == line)
        yield Discrepancy("tool_mismatch", f"line {line}, plan", line, tool, ", ".join(clients))


# ---------------------------------------------------------------- versions


def _sentence(
    claim: Claim, workload: Workload | None, versions: Sequence[str], own: Sequence[str]
) -> Iterator[Discrepancy]:
    """A sentence that names another version instead of one of the page's, not in addition."""
    if not all_among(own, claim.versions) and not all_among(claim.versions, versions):
        where, named = claim.where(workload), ", ".join(claim.versions)
        name = workload.name if workload else None
        yield Discrepancy(
            "version_mismatch", where, claim.line, named, ", ".join(own), workload=name
        )


def _table(workload: Workload, own: Sequence[str]) -> Iterator[Discrepancy]:
    """A table with as many versions as the page, not all of which are the page's."""
    if len(workload.versions) == len(own) and not all_among(workload.versions, own):
        line = min((row.line for row in workload.rows), default=workload.line)
        where, named = f"line {line}, table of {workload.heading}", ", ".join(workload.versions)
        yield Discrepancy(
            "version_mismatch", where, line, named, ", ".join(own), workload=workload.name
        )
