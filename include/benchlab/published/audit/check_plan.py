"""Options, entry points, versions and tools that do not fit the rest of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchlab.published import commands
from benchlab.published.audit.finding import Finding
from benchlab.published.commands import CommandLine
from benchlab.published.model import Claim, Command, PublishedReport, StatedSetting, Workload
from benchlab.published.passwords import PORTS
from benchlab.published.version_names import all_among

_OF_A_CLOUD = re.compile(r"(?<![a-z])(nlb|elb|alb)(?![a-z])", re.IGNORECASE)
_THIS_HOST = re.compile(r"^(127(\.\d+){3}|localhost|::1)$")
_OTHER_TOOL = re.compile("BenchmarkSQL")


# "Perform stress tests on TiDB via HAProxy", and the translations
_BALANCED = re.compile(
    r"(?:\bvia |\bBy using |\bWith the |\bthrough |通过 |经过 )(?:AWS )?(HAProxy|NLB)\b"
)
_BOUND = re.compile(r"^\s*bind\s+[^\s#]*:(\d{1,5})\b", re.MULTILINE)


def check(report: PublishedReport) -> Iterator[Finding]:
    """``command_error``, ``entry_point_mismatch``, ``version_mismatch``, ``tool_mismatch``."""
    read = [
        (command, commands.read(command, report.setting.sysbench_version))
        for command in report.setting.commands
    ]
    for command, line in read:
        yield from _command(command, line)
    yield from _entry_point(report.setting, [pair for pair in read if pair[1].measures])
    own = report.exact_versions or report.versions
    in_tables = [version for workload in report.workloads for version in workload.versions]
    for claim in report.claims:
        yield from _sentence(claim, None, [*own, *in_tables], own)
    for workload in report.workloads:
        yield from _table(workload, own)
        for claim in workload.claims:
            yield from _sentence(claim, workload, [*own, *workload.versions], own)
    yield from _tools(report.setting, [line for _, line in read])


# ---------------------------------------------------------------- commands


def _command(command: Command, line: CommandLine) -> Iterator[Finding]:
    """Options that the client does not have, and a port given as go-tpc's password."""
    where = f"line {command.line}, command"
    for option in line.unknown.values():
        why = f"{line.client} has no option {option}"
        yield Finding("command_error", where, command.line, option, None, why)
    password = line.options.get("password") or ""
    is_port = password.isdecimal() and int(password) in PORTS
    if line.client != "sysbench" and "port" not in line.options and is_port:
        why = "-p is the password, the port is -P"
        wrong, right = f"-p {password}", f"-P {password}"
        yield Finding("command_error", where, command.line, wrong, right, why)


def load_balancers(setting: StatedSetting) -> tuple[str, ...]:
    """The load balancers through which the plan says that it measures."""
    said = setting.said_in("plan")
    return tuple(dict.fromkeys(name for one in said for name in _BALANCED.findall(one.text)))


def entry_ports(setting: StatedSetting) -> tuple[int, ...]:
    """The ports that the configuration of HAProxy in the parameters binds."""
    ports = (int(port) for block in setting.parameters for port in _BOUND.findall(block.text))
    return tuple(dict.fromkeys(ports))


def _entry_point(
    setting: StatedSetting, read: list[tuple[Command, CommandLine]]
) -> Iterator[Finding]:
    """One finding for all commands that measure; how the data are loaded does not matter."""
    described, ports = load_balancers(setting), entry_ports(setting)
    wrong = [pair for pair in read if _is_another(described, ports, pair[1])]
    if not described or not wrong:
        return
    bound = ", ".join(map(str, ports))
    yield Finding(
        "entry_point_mismatch",
        f"line {', '.join(str(command.line) for command, _ in wrong)}, command",
        wrong[0][0].line,
        ", ".join(dict.fromkeys(":".join(line.address) for _, line in wrong)),
        ", ".join(described) + (f", port {bound}" if bound else ""),
    )


def _is_another(described: Sequence[str], ports: Sequence[int], line: CommandLine) -> bool:
    """Whether a command certainly connects to something other than the load balancer."""
    host, port = line.address
    if _OF_A_CLOUD.search(host):
        return "NLB" not in described
    if described == ("NLB",) and _THIS_HOST.match(host):
        return True
    return bool(ports) and port.isdecimal() and int(port) not in ports


# ---------------------------------------------------------------- versions


def _sentence(
    claim: Claim, workload: Workload | None, versions: Sequence[str], own: Sequence[str]
) -> Iterator[Finding]:
    """A sentence that names another version instead of the page's, not in addition to them."""
    if not all_among(own, claim.versions) and not all_among(claim.versions, versions):
        where, named = claim.where(workload), ", ".join(claim.versions)
        yield Finding("version_mismatch", where, claim.line, named, ", ".join(own))


def _table(workload: Workload, own: Sequence[str]) -> Iterator[Finding]:
    """A table with as many versions as the page, not all of which are the page's."""
    if len(workload.versions) == len(own) and not all_among(workload.versions, own):
        line = min((row.line for row in workload.rows), default=workload.line)
        where, named = f"line {line}, table of {workload.heading}", ", ".join(workload.versions)
        yield Finding("version_mismatch", where, line, named, ", ".join(own))


# ---------------------------------------------------------------- tools


def _tools(setting: StatedSetting, lines: Sequence[CommandLine]) -> Iterator[Finding]:
    """Steps that name a different client than the commands call."""
    used = ", ".join(sorted({line.client for line in lines if line.client != "sysbench"}))
    for said in setting.said_in("plan"):
        if used and (other := _OTHER_TOOL.search(said.text)):
            yield Finding("tool_mismatch", f"line {said.line}, plan", said.line, other[0], used)
