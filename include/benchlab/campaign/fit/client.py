"""Checks that workloads, dataset and client go together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchlab import workloads
from benchlab.plan.report_type import ReportSpec
from benchlab.workloads import sysbench, sysbench_faults
from benchlab.workloads.client import program_of
from benchlab.workloads.workload import Workload


def faults(spec: ReportSpec) -> Iterator[str]:
    """Faults of workloads that do not share a client or fit the dataset, and of client options.

    See :mod:`benchlab.campaign.fit`.
    """
    modules = {n: workloads.by_name()[n] for n in spec.as_written if n in workloads.by_name()}
    if len(modules) < len(spec.as_written):
        return
    first = modules[spec.workloads[0]]
    if strangers := [name for name, module in modules.items() if module is not first]:
        yield (
            f"workloads: {', '.join(strangers)} and {spec.workloads[0]} use different clients, "
            "which share no dataset; write a report type for each client"
        )
    if not isinstance(spec.dataset, first.DATASET):
        wanted = ", ".join(first.DATASET.model_fields)
        yield f"dataset: {spec.workloads[0]} needs {wanted}, found {spec.dataset}"
    try:
        program = program_of(spec.client.program, first.PROGRAMS)
        if spec.client.program and (why := program.too_old(spec.client.version)):
            yield f"client.version: {why}"
    except ValueError as fault:
        yield str(fault)
    if spec.rate is not None and not first.TAKES_RATE:
        yield (
            f"rate: {spec.rate}: {first.TOOL} cannot send transactions at a given rate; leave it "
            "out"
        )
    yield from _client(spec, first)
    yield from _fresh(spec, [name for name, module in modules.items() if name in module.FRESH])


def _client(spec: ReportSpec, workload: Workload) -> Iterator[str]:
    client = spec.client
    if workload.TOOL == sysbench.TOOL:
        yield from sysbench_faults.faults(spec)
        return
    for field in ("rand_type", "options", "script", "archive"):
        if getattr(client, field):
            yield (
                f"client.{field}: only sysbench's workloads have one, and {spec.workloads[0]} is "
                "not one of them; leave it out"
            )
    if (client.path or client.version) and client.program is None and len(workload.PROGRAMS) > 1:
        names = ", ".join(program.name for program in workload.PROGRAMS)
        yield (
            "client.program: missing; client.path and client.version belong to one program; "
            f"write which, one of {names}"
        )


def _fresh(spec: ReportSpec, names: list[str]) -> Iterator[str]:
    """Faults of workloads that need the dataset as loaded: restored before each, no warm-up."""
    why = f"{', '.join(names)} would find rows that an earlier run inserted, and insert none"
    if names and spec.restore not in ("every_trial", "after_writes"):
        yield f"restore: {spec.restore}: {why}; write every_trial or after_writes"
    if names and spec.warmup_seconds:
        yield f"warmup_seconds: {spec.warmup_seconds}: {why}; write 0, and make `seconds` longer"


def password_faults(spec: ReportSpec) -> Iterator[str]:
    """A client that can only be given a password where everybody sees it."""
    with contextlib.suppress(KeyError, ValueError):  # unknown names are faults of their own
        programs = workloads.by_name()[spec.workloads[0]].PROGRAMS
        chosen = program_of(spec.client.program, programs)
        if not chosen.takes_password:
            able = ", ".join(program.name for program in programs if program.takes_password)
            if able:
                yield f"client.program: {chosen.name} cannot hide a password; write {able}"
            else:
                names = ", ".join(program.name for program in programs)
                yield (
                    f"workloads: {spec.workloads[0]}: its client ({names}) cannot hide a "
                    "password; use workloads of sysbench or TPC-C"
                )
