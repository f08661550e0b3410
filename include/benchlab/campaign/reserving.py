"""Whether a campaign may begin beside others: the month's budget, and the account's vCPUs.

Example:
    ``store.spending.begin(record, partial(check, record, month=1000, quotas=()))``
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from benchlab.errors import LockHeldError, SpecError, TargetError
from benchlab.plan.fields.budget import Budget
from benchlab.plan.plan import Plan
from benchlab.plan.spending import Quota
from benchlab.results.spending import Month, Record, month_of
from benchlab.targets.ec2.rental_file import longest_minutes

_MOST_NAMED = 3
_HOW = "Wait for that, as `benchlab run --wait` does"


def record(
    campaign: str, plan: Plan, budget: Budget | None, quotas: Sequence[Quota], now: datetime
) -> Record | None:
    """What a campaign that registers now would hold; None if its plan has no price or no budget."""
    hourly = plan.most_usd_per_minute
    if hourly is None or budget is None:
        return None
    return Record(
        id=campaign,
        report=plan.report,
        month=month_of(now),
        begun_at=now,
        until=now + timedelta(minutes=plan.most_minutes),
        committed=round(min(budget.limit, hourly * longest_minutes(plan)), 2),
        region=plan.region,
        vcpus=plan.vcpus,
        quotas={one.code: one.needed for one in quotas},
    )


def check(
    asked: Record, others: Sequence[Record], *, month: float | None, quotas: Iterable[Quota]
) -> None:
    """Refuse a campaign that does not fit beside the others.

    Args:
        others: of the store: those that are open, and those of the month.
        month: ``month`` of ``configs/budget.yaml``; None: no limit.

    Raises:
        LockHeldError: it may fit once others have ended; names them, what they hold and until when.
        SpecError: it cannot fit in this month.
        TargetError: it needs more vCPUs than the account allows, or than other programs leave.
    """
    if month is not None:
        _check_month(asked, Month(asked.month, _of_month(asked, others)), month)
    for quota in quotas:
        _check_quota(asked.id, quota, [one for one in others if one.is_open])


def _of_month(asked: Record, others: Iterable[Record]) -> tuple[Record, ...]:
    return tuple(one for one in others if one.month == asked.month)


def _check_month(asked: Record, found: Month, month: float) -> None:
    of = f"{_dollars(month)} in {asked.month} (`month` in configs/budget.yaml)"
    costs = f"this campaign may cost up to {_dollars(asked.committed)}"
    if found.spent + asked.committed > month:
        raise SpecError(
            f"{costs}, and of {of} {_dollars(found.spent)} are spent: no waiting helps. Run it "
            "in another month, give it a lower budget.limit, or raise `month`"
        )
    if found.spent + found.committed + asked.committed > month:
        holders = {one.id: one.still_committed for one in found.open}
        named = _named(found.open, {id_: _dollars(held) for id_, held in holders.items()}, holders)
        raise LockHeldError(
            f"{named}; {costs}, and of {of} {_dollars(found.spent)} are spent and "
            f"{_dollars(found.committed)} committed. {_HOW}"
        )


def _check_quota(asked: str, quota: Quota, others: Sequence[Record]) -> None:
    """A campaign that has registered counts with all that it may rent, before it does.

    Args:
        asked: the campaign that asks, whose own hosts are not taken from it.
    """
    own = {one.id: one for one in others if one.region == quota.region}
    held = Counter({id_: one.quotas.get(quota.code, 0) for id_, one in own.items()})
    foreign = 0
    for campaign, used in quota.used.items():
        if campaign in own:
            held[campaign] = max(held[campaign], used)
        elif campaign != asked:
            foreign += used
    room = quota.allowed - quota.needed
    needs = (
        f"this campaign needs {quota.needed} of the {quota.allowed:g} vCPUs that quota "
        f"{quota.code} allows in {quota.region}"
    )
    if foreign > room:
        raise TargetError(
            f"{needs}, and {foreign} are used by what this installation does not know: ask for "
            "a higher quota under Service Quotas, Amazon EC2, or take a smaller fleet"
        )
    if (taken := foreign + held.total()) > room:
        named = _named(own.values(), {id_: f"{n} vCPUs" for id_, n in held.items()}, held)
        raise LockHeldError(f"{named}; {needs}, of which {taken} are held. {_HOW}")


def _named(records: Iterable[Record], what: Mapping[str, str], amounts: Mapping[str, float]) -> str:
    """``campaign a holds 90.00 dollars until about 14:10 UTC``, the largest first."""
    holding = sorted((one for one in records if amounts[one.id]), key=lambda one: -amounts[one.id])
    said = [f"campaign {one.id} holds {what[one.id]} {_until(one)}" for one in holding]
    more = len(said) - _MOST_NAMED
    return ", ".join([*said[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])


def _until(one: Record) -> str:
    now = datetime.now(UTC)
    if one.until < now:
        return (
            f"and should have ended at {one.until:%Y-%m-%d %H:%M} UTC (`benchlab give-back "
            f"{one.id}` if nothing is at work on it)"
        )
    day = "" if one.until.date() == now.date() else f"{one.until:%Y-%m-%d} "
    return f"until about {day}{one.until:%H:%M} UTC"


def _dollars(amount: float) -> str:
    return f"{amount:,.2f} dollars"
