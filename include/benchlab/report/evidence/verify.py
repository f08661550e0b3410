"""Verifies a bundle: that its files are unchanged, and that its figures follow from raw outputs.

Only the bundle is read: no store, configuration or network. If a file does not match the manifest,
nothing is recomputed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchlab import workloads
from benchlab.analysis.gates import columns as columns_module
from benchlab.analysis.gates import gates as gates_module
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.trend import weeks
from benchlab.analysis.verdict import aa_campaigns, compare, usable_trials
from benchlab.analysis.verdict.calibration_checks import round_means
from benchlab.analysis.verdict.compare import Comparison
from benchlab.analysis.verdict.estimates import calibrate
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.engines import counts
from benchlab.errors import EvidenceError, meaning_of
from benchlab.hosts.metrics import HostMetrics
from benchlab.hosts.samples import METRICS, Figure, HostFigures, HostSeries, Interval, figures
from benchlab.language import Said
from benchlab.plan.metric import COUNT, THROUGHPUT, of_kind
from benchlab.plan.report_type import SIDES
from benchlab.report import bundle as report_bundle
from benchlab.report.evidence import contents, documents, kit
from benchlab.report.evidence.contents import (
    CALIBRATION,
    CAMPAIGN,
    GATES,
    KIT,
    MANIFEST,
    RAW,
    REPORT,
    TRIALS,
    UNREADABLE,
    Bundle,
    Measured,
    objects,
)
from benchlab.report.evidence.documents import ABSENT
from benchlab.report.evidence.verification import Verification
from benchlab.results import diagnosis, ended_servers
from benchlab.results.records import Campaign, GateResult, Sample, TrialResult, inconsistencies
from benchlab.workloads.output import Output, client_reasons, samples_of, series_csv


def verify(path: Path) -> Verification:
    """Verify a bundle; faults in it are part of the outcome, not exceptions.

    >>> verify(Path("reports/c1/evidence.zip")).outcome
    'holds'

    Raises:
        EvidenceError: the file does not exist or cannot be read.
    """
    found = Verification(str(path))
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        why = f"{meaning_of(error)}; give the evidence.zip of a report"
        raise EvidenceError(f"{path}: cannot be read: {why}") from error
    except UNREADABLE:
        found.differs(path.name, "no ZIP archive, or its end is damaged")
        return found
    with archive, found.reading(path.name):
        _verify(Bundle(archive), found)
    return found


def _verify(bundle: Bundle, found: Verification) -> None:
    said = bundle.manifest
    found.campaign, found.made_with = said.campaign, said.made_with.get("benchlab")
    _compare_hashes(bundle, found)
    if found.differences:
        found.not_recomputed.append(
            "its figures: nothing is recomputed from a bundle that is not as it was made"
        )
        return
    own, gates = bundle.measured(), bundle.gates()
    known = {CAMPAIGN, TRIALS, *(f"{RAW}{name}" for name in objects(own.campaign, own.trials))}
    for name in said.files:
        if name not in known and not name.startswith((REPORT, GATES, CALIBRATION, KIT)):
            found.differs(name, "nothing in the bundle names it")
    found.compare(CAMPAIGN, own.campaign.id, said.campaign, "id")
    if diagnosis.found(own.campaign.environment) is not None:
        found.not_recomputed.append("what diagnosis trials found: no verdict rests on it")
    trials = _trials(bundle, own, gates, found)
    with found.reading(CAMPAIGN):
        comparison = _comparison(bundle, own, trials, gates, found)
        read_object = partial(_object, bundle)
        made = report_bundle.make(
            own.campaign,
            comparison,
            trials,
            own.campaign.report_type.languages,
            read_object=read_object,
            validation=bundle.validation(),
        )
        again = {f"{REPORT}{name}": content for name, content in made.items()}
        made = kit.files(own.campaign, trials, comparison, read_object)
        again |= {f"{KIT}{name}": content for name, content in made.items()}
        _compare_made(bundle, again, found)


def _object(bundle: Bundle, name: str) -> bytes:
    return bundle.read(f"{RAW}{name}")


def _compare_hashes(bundle: Bundle, found: Verification) -> None:
    """Add files that are missing, were added, or do not match their hash."""
    files = bundle.manifest.files
    expected = files.keys() | {MANIFEST}
    for name, count in bundle.names.items():
        if count > 1:
            found.differs(name, "it is in the archive twice")
        if name not in expected:
            found.differs(name, "not in the manifest: it was added")
    for name, digest in files.items():
        with found.reading(name):
            again = hashlib.sha256(bundle.read(name)).hexdigest()
            found.checked["files"] += 1
            if again != digest:
                found.differs(name, f"changed: its SHA-256 is {again}, by the manifest {digest}")


def _trials(
    bundle: Bundle, own: Measured, gates: Sequence[Gate], found: Verification
) -> list[TrialResult]:
    """Recompute the trials."""
    work = Recomputation(bundle, own.campaign, gates, found)
    again: dict[str, TrialResult | None] = {}
    planned, wanted = own.campaign.plan.trials, own.campaign.wanted.trials
    spared = {trial.id for trial in planned} - {trial.id for trial in wanted}
    for stored in own.trials:
        name = named(stored)
        if stored.trial.id in spared:
            found.differs(TRIALS, "the campaign had decided not to measure it", name)
            continue
        if name in again:
            found.differs(TRIALS, "it occurs twice", name)
            continue
        again[name] = None
        with found.reading(TRIALS, name):
            again[name] = work.trial(stored)
    return [trial for trial in again.values() if trial is not None]


def _comparison(
    bundle: Bundle,
    own: Measured,
    trials: Sequence[TrialResult],
    gates: Sequence[Gate],
    found: Verification,
) -> Comparison:
    """Recompute the comparison, by those other campaigns of the bundle that qualify."""
    counted: list[tuple[Measured, list[Rounds]]] = []
    before: list[tuple[Measured, list[Rounds]]] = []
    watches = own.campaign.plan.screening_rounds is not None
    fault_before = _week_fault if watches else _earlier_fault
    for file in bundle.within(CALIBRATION):
        with found.reading(file):
            other = bundle.measured(file)
            calibrates = aa_campaigns.can_calibrate(other.campaign)
            fault = _fault_of_other(file, own.campaign, other.campaign)
            if fault is None and not calibrates:
                fault = fault_before(own.campaign, other.campaign)
            if fault:
                found.differs(file, fault)
            else:
                wanted = other.campaign.wanted
                used, _ = usable_trials.usable_trials(wanted, other.trials)
                rounds = compare.rounds_of(wanted, used)
                (counted if calibrates else before).append((other, rounds))
    # In the order of the store, which of weeks is that of their evidence.
    before.sort(
        key=lambda one: (
            *([one[0].campaign.at] if watches else []),
            one[0].campaign.started_at,
            one[0].campaign.id,
        )
    )
    unlike = _anchor_faults(own.campaign, [other.campaign for other, _ in before] * watches)
    for name, fault in unlike.items():
        found.differs(f"{CALIBRATION}{name}.json", fault)
    before = [one for one in before if one[0].campaign.id not in unlike]
    if before:
        found.checked["campaigns before"] = len(before)
        found.not_recomputed.append(
            f"the samples of {len(before)} campaigns before: their raw outputs are not in the "
            "bundle"
        )
    if counted:
        found.checked["A/A campaigns"] = len(counted)
        found.not_recomputed.append(
            f"the samples of {len(counted)} A/A campaigns: their raw outputs are not in the bundle"
        )
    counted.sort(key=lambda one: (one[0].campaign.started_at, one[0].campaign.id))
    made = compare.compare(
        own.campaign.wanted,
        trials,
        own.campaign.report_type.threshold_pct,
        inconsistencies(own.campaign.facts),
        gates=gates,
        calibration=calibrate(
            {other.campaign.id: rounds for other, rounds in counted},
            {} if watches else {other.campaign.id: rounds for other, rounds in before},
        ),
        started_at=own.campaign.started_at,
        aa_campaigns={other.campaign.started_at: round_means(rounds) for other, rounds in counted},
    )
    if not watches:
        return made
    used, _ = usable_trials.usable_trials(own.campaign.wanted, trials)
    known = tuple(other.campaign.id for other, _ in before)
    plan = own.campaign.plan
    threads = {name: plan.threads_in_order(name) for name in plan.workloads_in_order}
    return weeks.judged(
        dataclasses.replace(made, weeks=known),
        weeks.week_of(own.campaign, compare.rounds_of(own.campaign.wanted, used)),
        [_week(other, rounds, threads, gates) for other, rounds in before],
        own.campaign.report_type.threshold_pct,
    )


def _week(
    other: Measured,
    rounds: Sequence[Rounds],
    threads: Mapping[str, Sequence[int]],
    gates: Sequence[Gate],
) -> weeks.Week:
    """What an earlier campaign is evidence of."""
    shown = compare.shown_by(
        other.campaign.wanted,
        other.trials,
        other.campaign.report_type.threshold_pct,
        inconsistencies(other.campaign.facts),
        gates=gates,
    )
    unstable = (name for name, reasons in shown.doubts.unstable.items() if reasons)
    return weeks.week_of(other.campaign, weeks.alike(rounds, threads), unstable)


def _fault_of_other(file: str, own: Campaign, other: Campaign) -> str | None:
    """Why a verdict cannot rest on another campaign, whatever its part in it; None if it can."""
    if file != f"{CALIBRATION}{other.id}.json" or other.id == own.id:
        return f"it is of {other.id}"
    if unlike := aa_campaigns.differences(own, other):
        return f"of another setting: {', '.join(unlike)}"
    return None


def _earlier_fault(own: Campaign, other: Campaign) -> str | None:
    """Why a campaign with two versions does not show how deployments differ; None if it does."""
    if not aa_campaigns.shows_deployments(other):
        return "it does not show how deployments differ"
    if other.ended_at is None or other.ended_at > own.started_at:
        return "it had not ended when this one began"
    if other.restored_dataset != own.restored_dataset:
        return "only one of them restored its data from a dataset snapshot"
    return None


def _week_fault(own: Campaign, other: Campaign) -> str | None:
    """Why an earlier campaign is no evidence of a ``design: watch``; None if it is."""
    if other.state != "complete" or other.ended_at is None or other.ended_at > own.started_at:
        return "no campaign that was complete when this one began"
    if other.is_aa:
        return "an A/A campaign is no week"
    if other.plan.slowdown_pct:
        return "its candidate was slowed down on purpose"
    if set(other.plan.sides) != set(SIDES):
        return "it has no candidate"
    return None


def _anchor_faults(own: Campaign, before: Sequence[Campaign]) -> dict[str, str]:
    """Which earlier campaigns, in order, were measured against another anchor, by id; and why.

    They rest on the anchor of the campaign, and before a bridge on the one from which it leads.
    """
    anchor, faults = own.plan.sides["baseline"].label, dict[str, str]()
    for one in reversed(before):
        old, build = (one.plan.sides[side].label for side in SIDES)
        is_bridge = one.plan.screening_rounds is None
        measured = build if is_bridge else old
        if measured != anchor:
            what = f"is a bridge from {old} to" if is_bridge else "was measured against"
            faults[one.id] = (
                f"{one.id} {what} the anchor {measured}, and what {own.id} rests on had the anchor "
                f"{anchor} then"
            )
        elif is_bridge:
            anchor = old
    return faults


def _compare_made(bundle: Bundle, again: Mapping[str, bytes], found: Verification) -> None:
    """Add where the files of report and repro kit differ from the recomputed ones.

    Another version of Benchlab may word or draw pages differently and write other figures, so what
    differs is then not verified, except figures that both wrote: the manifest, which names the
    version, could be forged.
    """
    same = bundle.manifest.made_with == contents.made_with()
    of_kit = [file for file in bundle.within(KIT) if file.removeprefix(KIT) in kit.OWN]
    for file in sorted({*bundle.within(REPORT), *of_kit, *again}):
        with found.reading(file):
            kept = bundle.read(file) if file in bundle.names else None
            unlike = _unlike(file, kept, again.get(file))
            found.checked["report files"] += file.startswith(REPORT) and not unlike
            figures = file.endswith((".json", ".csv"))
            for place, ours, theirs in unlike:
                if same or (figures and ABSENT not in (ours, theirs)):
                    found.unlike(file, ours, theirs, place)
                else:
                    where = f"{file}: {place}" if place else file
                    by = f"another Benchlab ({found.made_with})"
                    found.cannot_verify(f"{where}: {by} wrote it otherwise than this one does")


def _unlike(file: str, kept: bytes | None, made: bytes | None) -> list[tuple[str, Any, Any]]:
    if kept == made:
        return []
    one, other = (ABSENT if it is None else documents.read(file, it) for it in (kept, made))
    return list(documents.differences(one, other))


# The figures of hosts were computed before samples were rounded for storage: bytes to integers,
# shares to four digits.
_HALF_A_BYTE, _HALF_A_SHARE = 0.5 * (1 + 1e-6), 0.5e-4 * (1 + 1e-6)


class Recomputation:
    """Recomputes the trials of a campaign from a bundle's objects, and adds what differs."""

    def __init__(
        self, bundle: Bundle, campaign: Campaign, gates: Sequence[Gate], found: Verification
    ) -> None:
        self.bundle, self.campaign = bundle, campaign
        self.gates, self.found = gates, found
        self._of_campaign = _campaign_columns(campaign)
        self._planned = {planned.id: planned for planned in campaign.plan.trials}

    def trial(self, stored: TrialResult) -> TrialResult | None:
        """Recompute a trial from its objects; None if it is not as planned."""
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
        """Whether the bundle has an object of a trial; if not, the trial is not verified."""
        if name is not None and f"{RAW}{name}" in self.bundle.manifest.files:
            return True
        where = "" if name is None else f" ({RAW}{name})"
        self.found.cannot_verify(f"{named(stored)}: without its {what}{where}")
        return False

    def _from_output(
        self, stored: TrialResult, raw: str, series: Mapping[str, HostSeries]
    ) -> TrialResult:
        module = workloads.module_of(stored.trial.workload)
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
            expected_errors=[int(number) for number in ignored.split(",") if number.isdecimal()],
        )
        hosts = HostMetrics(stored.host_figures, series, "", (), client_alone=False).columns()
        columns |= {name: value for name, value in hosts.items() if value is not None}
        fleet = self.campaign.report_type.topology is not None
        metric = of_kind(module.METRICS, THROUGHPUT).name
        defined = gates_module.of_campaign(self.gates, metric, fleet=fleet)
        gates = self._judged(stored, gates_module.of_table(defined, "trials"), columns)
        # The client's exit code is kept only by its gate.
        code = next((gate.observed for gate in gates if gate.gate == "client_exit"), None)
        said = client_reasons(output, None if code is None else int(code))
        samples = (*samples_of(output, module.METRICS), *self._counted(stored, output))
        again = dataclasses.replace(stored, samples=samples, gates=gates)
        self.found.checked["samples"] += len(again.samples)
        return self._validated(again, (*gates_module.reasons(gates), *said))

    def _counted(self, stored: TrialResult, output: Output) -> Sequence[Sample]:
        """What a transaction takes, from what a query took; as stored without the bundle's rows."""
        metrics = [metric for metric in self.campaign.plan.metrics if metric.family == COUNT]
        if stored.counts is None or not self._has(stored.counts, stored, "counts"):
            names = {metric.name for metric in metrics}
            return [sample for sample in stored.samples if sample.metric in names]
        name = f"{RAW}{stored.counts}"
        rows = documents.read(name, self.bundle.read(name)).values()
        kept = [counts.Row(**row) for row in rows]
        return counts.samples(kept, metrics, output.queries_per_transaction)

    def _series_of_hosts(self, stored: TrialResult) -> dict[str, HostSeries]:
        """The series of hosts by name, from their samples; empty if these are not in the bundle."""
        claims = stored.hosts or any(host.figures for host in stored.host_figures)
        if not claims or not self._has(stored.hosts, stored, "host samples"):
            return {}
        intervals: dict[str, list[Interval]] = {}
        name = f"{RAW}{stored.hosts}"
        for row in documents.read(name, self.bundle.read(name)).values():
            values = {metric: row[metric] for metric in METRICS}
            interval = Interval(row["t"], row["seconds"], **values)
            intervals.setdefault(row["host"], []).append(interval)
        cores = {host.host: host.cores for host in stored.host_figures}
        return {
            host: HostSeries(cores.get(host), tuple(found), {}) for host, found in intervals.items()
        }

    def _judged(
        self, stored: TrialResult, gates: Sequence[Gate], columns: Mapping[str, float | None]
    ) -> tuple[GateResult, ...]:
        """Evaluate the stored gates again, by the bundle's definitions."""
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
            elif result.observed is not None:  # a column that only the target could provide
                again[name] = gate.evaluate({gate.column: result.observed})
        return tuple(again.values())

    def _validated(self, again: TrialResult, reasons: tuple[Said, ...]) -> TrialResult:
        """The trial with validity and reasons that follow from its gates, evaluated again."""
        if gates_module.is_valid(again.gates):
            if not again.valid:  # its pair was interrupted, or a host was lost
                why = "; ".join(map(str, again.reasons)) or "no reason is given"
                self.found.cannot_verify(f"{named(again)}: invalid, though its gates pass: {why}")
            return again
        # Why a server ended cannot be recomputed: only its host knew.
        if tuple(one for one in again.reasons if not ended_servers.is_one(one)) == reasons:
            reasons = again.reasons
        return dataclasses.replace(again, valid=False, reasons=reasons)


def named(stored: TrialResult) -> str:
    """A trial and its attempt, for people."""
    return f"{stored.trial.id} (attempt {stored.attempt})"


def _host_figures(stored: TrialResult, series: Mapping[str, HostSeries]) -> tuple[HostFigures, ...]:
    """Recompute the figures of hosts; the stored ones where only rounding differs."""
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
    """The columns of gates that are the same for all trials of the campaign.

    Clocks are left out, because they are measured again when a campaign is resumed. Variables are
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
    """Whether a gate is still defined as when it was evaluated for a trial."""
    again = dataclasses.replace(gate.evaluate({}), status=result.status, observed=result.observed)
    return again == result
