"""Which A/A campaigns can be taken together, and why others cannot; what the store has of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.aa_campaigns import can_calibrate, differences, figures_of, is_alike
from benchlab.calibration import MIN_CAMPAIGNS
from benchlab.errors import SpecError
from benchlab.report.names import first_of
from benchlab.results import Campaign
from benchlab.rounds import Rounds
from benchlab.store import Store

HOW_TO_MAKE = "benchlab run {report} --set sides=same"


@dataclass(frozen=True)
class Selection:
    """A/A campaigns of one report type and setting, with their figures.

    Attributes:
        first: the one that was named first; the others are like it.
        campaigns: all of them, in the order of their ids.
        independent: figures, by workload, of those whose sides were each loaded on its own.
        alike: figures of those with trials as long as the first one's; a workload with other
            thread counts than the first one's is left out.
        notes: which are not among these, as sentences.
    """

    first: Campaign
    campaigns: tuple[Campaign, ...]
    independent: dict[str, list[Rounds]]
    alike: dict[str, list[Rounds]]
    notes: tuple[str, ...]

    @property
    def seconds(self) -> int:
        """The length of the trials in ``alike``."""
        return _seconds(self.first)


@dataclass(frozen=True)
class Kin:
    """A/A campaigns of the store that can be taken together.

    Attributes:
        campaigns: their ids, the earliest first.
        missing: what they lack, as sentences.
    """

    report: str
    campaigns: tuple[str, ...]
    missing: tuple[str, ...]


def select(store: Store, ids: Sequence[str]) -> Selection:
    """Read A/A campaigns, to be taken together.

    Raises:
        SpecError: some cannot be; names each with the reason.
        StoreError: there is no such campaign.
    """
    if twice := sorted({each for each in ids if ids.count(each) > 1}):
        raise SpecError(f"calibrate: named twice: {', '.join(twice)}; each campaign counts once")
    found = [store.campaign(each) for each in ids]
    # What is no A/A campaign itself is not what the others have to be like.
    first = next((each for each in found if refusal(each, each) is None), found[0])
    faults = [
        f"{each.id}: {why}"
        for each in found
        if (why := refusal(each, each) or refusal(first, each))
    ]
    if faults:
        raise SpecError("\n".join(faults))
    return of(store, first, found)


def of(store: Store, first: Campaign, campaigns: Sequence[Campaign]) -> Selection:
    """The figures of campaigns that can be taken together."""
    in_order = sorted(campaigns, key=lambda each: each.id)
    figures = {each.id: figures_of(store, each) for each in in_order}
    restored = [each.id for each in in_order if not can_calibrate(each)]
    other_length = [each.id for each in in_order if _seconds(each) != _seconds(first)]
    threads = {rounds.workload: set(rounds.threads) for rounds in figures[first.id]}
    notes = []
    if restored:
        notes.append(
            f"{', '.join(restored)}: restored from a dataset snapshot, so that both sides have the "
            "same data layout: counted for the noise of rounds, not for the deployment variance"
        )
    if other_length:
        notes.append(
            f"{', '.join(other_length)}: trials of another length than {first.id}'s: counted for "
            "the deployment variance, not for the noise of rounds"
        )
    return Selection(
        first=first,
        campaigns=tuple(in_order),
        independent={each: found for each, found in figures.items() if each not in restored},
        alike={
            each: [
                rounds for rounds in found if threads.get(rounds.workload) == set(rounds.threads)
            ]
            for each, found in figures.items()
            if each not in other_length
        },
        notes=tuple(notes),
    )


def refusal(first: Campaign, other: Campaign) -> str | None:
    """Why a campaign cannot be taken together with another one, as a sentence; None: it can."""
    if other.spec.get("sides") != "same":
        return (
            "no A/A campaign: what it finds may be a change; make one with "
            f"`{HOW_TO_MAKE.format(report=other.plan.report)}`"
        )
    if other.plan.slowdown_pct:
        return (
            f"its candidate was slowed down by {other.plan.slowdown_pct:g}% on purpose, and "
            "finding that is no false alarm"
        )
    if other.state != "complete":
        return f"{other.state}, not complete"
    if not is_alike(first, other):
        return f"not like {first.id}: {_differences(first, other)}; calibrate it apart"
    return None


def kin(store: Store) -> list[Kin]:
    """All A/A campaigns of the store, in groups of those that can be taken together.

    Those that cannot be taken at all are a group without campaigns, which names them.
    """
    groups: list[list[Campaign]] = []
    refused: dict[str, dict[str, list[str]]] = {}
    for each in reversed([store.campaign(campaign) for campaign in store.campaign_ids()]):
        if each.spec.get("sides") != "same":
            continue
        if why := refusal(each, each):
            refused.setdefault(each.plan.report, {}).setdefault(why, []).append(each.id)
            continue
        group = next((found for found in groups if is_alike(found[0], each)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    listed = [_kin(group) for group in groups]
    listed += [
        Kin(report, (), tuple(f"{first_of(ids)}: {why}" for why, ids in found.items()))
        for report, found in refused.items()
    ]
    return sorted(listed, key=lambda each: (each.report, not each.campaigns))


def _kin(group: Sequence[Campaign]) -> Kin:
    report, more = group[0].plan.report, MIN_CAMPAIGNS - sum(map(can_calibrate, group))
    lacks = (
        f"for the deployment variance {more} more {'is' if more == 1 else 'are'} needed, each "
        f"deployed and loaded on its own: `{HOW_TO_MAKE.format(report=report)}`"
    )
    return Kin(report, tuple(each.id for each in group), (lacks,) if more > 0 else ())


def _seconds(campaign: Campaign) -> int:
    return campaign.plan.trials[0].seconds


def _differences(one: Campaign, other: Campaign) -> str:
    return ", ".join(
        f"{what} {theirs} instead of {ours}"
        for what, (ours, theirs) in differences(one, other).items()
    )
