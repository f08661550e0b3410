"""``rental.json`` in a campaign's directory: what it rents, where, and in which account.

It exists from before anything is rented until all of it was given back. A repeated call rents what
it says. Giving back ends what carries its mark, and checks what EC2 lists against it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import Field

from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.plan.documents import Frozen, flat
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.spending import Spending
from benchlab.plan.steps import measuring_minutes
from benchlab.plan.topology import Ec2Topology
from benchlab.targets import fleet_files

# The lifetime is twice the planned time, or the planned time with all repeats if that is more, plus
# this; unless the budget ends it before.
SPARE_MINUTES = 120.0


class RentalFile(Frozen):
    """The content of a campaign's ``rental.json``.

    Attributes:
        mark: tells the rental from every other one under the campaign's id: the home's mark, and
            one drawn for the rental. It is in the tags and names of all that is rented.
        region: where the fleet is, or was tried last.
        created_at: when the campaign began to rent, by AWS's clock.
        account: id of the AWS account that pays; None, like ``topology``, in TiDB Cloud.
        topology: by which it rents, with this machine's address in place of ``ssh_from: auto``.
        instances: the ids of all instances launched so far.
        usd_per_minute: the price of the whole fleet; None, like ``limit``, for the client beside a
            TiDB Cloud cluster, which the cluster's price includes.
        limit: the campaign's ``budget.limit``, in dollars.
        earlier: dollars that its fleets before this one have cost.
        regions: every region in which it has begun to rent.
        rented: the choice of its topology that is rented, or was tried last.
        on_demand: the hosts that are no longer requested as spot hosts.
        priced_since: from when on ``usd_per_minute`` counts; None: from ``created_at``.
        replacements: how often lost hosts have been replaced.
        installer: facts of the script that installed TiUP, for the report.
    """

    mark: Annotated[str, Field(min_length=1)]
    region: str
    created_at: datetime
    lifetime_minutes: float
    account: str | None = None
    topology: Ec2Topology | None = None
    instances: tuple[str, ...] = ()
    usd_per_minute: float | None = None
    limit: float | None = None
    earlier: float = 0.0
    regions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    rented: Ec2Topology | None = None
    on_demand: Annotated[tuple[str, ...], Field(strict=False)] = ()
    priced_since: datetime | None = None
    replacements: int = 0
    installer: dict[str, str] = Field(default_factory=dict)

    @property
    def lifetime(self) -> timedelta:
        """How long the fleet may stay, counted from ``created_at``."""
        return timedelta(minutes=self.lifetime_minutes)

    def spending(self, now: datetime) -> Spending | None:
        """What the campaign has cost until ``now``, by AWS's clock; None if no price is known."""
        if self.usd_per_minute is None or self.limit is None:
            return None
        # It ends itself after its lifetime, however late it is given back.
        end = self.created_at + self.lifetime
        age, priced = (
            max((min(now, end) - since) / timedelta(minutes=1), 0.0)
            for since in (self.created_at, self.priced_since or self.created_at)
        )
        return Spending(
            dollars=self.earlier + priced * self.usd_per_minute,
            limit=self.limit,
            usd_per_minute=self.usd_per_minute,
            minutes_left=self.lifetime_minutes - age,
            region=self.region,
        )

    def priced(self, usd_per_minute: float, now: datetime) -> RentalFile:
        """The same at another price from ``now`` on; what was spent until then stays spent."""
        if usd_per_minute == self.usd_per_minute or (spent := self.spending(now)) is None:
            return self
        price = {"usd_per_minute": usd_per_minute, "priced_since": now}
        return self.model_copy(update={"earlier": spent.dollars, **price})


def new(
    home: Home, campaign: str, plan: Plan, spec: ReportSpec, *, region: str, now: datetime
) -> RentalFile:
    """What a campaign begins to rent now: with a mark of its own, for as long as it may pay.

    Raises:
        TargetError: the plan has no price; or earlier fleets or clusters of the campaign have cost
            so much that the rest does not pay for another one.
    """
    most, budget, state = plan.most_usd_per_minute, spec.budget, home.campaign(campaign)
    if most is None or budget is None:
        raise TargetError(f"campaign {campaign}: its plan has no price, or no budget")
    earlier = spent_before(state)
    # A plan that keeps to the limit fits into it.
    payable = (budget.limit - earlier) / most
    if earlier and payable < plan.minutes - measuring_minutes(plan.steps):
        raise TargetError(
            f"budget.limit: campaign {campaign} has spent {earlier:.2f} of {budget.limit:.2f} "
            "dollars on what it rented before, and the rest does not pay for another one. What it "
            f"has measured is kept: `benchlab publish {campaign}`"
        )
    return RentalFile(
        mark=new_mark(home),
        region=region,
        created_at=now,
        lifetime_minutes=min(longest_minutes(plan), payable),
        usd_per_minute=plan.usd_per_minute,
        limit=budget.limit,
        earlier=earlier,
    )


def longest_minutes(plan: Plan) -> float:
    """How long hosts may stay if the limit pays for it."""
    return plan.most_minutes + max(plan.most_minutes, plan.repeat_minutes) + SPARE_MINUTES


def new_mark(home: Home) -> str:
    """A mark that no other rental has: ``3f2a9c1b-7d40e1c2``."""
    return f"{home.mark}-{secrets.token_hex(4)}"


def path(state: Path) -> Path:
    """Where a campaign's file is: ``path(home.campaign("c1"))``."""
    return state / fleet_files.RENTAL_FILE


def read(state: Path) -> RentalFile | None:
    """A campaign's file; None if it has none, or one that was cut, damaged or cannot be read."""
    try:
        return RentalFile.model_validate_json(path(state).read_bytes())
    except (OSError, pydantic.ValidationError):
        return None


def read_to_rent(state: Path) -> RentalFile | None:
    """As :func:`read`, for a campaign that is about to rent.

    Raises:
        TargetError: the file is damaged, so that it is not known what was rented already.
    """
    found = read(state)
    if found is None and path(state).exists():
        raise TargetError(
            f"{path(state)} is empty or damaged, so it is not known what was rented already; "
            f"`benchlab give-back {state.name}` finds that by its tags; then start again"
        )
    return found


def write(state: Path, kept: RentalFile) -> None:
    """Write a campaign's file atomically, in place of an earlier one."""
    path(state).parent.mkdir(parents=True, exist_ok=True)
    fleet_files.write(path(state), kept.model_dump_json(indent=1))


def spent_before(state: Path) -> float:
    """What those of a campaign's fleets that were given back have cost, in dollars.

    Raises:
        TargetError: the file that says so is damaged.
    """
    try:
        return float((state / fleet_files.SPENT_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0.0
    except (OSError, ValueError) as error:
        raise TargetError(
            f"{state / fleet_files.SPENT_FILE}: what the campaign's earlier fleets have cost "
            "cannot be read; write the dollars into it, for example 12.50, or start another "
            "campaign"
        ) from error


def keep_spent(state: Path, spent: Spending) -> None:
    """Note the cost of what was given back; it counts if the campaign rents again."""
    fleet_files.write(state / fleet_files.SPENT_FILE, f"{spent.dollars:.4f}")


def add_instances(state: Path, instances: Iterable[str]) -> None:
    """Add instances to those that the campaign has launched."""
    if (kept := read(state)) is not None:
        every = tuple(dict.fromkeys((*kept.instances, *instances)))
        write(state, kept.model_copy(update={"instances": every}))


def differences(kept: Ec2Topology, now: Ec2Topology) -> list[str]:
    """The fields in which two topologies differ, for people: ``region: a, now b``."""
    return changes(flat(kept.model_dump(mode="json")), flat(now.model_dump(mode="json")))


def changes(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """The keys whose values differ, for people: ``region: a, now b``."""
    return [
        f"{field}: {before.get(field)}, now {after.get(field)}"
        for field in sorted(before.keys() | after.keys())
        if before.get(field) != after.get(field)
    ]
