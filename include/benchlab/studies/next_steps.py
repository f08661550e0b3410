"""What can be done after a campaign: again, more rounds, diagnosis, bisection; with time and cost.

Nothing is started, and nobody is asked: plans are what the page Plan and ``benchlab plan`` show.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.analysis.verdict.decision import TOO_COARSE, UNDECIDABLE
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS
from benchlab.campaign import overrides, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.errors import BenchlabError, SpecError, StoreError, UnavailableError
from benchlab.home import Home
from benchlab.language import Message, Said
from benchlab.plan import versions
from benchlab.plan.open_loop import rate_of
from benchlab.plan.plan import Plan, make
from benchlab.plan.report_type import MAX_DEPLOYMENTS, SIDES, ReportSpec
from benchlab.plan.resolved import Request
from benchlab.plan.steps import diagnosis_minutes
from benchlab.results import diagnosis
from benchlab.results.records import TWO_CAMPAIGNS, Campaign
from benchlab.results.store import Store
from benchlab.studies.bisection.run import Bisection
from benchlab.studies.bisection.search import CHANGES, Next
from benchlab.studies.comparisons import Comparisons

Kind = Literal["again", "rounds", "diagnose", "bisect"]
# What `benchlab bisect` is told by its arguments.
_OF_BISECTION = ("workloads", "rate", *SIDES)


@dataclass(frozen=True)
class NextStep:
    """One thing that can be done next.

    Attributes:
        workloads: those that it is about; empty: all.
        changes: the fields in which it differs from the report type's file.
        fields: those in which it differs from the campaign; None where no form starts it.
        minutes: in total; None where it cannot be planned.
        dollars: in total; None where nothing is rented, or a price is missing.
        rents: whether it costs money.
        most_campaigns: of a bisection.
        decides: of more rounds: whether the report says that as many would decide.
        why_not: why it cannot be planned.
    """

    kind: Kind
    workloads: tuple[str, ...]
    changes: Mapping[str, Any]
    command: str
    fields: Mapping[str, Any] | None = field(default_factory=dict)
    minutes: float | None = None
    dollars: float | None = None
    rents: bool = False
    most_campaigns: int | None = None
    decides: bool = False
    why_not: tuple[Said, ...] = ()


def next_steps(
    comparisons: Comparisons, campaign: Campaign, comparison: Comparison, today: date
) -> tuple[NextStep, ...]:
    """What makes sense after a campaign; nothing after one that no report type's file measures.

    Example:
        ``next_steps(comparisons, campaign, outcome.comparison, today)[0].command`` is
        ``benchlab run sysbench_local --set baseline=10.2.11``.

    Raises:
        StoreError: the store cannot be read.
    """
    base = None if campaign.is_reproduction else overrides.as_measured(comparisons.home, campaign)
    if base is None or campaign.state == "running" or TWO_CAMPAIGNS in campaign.environment:
        return ()
    home, store = comparisons.home, comparisons.store
    file = report_types.load(report_types.find_report(home, campaign.plan.report))
    after = _After(home, store, campaign, file, base, today)
    found = [after.planned("again", (), {})]
    if campaign.report_type.sides == "different" and not campaign.plan.slowdown_pct:
        alone = [one for one in comparison.workloads if rate_of(one.name) is None]
        changed = [one for one in alone if one.verdict in CHANGES]
        found += after.more_rounds([one for one in alone if one.verdict == "inconclusive"])
        found += after.diagnosed([one.name for one in changed])
        found += after.bisected(comparisons, changed)
    return tuple(found)


@dataclass(frozen=True)
class _After:
    """The steps after one campaign; ``base``: the fields with which ``file`` measures it again."""

    home: Home
    store: Store
    campaign: Campaign
    file: ReportSpec
    base: Mapping[str, Any]
    today: date

    def planned(self, kind: Kind, about: Sequence[str], fields: Mapping[str, Any]) -> NextStep:
        """A campaign with changed fields; if it is to diagnose, with the time of that."""
        changes = {**self.base, **fields}
        command = shlex.join(overrides.running(self.file.report, changes))
        step = NextStep(kind, tuple(about), changes, command, fields)
        try:
            spec = overrides.override(self.file, changes)
            resolver = Resolver(self.home, self.store, asks=Asks.NOBODY)
            plan = make(resolver.resolve(Request(spec, self.today)), spec.report)
        except StoreError:
            raise
        except BenchlabError as error:
            return replace(step, why_not=error.args)
        more = diagnosis_minutes(plan.minutes) if kind == "diagnose" else 0.0
        return replace(step, **_cost_of(plan, 1, more))

    def more_rounds(self, undecided: Sequence[WorkloadComparison]) -> Iterator[NextStep]:
        """As many rounds and deployments as the report says would decide; else twice as many.

        None where more would not help, and with ``design: watch``, which goes on every week.
        """
        spec = self.campaign.report_type
        twice = {"rounds": max(2 * spec.rounds, 2 * LEAST_ROUNDS)}
        said = {one.name: _needed(one) for one in undecided}
        wanted = {name: of or twice for name, of in said.items() if "none" not in of}
        if not wanted or spec.design == "watch":
            return
        each = spec.rounds // spec.deployments
        needed = max(of.get("deployments", spec.deployments) for of in wanted.values())
        rounds = max(*(of.get("rounds", 0) for of in wanted.values()), needed * each)
        if spec.deployments > 1:  # as many rounds in each as before
            needed = max(needed, math.ceil(rounds / each))
            rounds = min(needed, MAX_DEPLOYMENTS) * each
        deployments = min(needed, MAX_DEPLOYMENTS)
        if rounds <= spec.rounds and deployments <= spec.deployments:
            return
        fields: dict[str, Any] = {"rounds": rounds, "deployments": deployments}
        workloads = [name for name in spec.as_written if name in wanted]
        if len(workloads) < len(spec.as_written):
            fields["workloads"] = workloads
        decides = needed == deployments and all(said[name] for name in wanted)
        yield replace(self.planned("rounds", workloads, fields), decides=decides)

    def diagnosed(self, changed: Sequence[str]) -> Iterator[NextStep]:
        """The changed workloads again, with diagnosis; only those that were not looked at."""
        known = diagnosis.found(self.campaign.environment)
        unseen = [one for one in changed if known is None or not known.found.get(one)]
        if unseen and self.campaign.plan.can.administers:
            yield self.planned("diagnose", unseen, {"workloads": unseen, "diagnose": "always"})

    def bisected(self, of: Comparisons, changed: list[WorkloadComparison]) -> Iterator[NextStep]:
        """The search for the release that brought the clearest change, regressions first."""
        plan = self.campaign.plan
        if not changed or not (plan.can.deploys and plan.can.chooses_version):
            return
        worst = min(changed, key=lambda one: (one.verdict != "regression", one.p_adjusted or 0.0))
        good, bad = sorted((plan.sides[side].version for side in SIDES), key=versions.order)
        others = {name: at for name, at in self.base.items() if name not in _OF_BISECTION}
        words = ["benchlab", "bisect", good, bad, "--report", self.file.report]
        words += ["--workload", worst.name, *overrides.running("", others)[3:]]
        try:
            spec = overrides.override(self.file, others)
            known = self.home, self.store, spec, good, bad, worst.name
            search = Bisection.open(*known, asks=Asks.NOBODY)
            if len(search.way.releases) <= len(SIDES):
                return  # the report itself names the release
            search.look_from(of.compared(self.campaign))
        except (SpecError, UnavailableError):
            return  # such as of sides with parameters of their own, or for its cost
        if isinstance(search.reached, Next) and search.plan is not None:
            most = search.reached.at_most
            step = NextStep("bisect", (worst.name,), others, shlex.join(words), None)
            yield replace(step, most_campaigns=most, **_cost_of(search.plan, most))


def _needed(one: WorkloadComparison) -> dict[str, int]:
    """What would decide a workload, as its report says, by unit: ``rounds``, ``deployments``.

    Empty if it does not say; ``none`` if more would not help, or if nobody would run as many.
    """
    said = {why.id: dict(why.values) for why in one.reasons if isinstance(why, Message)}
    if TOO_COARSE in said:
        return {"none": 0}
    of = said.get(UNDECIDABLE)
    if of is None:
        return {}
    return {"none" if of["most"] == "yes" else str(of["unit"]): int(str(of["count"]))}


def _cost_of(plan: Plan, times: int, more: float = 0.0) -> dict[str, Any]:
    minutes, hourly = plan.minutes + more, plan.usd_per_minute
    return {
        "minutes": times * minutes,
        "dollars": None if hourly is None else times * minutes * hourly,
        "rents": plan.can.rents,
    }
