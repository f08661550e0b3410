"""What a planned campaign will find, by the A/A campaigns of the store that are like it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from benchlab import aa_selection, calibration, catalog
from benchlab.aa_campaigns import is_alike
from benchlab.aa_proposals import Proposal
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.plan import Plan
from benchlab.proposals import RoundVariance, Search
from benchlab.resampling import noise_of
from benchlab.results import Campaign
from benchlab.spec import ReportSpec
from benchlab.store import Store

# The plan's own rounds, and more of them.
_TIMES = (1, 2, 4)
# A plan is shown at once: older campaigns are not read for it.
_LATEST = 12


@dataclass(frozen=True)
class PlanSensitivity:
    """The smallest slowdown that a plan finds in 4 of 5 campaigns, in every workload.

    Attributes:
        campaigns: the A/A campaigns by which it is known.
        scope: how far the verdicts will reach: ``versions`` or ``this deployment``.
        detects_pct: None where not even 50 % is found.
        offers: the plan itself and the same with more rounds, as far as they find anything and
            can be planned.
    """

    campaigns: tuple[str, ...]
    scope: str
    detects_pct: float | None
    offers: tuple[Proposal, ...]

    def to_json(self) -> dict[str, Any]:
        """The value of ``sensitivity`` in what ``benchlab plan --json`` prints."""
        return {**asdict(self), "campaigns": list(self.campaigns)}


def of(home: Home, spec: ReportSpec, planned: Plan) -> PlanSensitivity | None:
    """What a plan will find; None where the store has no A/A campaign that tells it.

    Trials longer than those of the A/A campaigns are taken not to help, and shorter ones to have
    all their noise within them: that errs on the safe side, and needs no series to be read.

    Raises:
        StoreError: the store cannot be read.
    """
    if spec.sides == "single" or not _is_there(home):
        return None
    with Store(home.store_url, home.objects) as store:
        campaigns = _like(store, spec, planned)
        if not campaigns:
            return None
        chosen = aa_selection.of(store, campaigns[-1], campaigns)
    alike = {
        campaign: [rounds for rounds in found if rounds.workload in spec.workloads]
        for campaign, found in chosen.alike.items()
    }
    noise = noise_of(alike, "throughput", calibration.calibrate(chosen.independent))
    if set(noise.workloads) != set(spec.workloads):
        return None
    shorter = spec.seconds < chosen.seconds
    variances = [
        RoundVariance(chosen.seconds, total, total if shorter else None)
        for total in noise.round_variances.tolist()
    ]
    search = Search(noise, variances, spec.threshold_pct)
    return PlanSensitivity(
        campaigns=tuple(each.id for each in chosen.campaigns),
        scope="versions" if all(noise.variances) else "this deployment",
        detects_pct=search.detects(spec.rounds, spec.seconds),
        offers=tuple(_offers(home, spec, planned, search)),
    )


def _offers(home: Home, spec: ReportSpec, planned: Plan, search: Search) -> Iterator[Proposal]:
    for times in _TIMES:
        rounds = times * spec.rounds
        detects = search.detects(rounds, spec.seconds)
        if detects is None:
            continue
        try:
            more = spec.with_overrides({"rounds": rounds})
            plan = planned if times == 1 else catalog.plan(home, more, planned.engine, spec.report)
        except SpecError:
            return  # above the budget, or too many trials; what has still more rounds is, too
        yield Proposal(rounds, spec.seconds, plan.minutes / 60, plan.dollars, detects)


def _like(store: Store, spec: ReportSpec, planned: Plan) -> list[Campaign]:
    """The A/A campaigns with the plan's setting, workloads and threads; the earliest first."""
    fit = [
        each
        for each in store.campaigns(spec.report)
        if aa_selection.refusal(each, each) is None
        and set(each.spec["threads"]) == set(spec.threads)
        and set(each.spec["workloads"]) >= set(spec.workloads)
    ]
    if not fit:
        return []
    # Which client it will be is decided on its host: the one that it was last.
    campaign = Campaign(
        id=planned.report, plan=planned, spec=spec.model_dump(mode="json"), engine_reason="",
        origin="", state="running", started_at=fit[-1].started_at, ended_at=None,
        environment=fit[-1].environment, facts={},
    )  # fmt: skip
    return [each for each in fit if is_alike(campaign, each)][-_LATEST:]


def _is_there(home: Home) -> bool:
    """Whether there is a store; a plan does not make one."""
    try:
        url = make_url(home.store_url)
    except (ArgumentError, ValueError):
        return True  # and the store says what is wrong with its URL
    return url.get_backend_name() != "sqlite" or (
        url.database is not None and Path(url.database).exists()
    )
