"""Computes trials again from their raw outputs and host samples, and compares them."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence

from benchlab import workloads
from benchlab.analysis.gates import columns as columns_module
from benchlab.analysis.gates import gates as gates_module
from benchlab.analysis.gates.gates import Gate
from benchlab.hosts.samples import METRICS, Figure, HostSeries, Interval, figures
from benchlab.language import Said
from benchlab.plan.metric import THROUGHPUT, of_family
from benchlab.report.evidence.contents import RAW, TRIALS, Bundle
from benchlab.report.evidence.verification import RELATIVE, Findings
from benchlab.results import ended_servers
from benchlab.results.records import Campaign, GateResult, TrialResult
from benchlab.workloads.output import client_reasons, samples_of, series_csv
from benchlab.workloads.workload import Workload

# The stored figures of hosts are rounded: bytes to whole ones, shares to four digits.
_HALF_A_BYTE, _HALF_A_SHARE = 0.5, 0.5e-4
# The most that is read of a trial's host samples: half a day of ten hosts. Parsed they take fifteen
# times as much.
MAX_SAMPLES_BYTES = 48 * 1024**2
# Kinds of what cannot be verified.
_NO_OUTPUT, _NO_HOSTS = "trials without their raw output", "trials without their host samples"
_NOT_JUDGED = "gates of trials that cannot be judged again"


class Recomputation:
    """Computes the trials of a campaign again from the objects of a bundle, by these gates.

    What differs, and what cannot be computed, goes to the findings.
    """

    def __init__(
        self, bundle: Bundle, campaign: Campaign, gates: Sequence[Gate], findings: Findings
    ) -> None:
        self.bundle, self.campaign = bundle, campaign
        self.gates, self.findings = gates, findings
        self._of_campaign = _campaign_columns(campaign)
        self._otherwise_defined: Counter[str] = Counter()
        self._planned = {planned.id: planned for planned in campaign.plan.trials}

    def trial(self, stored: TrialResult) -> TrialResult | None:
        """A stored trial, recomputed from what the bundle has of it; None if it was not planned."""
        name = named(stored)
        if self._planned.get(stored.trial.id) != stored.trial:
            self.findings.differs(TRIALS, "it is not as the plan has it", where=name)
            return None
        if stored.raw is None:
            if stored.samples or stored.gates or stored.valid:
                self.findings.differs(TRIALS, "has figures, though no client ran", where=name)
            return dataclasses.replace(stored, samples=(), gates=(), valid=False)
        self._hosts(stored, name)
        text = self._object(stored.raw, name, _NO_OUTPUT)
        return stored if text is None else self._from_output(stored, text, name)

    def note_otherwise_defined(self) -> None:
        """Note the gates that judged trials by another definition than the bundle's."""
        for gate, trials in self._otherwise_defined.items():
            self.findings.cannot_verify(
                _NOT_JUDGED,
                f"the gate {gate} of {trials} trials, which were not judged by it as it is "
                "defined in gates/",
            )

    def _object(self, name: str, trial_name: str, without: str | None = None) -> str | None:
        """A text of the object store; None if it cannot be had, which is noted.

        ``without``: the kind of what cannot be verified without it; None: nothing depends on it.
        """
        file = f"{RAW}{name}"
        if file in self.bundle.missing:
            sentence = f"{trial_name}: {file} is missing: {self.bundle.missing[file]}"
            if without is None:
                self.findings.notes.append(sentence)
            else:
                self.findings.cannot_verify(without, sentence)
            return None
        text: str | None = None
        with self.findings.reading(trial_name):
            text = self.bundle.text(file)
        return text

    def _from_output(self, stored: TrialResult, text: str, name: str) -> TrialResult:
        module = workloads.by_name().get(stored.trial.workload)
        if module is None:
            sentence = f"{name}: this Benchlab has no {stored.trial.workload}"
            self.findings.cannot_verify("trials of unknown workloads", sentence)
            return stored
        output = module.parse(text)
        self.findings.checked["raw outputs"] += 1
        samples = samples_of(output, module.METRICS)
        self._samples(stored, {sample.metric: sample.value for sample in samples}, name)
        self._series(stored, series_csv(output), name)
        result = dataclasses.replace(stored, samples=samples)
        numbers = self.campaign.environment.get("ignored_errors", "")
        columns = columns_module.output_columns(
            module,
            stored.trial,
            output,
            dataset=self.campaign.report_type.dataset,
            interval_s=self.campaign.client.report_interval,
            expected_errors=[int(number) for number in numbers.split(",") if number.isdigit()],
        )
        if not numbers and columns["unexpected_errors"]:
            del columns["unexpected_errors"]  # the expected ones were not recorded
        gates = self._gates(stored, module, columns, name)
        # The client's exit code is kept only by its gate.
        code = next((gate.observed for gate in gates if gate.gate == "client_exit"), None)
        reasons = client_reasons(output, None if code is None else int(code))
        return self._validity(stored, dataclasses.replace(result, gates=gates), module, reasons)

    def _samples(self, stored: TrialResult, again: Mapping[str, float | None], name: str) -> None:
        kept = stored.figures
        for metric in dict.fromkeys((*kept, *again)):
            self.findings.checked["samples"] += 1
            where = f"{name}: {metric}"
            if metric not in again:
                self._differs(where, "there", "not there")
            elif metric not in kept:
                self._differs(where, "not there", "there")
            elif kept[metric] != again[metric]:
                self._differs(where, kept[metric], again[metric])

    def _series(self, stored: TrialResult, again: str, name: str) -> None:
        if stored.series is None or (kept := self._object(stored.series, name)) is None:
            return
        self.findings.checked["series"] += 1
        if (line := first_difference(kept, again)) is not None:
            self.findings.differs(f"{RAW}{stored.series}", **line)

    def _hosts(self, stored: TrialResult, name: str) -> None:
        if stored.hosts is None:
            if any(host.figures for host in stored.host_figures):
                sentence = f"{name}: figures of hosts, and no samples of them are named"
                self.findings.cannot_verify(_NO_HOSTS, sentence)
            return
        file = f"{RAW}{stored.hosts}"
        content = self.bundle.manifest.files.get(file)
        if content is not None and content.size > MAX_SAMPLES_BYTES:
            sentence = f"{content.size} bytes; at most {MAX_SAMPLES_BYTES} are read of host samples"
            self.findings.cannot_verify(_NO_HOSTS, f"{name}: {file}: {sentence}")
            return
        if (text := self._object(stored.hosts, name, _NO_HOSTS)) is None:
            return
        try:
            again = host_figures(text)
        except ValueError as error:
            self.findings.differs(file, f"no host samples: {error}", where=name)
            return
        kept = {
            (host.host, metric): figure
            for host in stored.host_figures
            for metric, figure in host.figures.items()
        }
        for host, metric in dict.fromkeys((*kept, *again)):
            self.findings.checked["host figures"] += 1
            one, other = kept.get((host, metric)), again.get((host, metric))
            if one is None or other is None or not _alike(metric, one, other):
                self._differs(f"{name}: host {host}: {metric}", one, other)

    def _gates(
        self,
        stored: TrialResult,
        module: Workload,
        of_output: Mapping[str, float | None],
        name: str,
    ) -> tuple[GateResult, ...]:
        """The stored gates, judged again by the definitions."""
        chosen = gates_module.of_table(self._definitions(module), "trials")
        defined = {gate.id: gate for gate in chosen}
        kept = {result.gate: result for result in stored.gates}
        columns = {**self._of_campaign, **of_output}
        found = []
        self._otherwise_defined.update(gate for gate in defined if gate not in kept)
        for result in stored.gates:
            gate = defined.get(result.gate)
            if gate is None or not _defines(gate, result):
                self._otherwise_defined[result.gate] += 1
                found.append(result)
                continue
            again = _judged(gate, result, columns, stored)
            self.findings.checked["gates"] += 1
            if again.status != result.status or not _same(again.observed, result.observed):
                self._differs(f"{name}: gate {gate.id}", _outcome(result), _outcome(again))
            found.append(again)
        return tuple(found)

    def _definitions(self, module: Workload) -> tuple[Gate, ...]:
        fleet = self.campaign.report_type.topology is not None
        return gates_module.of_campaign(
            self.gates, of_family(module.METRICS, THROUGHPUT).name, fleet=fleet
        )

    def _validity(
        self,
        stored: TrialResult,
        again: TrialResult,
        module: Workload,
        client_reasons: tuple[str, ...],
    ) -> TrialResult:
        """The trial with its validity and the reasons, decided again."""
        name = named(stored)
        self.findings.checked["trials"] += 1
        if not gates_module.is_valid(again.gates):
            reasons: tuple[Said, ...] = (*gates_module.reasons(again.gates), *client_reasons)
            # How a server ended was known to its host alone.
            kept = tuple(one for one in stored.reasons if not ended_servers.is_one(one))
            if stored.valid:
                self._differs(name, "valid", _listed(reasons))
            elif kept == reasons:
                reasons = stored.reasons
            elif not self._otherwise_defined:
                self._differs(f"{name}: reasons", _listed(stored.reasons), _listed(reasons))
            return dataclasses.replace(again, valid=False, reasons=reasons)
        if not stored.valid:
            why = _listed(stored.reasons) or "no reason is given"
            sentence = f"{name}: that it is invalid, which its gates do not say: {why}"
            self.findings.cannot_verify("trials that are invalid by their reasons alone", sentence)
        return again

    def _differs(self, where: str, found: object, again: object) -> None:
        self.findings.differs(TRIALS, _said(found), where=where, recomputed=_said(again))


def named(stored: TrialResult) -> str:
    """A trial and its attempt, for people."""
    return f"{stored.trial.id} (attempt {stored.attempt})"


def host_figures(text: str) -> dict[tuple[str, str], Figure]:
    """Means and maxima by host and metric, from the stored samples.

    Raises:
        ValueError: it is not the CSV that ``HostMetrics.to_csv`` writes.
    """
    intervals: dict[str, list[Interval]] = {}
    try:
        for row in csv.DictReader(io.StringIO(text), strict=True):
            values = {m: float(row[m]) if row[m] else None for m in METRICS}
            interval = Interval(float(row["t"]), float(row["seconds"]), **values)
            if not interval.seconds > 0:
                raise ValueError(f"an interval of {interval.seconds} s")
            intervals.setdefault(row["host"], []).append(interval)
    except csv.Error as error:
        raise ValueError(f"no CSV: {error}") from error
    except (KeyError, TypeError) as error:
        raise ValueError(f"a column is missing: {error}") from error
    return {
        (host, metric): figure
        for host, found in intervals.items()
        for metric, figure in figures(HostSeries(None, tuple(found), {})).items()
    }


def first_difference(found: str, again: str) -> dict[str, str] | None:
    r"""The first line in which two texts differ, for :meth:`.Findings.differs`; None: no line does.

    >>> first_difference("a\nb", "a\nc")
    {'found': 'b', 'where': 'line 2', 'recomputed': 'c'}
    """
    ours, theirs = found.split("\n"), again.split("\n")
    if ours == theirs:
        return None
    pairs = enumerate(zip(ours, theirs, strict=False), start=1)
    last = (min(len(ours), len(theirs)) + 1, (f"{len(ours)} lines", f"{len(theirs)} lines"))
    number, (one, other) = next((pair for pair in pairs if pair[1][0] != pair[1][1]), last)
    return {
        "found": _around(one, other),
        "where": f"line {number}",
        "recomputed": _around(other, one),
    }


def _around(one: str, other: str) -> str:
    """The part of a line that matters: around the first letter in which it differs."""
    same = len(os.path.commonprefix([one, other]))  # noqa: RUF071 - of letters
    start = max(same - 40, 0)
    return f"{'…' if start else ''}{one[start : same + 60]}{'…' if len(one) > same + 60 else ''}"


def _campaign_columns(campaign: Campaign) -> dict[str, float | None]:
    """The columns that the campaign gives the gates of all its trials alike.

    Clocks and probes are not among them: they are measured again when a campaign is resumed, and
    probes before the last round as well. Variables are compared only if the facts of every side are
    known.
    """
    columns = columns_module.fleet_columns(campaign.environment)
    columns = {"unlike_hosts": columns["unlike_hosts"]}
    if set(campaign.facts) == set(campaign.plan.sides):
        columns |= columns_module.configuration_columns(campaign)
    loaded = {facts.consistency.get("load") for facts in campaign.facts.values()}
    if len(loaded) == 1:
        columns |= columns_module.dataset_columns(loaded.pop())
    return columns


def _judged(
    gate: Gate, result: GateResult, columns: Mapping[str, float | None], stored: TrialResult
) -> GateResult:
    """One gate, judged again; a column that only the target knew keeps its observed value."""
    if gate.column in columns:
        return gate.evaluate(columns)
    observed = result.observed
    if observed is None:
        return result
    possible = _of_hosts(gate.column, stored)
    if possible and not any(_same(observed, value) for value in possible):
        observed = possible[0]
    return gate.evaluate({gate.column: observed})


def _of_hosts(column: str, stored: TrialResult) -> list[float]:
    """What a column can be by the hosts' figures; empty if it does not come from them."""
    if metric := {"cpu_steal_ratio": "cpu_steal", "other_work_ratio": "cpu_other"}.get(column):
        shares = [h.figures[metric].mean for h in stored.host_figures if metric in h.figures]
        return [max(shares)] if shares else []
    if column != "harness_cpu_ratio":
        return []
    found = []
    for host in stored.host_figures:
        if host.processes:
            used = max(host.processes.values())
            found.append(used)
            if "cpu_busy" in host.figures:  # counts where the client has its host to itself
                found.append(max(used, host.figures["cpu_busy"].mean))
    return found


def _defines(gate: Gate, result: GateResult) -> bool:
    """Whether a gate is defined as it was when it judged a trial."""
    again = dataclasses.replace(gate.evaluate({}), status=result.status, observed=result.observed)
    return again == result


def _listed(reasons: Sequence[Said]) -> str:
    return "; ".join(map(str, reasons))


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=RELATIVE)


def _alike(metric: str, one: Figure, other: Figure) -> bool:
    half = _HALF_A_BYTE if "bytes" in metric else _HALF_A_SHARE
    return all(
        math.isclose(a, b, rel_tol=RELATIVE, abs_tol=half * (1 + 1e-6))
        for a, b in ((one.mean, other.mean), (one.max, other.max))
    )


def _outcome(gate: GateResult) -> str:
    return gate.status if gate.observed is None else f"{gate.status}, {gate.observed!r}"


def _said(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Figure):
        return f"mean {value.mean!r}, largest {value.max!r}"
    return "missing" if value is None else repr(value)
