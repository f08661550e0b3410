"""Computes trials again from their raw outputs and host samples, and compares them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from benchlab import workloads
from benchlab.analysis.gates import columns as columns_module
from benchlab.analysis.gates import gates as gates_module
from benchlab.analysis.gates.gates import Gate
from benchlab.hosts.metrics import HostMetrics
from benchlab.hosts.samples import METRICS, Figure, HostFigures, HostSeries, Interval, figures
from benchlab.language import Said
from benchlab.plan.metric import THROUGHPUT, of_family
from benchlab.report.evidence import documents
from benchlab.report.evidence.contents import RAW, TRIALS, Bundle
from benchlab.report.evidence.verification import Verification
from benchlab.results import ended_servers
from benchlab.results.records import Campaign, GateResult, TrialResult
from benchlab.workloads.output import client_reasons, samples_of, series_csv

# The figures of hosts are made of samples that are rounded only as they are stored: bytes to whole
# ones, shares to four digits.
_HALF_A_BYTE, _HALF_A_SHARE = 0.5 * (1 + 1e-6), 0.5e-4 * (1 + 1e-6)


class Recomputation:
    """Computes the trials of a campaign again from the objects of a bundle; notes what differs."""

    def __init__(
        self, bundle: Bundle, campaign: Campaign, gates: Sequence[Gate], found: Verification
    ) -> None:
        self.bundle, self.campaign = bundle, campaign
        self.gates, self.found = gates, found
        self._of_campaign = _campaign_columns(campaign)
        self._planned = {planned.id: planned for planned in campaign.plan.trials}

    def trial(self, stored: TrialResult) -> TrialResult | None:
        """A stored trial, recomputed from what the bundle has of it; None if it was not planned."""
        if self._planned.get(stored.trial.id) != stored.trial:
            self.found.differs(TRIALS, "it is not as the plan has it", named(stored))
            return None
        if stored.raw is None:  # no client ran
            again = dataclasses.replace(stored, samples=(), gates=(), valid=False)
        else:
            series = self._series_of_hosts(stored)
            of_hosts = dataclasses.replace(stored, host_figures=_host_figures(stored, series))
            again = self._from_output(of_hosts, stored.raw, series)
        kept = documents.dumped(TrialResult, stored)
        self.found.compare(TRIALS, kept, documents.dumped(TrialResult, again), named(stored))
        self.found.checked["trials"] += 1
        return again

    def _has(self, name: str | None, stored: TrialResult, what: str) -> bool:
        """Whether the bundle has an object of the store; that it has not is noted."""
        if name is not None and f"{RAW}{name}" in self.bundle.manifest.files:
            return True
        where = "" if name is None else f" ({RAW}{name})"
        self.found.cannot_verify(f"{named(stored)}: without its {what}{where}")
        return False

    def _from_output(
        self, stored: TrialResult, raw: str, series: Mapping[str, HostSeries]
    ) -> TrialResult:
        module = workloads.by_name().get(stored.trial.workload)
        if module is None:
            self.found.cannot_verify(f"this Benchlab has no workload {stored.trial.workload}")
        if module is None or not self._has(raw, stored, "raw output"):
            return stored
        output = module.parse(documents.text_of(raw, self.bundle.read(f"{RAW}{raw}")))
        self.found.checked["raw outputs"] += 1
        table = f"{RAW}{stored.series}"
        if table in self.bundle.manifest.files:  # else it follows from the output
            made = documents.read(table, series_csv(output).encode())
            self.found.compare(table, documents.read(table, self.bundle.read(table)), made)
        ignored = self.campaign.environment.get("ignored_errors", "")
        columns = self._of_campaign | columns_module.output_columns(
            module,
            stored.trial,
            output,
            dataset=self.campaign.report_type.dataset,
            interval_s=self.campaign.client.report_interval,
            expected_errors=[int(number) for number in ignored.split(",") if number.isdigit()],
        )
        hosts = HostMetrics(stored.host_figures, series, "", (), client_alone=False).columns()
        columns |= {name: value for name, value in hosts.items() if value is not None}
        fleet = self.campaign.report_type.topology is not None
        metric = of_family(module.METRICS, THROUGHPUT).name
        defined = gates_module.of_campaign(self.gates, metric, fleet=fleet)
        gates = self._judged(stored, gates_module.of_table(defined, "trials"), columns)
        # The client's exit code is kept only by its gate.
        code = next((gate.observed for gate in gates if gate.gate == "client_exit"), None)
        said = client_reasons(output, None if code is None else int(code))
        again = dataclasses.replace(stored, samples=samples_of(output, module.METRICS), gates=gates)
        self.found.checked["samples"] += len(again.samples)
        return self._validated(again, (*gates_module.reasons(gates), *said))

    def _series_of_hosts(self, stored: TrialResult) -> dict[str, HostSeries]:
        """What hosts did, by host, from the stored samples; empty if they are not in the bundle."""
        claims = stored.hosts or any(host.figures for host in stored.host_figures)
        if not claims or not self._has(stored.hosts, stored, "host samples"):
            return {}
        intervals: dict[str, list[Interval]] = {}
        name = f"{RAW}{stored.hosts}"
        for row in documents.read(name, self.bundle.read(name)).values():
            values = {metric: None if row[metric] == "" else row[metric] for metric in METRICS}
            interval = Interval(row["t"], row["seconds"], **values)
            intervals.setdefault(row["host"], []).append(interval)
        cores = {host.host: host.cores for host in stored.host_figures}
        return {
            host: HostSeries(cores.get(host), tuple(found), {}) for host, found in intervals.items()
        }

    def _judged(
        self, stored: TrialResult, gates: Sequence[Gate], columns: Mapping[str, float | None]
    ) -> tuple[GateResult, ...]:
        """The stored gates, judged again by the definitions."""
        defined = {gate.id: gate for gate in gates}
        kept = {result.gate: result for result in stored.gates}
        again = dict(kept)
        for name in sorted(defined.keys() | kept.keys()):
            gate, result = defined.get(name), kept.get(name)
            if gate is None or result is None or not _defines(gate, result):
                self.found.cannot_verify(f"trials were not judged by {name} as gates/ defines it")
                continue
            self.found.checked["gates"] += 1
            if gate.column in columns:
                again[name] = gate.evaluate(columns)
            elif result.observed is not None:  # what only the target knew
                again[name] = gate.evaluate({gate.column: result.observed})
        return tuple(again.values())

    def _validated(self, again: TrialResult, reasons: tuple[Said, ...]) -> TrialResult:
        """A trial, its gates judged again, with its validity and the reasons."""
        if gates_module.is_valid(again.gates):
            if not again.valid:  # its pair was interrupted, or a host was lost
                why = "; ".join(map(str, again.reasons)) or "no reason is given"
                self.found.cannot_verify(f"{named(again)}: invalid, though its gates pass: {why}")
            return again
        # How a server ended was known to its host alone.
        if tuple(one for one in again.reasons if not ended_servers.is_one(one)) == reasons:
            reasons = again.reasons
        return dataclasses.replace(again, valid=False, reasons=reasons)


def named(stored: TrialResult) -> str:
    """A trial and its attempt, for people."""
    return f"{stored.trial.id} (attempt {stored.attempt})"


def _host_figures(stored: TrialResult, series: Mapping[str, HostSeries]) -> tuple[HostFigures, ...]:
    """The figures of hosts, computed again; as stored where they differ by rounding alone."""
    kept = {host.host: host for host in stored.host_figures}
    again = []
    for name in dict.fromkeys((*kept, *series)) if series else ():
        one = kept.get(name, HostFigures(name))
        found = figures(series[name]) if name in series else {}
        rounded = {
            metric: one.figures[metric]
            for metric, figure in found.items()
            if metric in one.figures and _alike(metric, one.figures[metric], figure)
        }
        again.append(dataclasses.replace(one, figures=found | rounded))
    return tuple(again) or stored.host_figures


def _alike(metric: str, one: Figure, other: Figure) -> bool:
    half = _HALF_A_BYTE if "bytes" in metric else _HALF_A_SHARE
    return all(
        math.isclose(a, b, rel_tol=documents.RELATIVE, abs_tol=half)
        for a, b in ((one.mean, other.mean), (one.max, other.max))
    )


def _campaign_columns(campaign: Campaign) -> dict[str, float | None]:
    """The columns that the campaign gives the gates of all its trials alike.

    Clocks are not among them: they are measured again when a campaign is resumed. Variables are
    compared only if the facts of every side are known.
    """
    columns = columns_module.fleet_columns(campaign.environment)
    columns = {"unlike_hosts": columns["unlike_hosts"]}
    if set(campaign.facts) == set(campaign.plan.sides):
        columns |= columns_module.configuration_columns(campaign)
    loaded = {facts.consistency.get("load") for facts in campaign.facts.values()}
    if len(loaded) == 1:
        columns |= columns_module.dataset_columns(loaded.pop())
    return columns


def _defines(gate: Gate, result: GateResult) -> bool:
    """Whether a gate is defined as it was when it judged a trial."""
    again = dataclasses.replace(gate.evaluate({}), status=result.status, observed=result.observed)
    return again == result
