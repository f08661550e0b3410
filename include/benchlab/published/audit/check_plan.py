"""Options, entry points, versions and tools that do not fit the rest of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchlab.published.audit.finding import Finding
from benchlab.published.plan import command_line
from benchlab.published.plan.command_line import NOT_MEASURED, PORTS, CommandLine
from benchlab.published.reading.model import Claim, Command, PublishedReport, Workload
from benchlab.published.reading.stated import place
from benchlab.published.reading.version_names import same_version

_OF_A_CLOUD = re.compile(r"(?<![a-z])(nlb|elb|alb)(?![a-z])", re.IGNORECASE)
_THIS_HOST = re.compile(r"^(127(\.\d+){3}|localhost|::1)$")
_OTHER_TOOL = re.compile(r"BenchmarkSQL", re.IGNORECASE)
_GO_TPC = re.compile(r"tiup\s+bench|go-tpc")
_SYSBENCH = re.compile(r"sysbench\s+(?:version\s+)?v?(\d+(?:\.\d+)+)", re.IGNORECASE)


def check(report: PublishedReport) -> Iterator[Finding]:
    """``command_error``, ``entry_point_mismatch``, ``version_mismatch``, ``tool_mismatch``."""
    read = [
        (command, line)
        for command in report.setting.commands
        if (line := command_line.read(command, report.setting.sysbench_version))
    ]
    for command, line in read:
        yield from _command(command, line)
    yield from _entry_point(report, [pair for pair in read if pair[1].action not in NOT_MEASURED])
    own = report.exact_versions or report.versions
    in_tables = [version for workload in report.workloads for version in workload.versions]
    for claim in report.claims:
        yield from _sentence(claim, None, [*own, *in_tables], own)
    for workload in report.workloads:
        yield from _table(workload, own)
        for claim in workload.claims:
            yield from _sentence(claim, workload, [*own, *workload.versions], own)
    yield from _tools(report)


# ---------------------------------------------------------------- commands


def _command(command: Command, line: CommandLine) -> Iterator[Finding]:
    """Options that the client does not have, and a port given as go-tpc's password."""
    where = f"line {command.line}, command"
    for option in line.unknown.values():
        why = f"{command.tool} has no option {option}"
        yield Finding("command_error", where, command.line, option, None, why)
    password = line.options.get("password") or ""
    is_port = password.isdecimal() and int(password) in PORTS
    if line.client == "go-tpc" and "port" not in line.options and is_port:
        why = "-p is the password, the port is -P"
        wrong, right = f"-p {password}", f"-P {password}"
        yield Finding("command_error", where, command.line, wrong, right, why)


def _entry_point(
    report: PublishedReport, commands: list[tuple[Command, CommandLine]]
) -> Iterator[Finding]:
    """One finding for all commands that measure; how the data are loaded does not matter."""
    described = report.setting.load_balancers
    wrong = [(command, line) for command, line in commands if _is_another(report, line)]
    if not described or not wrong:
        return
    ports = ", ".join(str(port) for port in report.setting.entry_ports)
    yield Finding(
        "entry_point_mismatch",
        f"line {', '.join(str(command.line) for command, _ in wrong)}, command",
        wrong[0][0].line,
        ", ".join(dict.fromkeys(":".join(line.address) for _, line in wrong)),
        ", ".join(described) + (f", port {ports}" if ports else ""),
    )


def _is_another(report: PublishedReport, line: CommandLine) -> bool:
    """Whether a command certainly connects to something other than the load balancer."""
    host, port = line.address
    of_cloud = any(_OF_A_CLOUD.search(name) for name in report.setting.load_balancers)
    if _OF_A_CLOUD.search(host):
        return not of_cloud
    if of_cloud and len(report.setting.load_balancers) == 1 and _THIS_HOST.match(host):
        return True
    ports = report.setting.entry_ports
    return bool(ports) and port.isdecimal() and int(port) not in ports


# ---------------------------------------------------------------- versions


def _sentence(
    claim: Claim, workload: Workload | None, versions: Sequence[str], own: Sequence[str]
) -> Iterator[Finding]:
    """A sentence that names another version instead of the page's, not in addition to them."""
    if not _all_among(own, claim.versions) and not _all_among(claim.versions, versions):
        where, named = place(claim, workload), ", ".join(claim.versions)
        yield Finding("version_mismatch", where, claim.line, named, ", ".join(own))


def _table(workload: Workload, own: Sequence[str]) -> Iterator[Finding]:
    """A table with as many versions as the page, not all of which are the page's."""
    if len(workload.versions) == len(own) and not _all_among(workload.versions, own):
        line = min((row.line for row in workload.rows), default=workload.line)
        where, named = f"line {line}, table of {workload.heading}", ", ".join(workload.versions)
        yield Finding("version_mismatch", where, line, named, ", ".join(own))


def _all_among(versions: Sequence[str], known: Sequence[str]) -> bool:
    return all(any(same_version(version, one) for one in known) for version in versions)


# ---------------------------------------------------------------- tools


def _tools(report: PublishedReport) -> Iterator[Finding]:
    """Steps that name a different client than the commands call, or a different sysbench version
    than the software table.
    """
    setting = report.setting
    tools = {command.tool for command in setting.commands}
    used = ", ".join(sorted(filter(_GO_TPC.match, tools)))
    if used and not any(map(_OTHER_TOOL.search, tools)):
        for step in setting.steps:
            if found := _OTHER_TOOL.search(step.text):
                yield Finding("tool_mismatch", f"line {step.line}, plan", step.line, found[0], used)
    software = setting.sysbench_version or ""
    if version := re.search(r"\d+(?:\.\d+)+", software):
        for step in setting.steps:
            for found in _SYSBENCH.finditer(step.text):
                if not same_version(found[1], version[0]):
                    where = f"line {step.line}, plan"
                    yield Finding("tool_mismatch", where, step.line, found[0], software)
