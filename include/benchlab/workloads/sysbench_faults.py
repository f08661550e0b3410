"""Checks a report type before it runs: would sysbench refuse it, or measure it wrongly?

Example:
    ``list(faults(spec))`` is empty if sysbench can run the report type's workloads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchlab.language import Message, message
from benchlab.plan.fields.client import Client
from benchlab.plan.report_type import ReportSpec
from benchlab.workloads import lua_script
from benchlab.workloads.sysbench_options import options_of, rand_types_of

_DELETES = "oltp_delete"
_RESTORED = ("every_trial", "after_writes")
_BY_PACKAGE = "1.0.20"

_CONNECTS = "Benchlab connects the client to the side that is measured"
_PRINTS = "Benchlab reads what the client prints"
_UNMEASURED = "with it nothing is measured"
_REASONS = {
    _CONNECTS: (
        "config-file db-driver mysql-host mysql-port mysql-socket mysql-user mysql-password"
        " mysql-db pgsql-host pgsql-port pgsql-user pgsql-password pgsql-db pgsql-sslmode"
        " pgsql-variant"
    ),
    _PRINTS: "percentile histogram report-checkpoints verbosity debug db-debug mysql-debug",
    _UNMEASURED: "help version validate mysql-dry-run luajit-cmd",
    "write `threads`": "threads num-threads",
    "write `seconds`": "time max-time events max-requests forced-shutdown",
    "write `warmup_seconds`": "warmup-time",
    "write `dataset`": "tables table-size",
    "write `client.report_interval`": "report-interval",
    "write `client.rand_type`": "rand-type",
    "write `client.auto_inc`": "auto-inc",
    "at a fixed rate a change of throughput cannot be seen": "rate tx-rate",
    "the engine says which errors a transaction can be tried again after": "mysql-ignore-errors",
    "a connection that is lost ends a trial": "reconnect",
}
OWNED = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Options that a report type cannot choose, with the reason or what to write instead."""


def faults(spec: ReportSpec) -> Iterator[str]:
    """Why the workloads cannot be run as ``client`` and ``restore`` say."""
    yield from _versions(spec.client)
    yield from _options(spec)
    yield from lua_script.faults(spec)
    if _DELETES in spec.workloads and spec.restore not in _RESTORED:
        yield (
            f"restore: {spec.restore}: {_DELETES} never inserts, and would look for rows that an "
            f"earlier trial has deleted; write {' or '.join(_RESTORED)}"
        )


def warnings(spec: ReportSpec) -> list[Message]:
    """Warn of the rate above which ``oltp_delete`` mostly looks for rows that are gone.

    If rows are drawn uniformly, n deletes leave a fraction exp(-n / rows) of them: after as many
    deletes as rows, a fraction 1 - 1/e of the deletes has found a row.
    """
    if _DELETES not in spec.workloads:
        return []
    rows, seconds = spec.dataset.rows, spec.seconds + spec.warmup_seconds
    return [message("warning-deletes", rows=rows, seconds=seconds, rate=round(rows / seconds))]


def _versions(client: Client) -> Iterator[str]:
    if (client.archive is None) != (client.sha256 is None):
        yield "client: archive and sha256 belong together: write both, or neither"
    if client.archive is not None and client.path is not None:
        yield "client.path: sysbench is built from client.archive; leave one of them out"
    if (named := client.path or client.archive) is not None and client.version is None:
        yield (
            f"client.version: missing; write which sysbench {named} is, so that its options can "
            "be checked, and the program itself on the client's host"
        )
    if client.version is not None and not re.match(r"1\.[01]\.[0-9]", client.version):
        yield f"client.version: {client.version}: Benchlab knows sysbench 1.0.* and 1.1.*"


def _options(spec: ReportSpec) -> Iterator[str]:
    client, called = spec.client, f"sysbench {spec.client.version or _BY_PACKAGE}"
    types = rand_types_of(client.version)
    if client.rand_type is not None and client.rand_type not in types:
        yield f"client.rand_type: {client.rand_type}: {called} has {', '.join(types)}"
    known = frozenset[str]().union(*(options_of(name, client.version) for name in spec.workloads))
    for name in client.options:
        if name in OWNED:
            yield f"client.options.{name}: cannot be chosen: {OWNED[name]}"
        elif name not in known and client.script is None:
            yield f"client.options.{name}: {called} has none for {', '.join(spec.workloads)}"
