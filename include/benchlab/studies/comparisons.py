"""Compares many campaigns of one store, and finds the one that measured a given plan."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from pydantic import TypeAdapter

from benchlab import engines
from benchlab.analysis.verdict.compare import WorkloadVerdict, judge
from benchlab.analysis.verdict.decision import RULE
from benchlab.analysis.verdict.estimates import estimates
from benchlab.analysis.verdict.variances import Estimate, Variance
from benchlab.campaign import planning, report_types
from benchlab.campaign.kept_figures import Form
from benchlab.campaign.outcome import Comparer
from benchlab.campaign.outline import Outline, outline_of
from benchlab.home import Home
from benchlab.plan import versions
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.metric import COUNT, THROUGHPUT, Metric
from benchlab.plan.report_type import MEASURED, SIDES, ReportSpec
from benchlab.results.kept import key_of
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.targets import local

Counts = Mapping[str, tuple[Metric, Mapping[str, Estimate]]]
"""By name, each count that was decided on, and its mean log ratio by workload."""
ReleaseDays = Mapping[object, date]
"""The days of known releases, by their versions' sort keys (``versions.order``)."""


@dataclass(frozen=True)
class ComparedCampaign:
    """A campaign with its verdicts.

    Attributes:
        verdicts: by workload, in the order of its report type.
        estimates: by workload, the mean log ratio of its throughput; workloads with fewer than two
            complete rounds have none.
        counts: those that were decided on.
    """

    campaign: Outline
    verdicts: Mapping[str, WorkloadVerdict]
    estimates: Mapping[str, Estimate]
    counts: Counts = field(default_factory=dict)

    def of_count(self, name: str) -> ComparedCampaign:
        """The same with a count in place of the throughput; workloads without it have no verdict.

        Example:
            ``one.of_count("redo_bytes").workload("oltp_insert").estimate_pct``
        """
        verdicts = {
            workload: replace(found, metric=name, **vars(found.beside[name]))
            for workload, found in self.verdicts.items()
            if name in found.beside
        }
        shown = self.counts[name][1] if name in self.counts else {}
        return ComparedCampaign(self.campaign, verdicts, shown)

    def workload(self, name: str) -> WorkloadVerdict:
        """The verdict on one workload, which the campaign must have planned."""
        return self.verdicts[name]

    def standard_error(self, workload: str) -> float | None:
        """The standard error of a workload's mean log ratio; None if unknown."""
        found = self.estimates.get(workload)
        return found.error if found and math.isfinite(found.error) else None


_NORMAL_95, _MANY = 1.959963984540054, 100.0
_Decided = tuple[Mapping[str, WorkloadVerdict], Mapping[str, Estimate], Counts]


class Comparisons(Comparer):
    """Compares each campaign once; what is written to the store later is not seen.

    The verdicts of a campaign that has ended are kept until something that they follow from
    changes: its trials, the decision rule, the gates, or the campaigns that calibrate it.

    Example:
        ``Comparisons(home, store).compared(campaign).workload("oltp_insert").verdict``
    """

    def __init__(self, home: Home, store: Store) -> None:
        super().__init__(home, store)
        self._compared: dict[str, ComparedCampaign] = {}
        self._calibration_keys: dict[tuple[str, ...], str] = {}

    def release_days(self, report: str) -> ReleaseDays:
        """The release days of the engines that a report type was measured with.

        Raises:
            SpecError: the release calendar does not validate.
        """
        calendar = report_types.calendar(self.home)
        return {
            versions.order(release.version.text): release.day
            for engine in sorted({outline.engine for outline in self.outlines(report)})
            for release in calendar.owned(engines.by_name()[engine].owns)
        }

    def compared(self, campaign: Campaign | Outline) -> ComparedCampaign:
        """The comparison of one campaign. Raises what :meth:`outcome` raises."""
        return self.all_compared([outline_of(campaign)])[campaign.id]

    def all_compared(self, campaigns: Sequence[Outline]) -> dict[str, ComparedCampaign]:
        """The comparisons of several campaigns, by id and in their order.

        Raises what :meth:`outcome` raises.
        """
        new = [one for one in campaigns if one.id not in self._compared]
        keys = self.keys(new)  # read at once; each is combined with what else it follows from
        for one in new:
            weeks = self.keys(self.watching.before(one)) if one.screening_rounds else {}
            others = (self._calibration_key(one), *sorted(weeks.values()))
            keys |= self.keys([one], RULE, self.rules, *others)
        decided = self.kept_or_made(VERDICTS, keys, new, self._decide)
        for one in new:
            self._compared[one.id] = ComparedCampaign(one, *decided[one.id])
        return {one.id: self._compared[one.id] for one in campaigns}

    def _decide(self, campaign: Outline) -> _Decided:
        if campaign.screening_rounds is not None:
            return self._decide_of_watch(campaign)
        known = self.calibration(campaign)
        unstable, not_equivalent = self.doubts([campaign])[campaign.id]
        figures = self.figures([campaign])[campaign.id]
        judged = judge(
            figures,
            campaign.threshold_pct,
            doubts=unstable,
            not_equivalent=not_equivalent,
            calibration=known,
            looks=campaign.looks,
        )
        counts = {
            metric.name: metric
            for workload in judged
            for metric, _ in workload.decided
            if metric.family == COUNT
        }

        def shown(kind: str) -> Mapping[str, Estimate]:
            having = [rounds for rounds in figures if kind in rounds.kinds]
            return {name: one.versions for name, one in estimates(having, kind, known).items()}

        return (
            {found.name: found.alone for found in judged},
            shown(THROUGHPUT),
            {name: (metric, shown(name)) for name, metric in counts.items()},
        )

    def _decide_of_watch(self, campaign: Outline) -> _Decided:
        """By the campaigns before it, as its own report; counts are followed by others alone."""
        compared = self.outcome(self.store.campaign(campaign.id)).comparison
        shown = {}
        for workload in compared.workloads:
            if workload.ci95_pct is not None:
                low, high = (math.log1p(end / 100) for end in workload.ci95_pct)
                # As wide as the interval, whatever its degrees of freedom.
                variance = Variance(((high - low) / 2 / _NORMAL_95) ** 2, _MANY)
                shown[workload.name] = Estimate((low + high) / 2, variance)
        return {found.name: found.alone for found in compared.workloads}, shown, {}

    def _calibration_key(self, campaign: Outline) -> str:
        """The key of the campaigns that calibrate it, as they are now."""
        others = [*self.calibrating(campaign), *self.earlier(campaign)]
        alike = tuple(one.id for one in others)  # many campaigns share the same ones
        if alike not in self._calibration_keys:
            states = self.keys(others)
            self._calibration_keys[alike] = key_of(*states, *states.values())
        return self._calibration_keys[alike]


# How verdicts are kept

_VERDICTS = TypeAdapter(dict[str, WorkloadVerdict])


def _decided_to_json(decided: _Decided) -> dict[str, Any]:
    verdicts, shown, counts = decided
    return {
        "verdicts": _VERDICTS.dump_python(dict(verdicts), mode="json"),
        "estimates": _to_json(shown),
        "counts": [[vars(metric), _to_json(own)] for metric, own in counts.values()],
    }


def _to_json(shown: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: [one.mean, one.variance.value, one.variance.df] for name, one in shown.items()}


def _from_json(raw: Any) -> dict[str, Estimate]:
    return {name: Estimate(mean, Variance(value, df)) for name, (mean, value, df) in raw.items()}


def _decided_from_json(raw: Any) -> _Decided:
    counts = {metric["name"]: (Metric(**metric), _from_json(own)) for metric, own in raw["counts"]}
    return _VERDICTS.validate_python(raw["verdicts"]), _from_json(raw["estimates"]), counts


VERDICTS = Form[_Decided]("verdicts", _decided_to_json, _decided_from_json)


# The fields in which two report types must agree for their campaigns to measure and judge in the
# same way. Workloads and threads are compared one by one, and sides as they are deployed.
_MEASURED = {*MEASURED, "sides", "threshold_pct", "repeat_limit"} - {
    *("workloads", "threads", "threads_by_workload", "rate")
}


def find(
    home: Home, store: Store, spec: ReportSpec, engine: str, workload: str | None = None
) -> Campaign | None:
    """The latest complete campaign with the same plan, versions, parameters and hardware.

    A topology may have changed and kept its name, so hosts are compared one by one. A fact about
    this machine that a campaign did not record does not count as a difference.

    Args:
        spec: with a version on each side.
        workload: the only one that must agree, whatever else the campaign measured; None: all of
            the report type, and no others.

    Raises:
        SpecError: the topology or the price list does not validate.

    Example:
        ``find(home, store, spec, "tidb", "oltp_insert")`` also finds a campaign that measured all
        workloads of the report type.
    """
    workloads = spec.workloads if workload is None else (workload,)
    wanted = _plan(spec, engine, workloads)
    hosts = planning.hosts(home, spec)
    machine = local.machine() if spec.topology is None else {}
    for campaign in reversed(store.campaigns(spec.report)):
        measured = campaign.report_type
        if (
            campaign.state == "complete"
            and campaign.plan.engine == engine
            and (workload in measured.workloads or set(measured.workloads) == set(workloads))
            and _plan(measured, engine, workloads) == wanted
            and campaign.plan.hosts == hosts
            and all(campaign.environment.get(name, fact) == fact for name, fact in machine.items())
        ):
            return campaign
    return None


def _deployed(side: SideSpec) -> dict[str, Any]:
    """A side with its builds' identities, regardless of where they were fetched from."""
    builds = {component: build.identity for component, build in side.builds.items()}
    return {**side.model_dump(mode="json", exclude={"builds"}), "builds": builds}


def _plan(spec: ReportSpec, engine: str, workloads: Collection[str]) -> dict[str, Any]:
    by_workload = spec.engines[engine].by_workload
    return {
        **spec.model_dump(mode="json", include=_MEASURED),
        "threads": {name: spec.threads_of(name) for name in workloads},
        "engine": {side: _deployed(spec.side(engine, side)) for side in SIDES},
        "by_workload": {name: by_workload[name] for name in workloads if name in by_workload},
    }
