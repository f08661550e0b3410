"""Commands that do not do what the page says, or that their client refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlab.published.audit.finding import Finding
from benchlab.published.plan import command_line
from benchlab.published.plan.command_line import NOT_MEASURED, CommandLine
from benchlab.published.reading.model import Command, PublishedReport

_PORTS = range(1024, 65536)
_OF_A_CLOUD = re.compile(r"(?<![a-z])(nlb|elb|alb)(?![a-z])", re.IGNORECASE)
_THIS_HOST = re.compile(r"^(127(\.\d+){3}|localhost|::1)$")


def check(report: PublishedReport) -> Iterator[Finding]:
    """``command_error``, ``entry_point_mismatch``."""
    read = [
        (command, line)
        for command in report.setting.commands
        if (line := command_line.read(command, report.setting.sysbench_version))
    ]
    for command, line in read:
        yield from _refused(command, line)
        yield from _password_as_port(command, line)
    yield from _entry_point(report, [pair for pair in read if pair[1].action not in NOT_MEASURED])


def _refused(command: Command, line: CommandLine) -> Iterator[Finding]:
    for option in line.unknown.values():
        yield Finding(
            "command_error",
            f"line {command.line}, command",
            command.line,
            option,
            None,
            f"{command.tool} has no option {option}",
        )


def _password_as_port(command: Command, line: CommandLine) -> Iterator[Finding]:
    password = line.options.get("password") or ""
    if line.client != "go-tpc" or "port" in line.options or not password.isdecimal():
        return
    if int(password) in _PORTS:
        yield Finding(
            "command_error",
            f"line {command.line}, command",
            command.line,
            f"-p {password}",
            f"-P {password}",
            "-p is the password, the port is -P",
        )


def _entry_point(
    report: PublishedReport, commands: list[tuple[Command, CommandLine]]
) -> Iterator[Finding]:
    """One for all commands that measure; where the data are loaded through is not of its matter."""
    described = report.setting.load_balancers
    wrong = [(command, line) for command, line in commands if _is_another(report, line)]
    if not described or not wrong:
        return
    ports = ", ".join(str(port) for port in report.setting.entry_ports)
    yield Finding(
        "entry_point_mismatch",
        f"line {', '.join(str(command.line) for command, _ in wrong)}, command",
        wrong[0][0].line,
        ", ".join(dict.fromkeys(f"{line.host or ''}:{line.port or ''}" for _, line in wrong)),
        ", ".join(described) + (f", port {ports}" if ports else ""),
    )


def _is_another(report: PublishedReport, line: CommandLine) -> bool:
    """Whether a command certainly connects to something else than the load balancer."""
    host, port = line.host or "", line.port or ""
    of_cloud = any(_OF_A_CLOUD.search(name) for name in report.setting.load_balancers)
    if _OF_A_CLOUD.search(host):
        return not of_cloud
    if of_cloud and len(report.setting.load_balancers) == 1 and _THIS_HOST.match(host):
        return True
    ports = report.setting.entry_ports
    return bool(ports) and port.isdecimal() and int(port) not in ports
