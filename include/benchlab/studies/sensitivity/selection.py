"""Selects the A/A campaigns of the store that can be pooled, and says why others cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.aa_campaigns import can_calibrate, differences, figures_of, is_alike
from benchlab.analysis.verdict.estimates import MIN_CAMPAIGNS
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.errors import SpecError
from benchlab.language.names import first_of
from benchlab.results.records import Campaign
from benchlab.results.store import Store

HOW_TO_MAKE = "benchlab run {report} --set sides=same"


@dataclass(frozen=True)
class AASelection:
    """A/A campaigns of one report type and setting, with their figures.

    Attributes:
        first: the one that was named first; the others are like it.
        independent: by campaign, the figures of those whose sides were loaded independently.
        alike: by campaign, the figures of those with trials as long as the first one's, without
            workloads whose thread counts differ from the first one's.
        notes: sentences about the campaigns that ``independent`` or ``alike`` leaves out.
    """

    first: Campaign
    campaigns: tuple[str, ...]
    independent: dict[str, list[Rounds]]
    alike: dict[str, list[Rounds]]
    notes: tuple[str, ...]

    @property
    def seconds(self) -> int:
        """The length of the trials in ``alike``."""
        return _seconds(self.first)


@dataclass(frozen=True)
class AAGroup:
    """A/A campaigns of the store that can be pooled.

    Attributes:
        campaigns: their ids, the earliest first; empty if they cannot be used at all.
        missing: what the group lacks, or why its campaigns cannot be used, as sentences.
    """

    report: str
    campaigns: tuple[str, ...]
    missing: tuple[str, ...]


def select_aa_campaigns(store: Store, ids: Sequence[str]) -> AASelection:
    """Read the A/A campaigns to be pooled.

    Raises:
        SpecError: some cannot be pooled, or are named twice; names each with the reason.
        StoreError: there is no such campaign.
    """
    if twice := sorted({campaign for campaign in ids if ids.count(campaign) > 1}):
        raise SpecError(f"calibrate: named twice: {', '.join(twice)}; each campaign counts once")
    campaigns = [store.campaign(campaign) for campaign in ids]
    # The others need not be like a campaign that is unusable itself.
    usable = (campaign for campaign in campaigns if refusal(campaign, campaign) is None)
    first = next(usable, campaigns[0])
    faults = [
        f"{campaign.id}: {why}"
        for campaign in campaigns
        if (why := refusal(campaign, campaign) or refusal(first, campaign))
    ]
    if faults:
        raise SpecError("\n".join(faults))
    in_order = sorted(campaigns, key=lambda campaign: campaign.id)
    figures = {campaign.id: figures_of(store, campaign) for campaign in in_order}
    restored = [campaign.id for campaign in in_order if not can_calibrate(campaign)]
    other_length = [campaign.id for campaign in in_order if _seconds(campaign) != _seconds(first)]
    threads = {rounds.workload: set(rounds.threads) for rounds in figures[first.id]}
    about = {
        "restored from a dataset snapshot, so that both sides have the same data layout: counted "
        "for the noise of rounds, not for the deployment variance": restored,
        f"trials of another length than {first.id}'s: counted for the deployment variance, not for "
        "the noise of rounds": other_length,
    }
    return AASelection(
        first=first,
        campaigns=tuple(figures),
        independent={name: found for name, found in figures.items() if name not in restored},
        alike={
            name: [rounds for rounds in found if threads.get(rounds.workload) == {*rounds.threads}]
            for name, found in figures.items()
            if name not in other_length
        },
        notes=tuple(f"{', '.join(ids)}: {what}" for what, ids in about.items() if ids),
    )


def refusal(first: Campaign, other: Campaign) -> str | None:
    """Why a campaign cannot be pooled with the first one, as a sentence; None if it can."""
    if other.report_type.sides != "same":
        return (
            "not an A/A campaign: what it finds may be a change; make one with "
            f"`{HOW_TO_MAKE.format(report=other.plan.report)}`"
        )
    if other.plan.slowdown_pct:
        return (
            f"its candidate was slowed down by {other.plan.slowdown_pct:g}% on purpose, and "
            "finding that is not a false alarm"
        )
    if other.state != "complete":
        return f"{other.state}, not complete"
    if found := differences(first, other):
        unlike = (f"{what} {theirs} instead of {ours}" for what, (ours, theirs) in found.items())
        return f"not like {first.id}: {', '.join(unlike)}; calibrate it apart"
    return None


def aa_groups(store: Store) -> list[AAGroup]:
    """All A/A campaigns of the store, grouped by which can be pooled.

    Example:
        ``[group.campaigns for group in aa_groups(store)]``
    """
    groups: list[list[Campaign]] = []
    refused: dict[str, dict[str, list[str]]] = {}
    for campaign in store.campaigns():
        if campaign.report_type.sides != "same" or campaign.is_reproduction:
            continue
        if why := refusal(campaign, campaign):
            refused.setdefault(campaign.plan.report, {}).setdefault(why, []).append(campaign.id)
            continue
        group = next((group for group in groups if is_alike(group[0], campaign)), [])
        if not group:
            groups.append(group)
        group.append(campaign)
    listed = [_group(group) for group in groups]
    listed += [
        AAGroup(report, (), tuple(f"{first_of(ids)}: {why}" for why, ids in reasons.items()))
        for report, reasons in refused.items()
    ]
    return sorted(listed, key=lambda group: (group.report, not group.campaigns))


def _group(campaigns: Sequence[Campaign]) -> AAGroup:
    report = campaigns[0].plan.report
    more = MIN_CAMPAIGNS - sum(map(can_calibrate, campaigns))
    lacks = (
        f"for the deployment variance {more} more {'is' if more == 1 else 'are'} needed, each "
        f"deployed and loaded on its own: `{HOW_TO_MAKE.format(report=report)}`"
    )
    ids = tuple(campaign.id for campaign in campaigns)
    return AAGroup(report, ids, (lacks,) if more > 0 else ())


def _seconds(campaign: Campaign) -> int:
    return campaign.plan.trials[0].seconds
