"""The reaper: ends what is past its expiry, and what has no readable expiry.

It reads only tags and knows nothing of campaigns: what has expired is ended whatever home rented
it, and nothing else is. AWS's clock decides what has expired.
If it does not run, one safeguard remains: each host shuts itself down at the end of its lifetime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from benchlab.errors import TargetError, noting
from benchlab.hosts.access import Access
from benchlab.targets.ec2 import belongings, inventory, tags
from benchlab.targets.ec2.belongings import Belonging
from benchlab.targets.ec2.calls import PATIENT, AwsError, Limits, identify
from benchlab.targets.ec2.inventory import Instance

# How long a thing without a valid expiry, perhaps not tagged yet, is left alone.
GRACE = timedelta(hours=1)


@dataclass(frozen=True)
class Reaped:
    """One thing that was ended or deleted, or would be.

    Attributes:
        kind: ``instance``, ``key pair``, ``volume`` or ``security group``.
        id: its id; a key pair's name.
        why: the reason, for people.
        done: False in a dry run.
    """

    region: str
    kind: str
    id: str
    campaign: str
    why: str
    done: bool

    def __str__(self) -> str:
        verb = "terminated" if self.kind == "instance" else "deleted"
        done = verb if self.done else f"would be {verb}"
        whose = f"of campaign {self.campaign}" if self.campaign else "of no campaign"
        return f"{self.region}: {self.kind} {self.id} {whose} {done}: {self.why}."


class ReaperError(TargetError):
    """The reaper could not deal with everything; the text names every region and every thing.

    Attributes:
        reaped: what it ended nevertheless, in order; ``str`` of each is a sentence.
        no_credentials: the only fault is that boto3 found no credentials, so that no region could
            be asked.
    """

    def __init__(
        self, faults: Sequence[str], reaped: Sequence[object], *, no_credentials: bool = False
    ) -> None:
        named = "\n".join(faults)
        super().__init__(f"the reaper could not deal with everything:\n{named}")
        self.reaped, self.no_credentials = tuple(reaped), no_credentials


@dataclass
class _Visit:
    """The reaper in one region."""

    client: Any
    now: datetime
    dry_run: bool
    limits: Limits
    say: Callable[[str], None]
    reaped: list[Reaped]
    faults: list[str]

    @property
    def region(self) -> str:
        return str(self.client.meta.region_name)

    def take(self, kind: str, one: str, campaign: str, why: str, work: Callable[[], None]) -> None:
        """End one thing; a failure is noted, and the others are ended nevertheless."""
        with noting(self.faults, f"{self.region}: {kind} {one}: "):
            if not self.dry_run:
                work()
            done = Reaped(self.region, kind, one, campaign, why, done=not self.dry_run)
            self.reaped.append(done)
            self.say(str(done))


def reap(
    access: Access,
    regions: Iterable[str],
    *,
    dry_run: bool = False,
    now: datetime | None = None,
    limits: Limits = PATIENT,
    say: Callable[[str], None] | None = None,
) -> list[Reaped]:
    """End what is past its expiry, in every region.

    First it ends instances of the project whose expiry is past, or is missing or unreadable an
    hour after their launch. Then it deletes key pairs, volumes and security groups of rentals that
    have no instance left, if their expiry is past; or if it is missing or unreadable, and they are
    more than an hour old or their age is unknown (tag ``benchlab:created_at``; EC2 keeps no
    creation date for groups). What lacks the project's tag stays, and so do key pairs, volumes and
    groups of rentals with living instances.

    Args:
        dry_run: only report what would be ended.
        now: decides what is past its expiry; None: the present, by AWS's clock.
        say: receives a sentence on each thing as soon as it has ended, whatever fails later; and
            one if this machine's clock is wrong.

    Example:
        ``reap(Access(), ["us-west-2"], dry_run=True)``

    Returns:
        What was ended, in order.

    Raises:
        ReaperError: names every region and every thing that could not be dealt with; the rest has
            been ended.
    """
    say = say or (lambda text: None)
    reaped: list[Reaped] = []
    faults: list[str] = []
    unsigned = 0
    for region in dict.fromkeys(regions):
        with noting(faults, f"{region}: "):
            try:
                caller = identify(access, region)
            except AwsError as error:
                unsigned += error.no_credentials
                raise
            if caller.clock is not None:
                say(f"{region}: {caller.clock}; what has expired is decided by AWS's")
            client = access.aws("ec2", region)
            at = now or caller.now
            _visit(_Visit(client, at, dry_run, limits, say, reaped, faults))
    if faults:
        raise ReaperError(faults, reaped, no_credentials=unsigned == len(faults))
    return reaped


def _visit(visit: _Visit) -> None:
    listed, earlier = inventory.of_project(visit.client), len(visit.reaped)
    for instance in listed:
        if instance.living and (why := _overdue(instance, visit.now)):
            end = partial(inventory.terminate, visit.client, [instance.id])
            visit.take("instance", instance.id, instance.campaign, why, end)
    # In a dry run what would be ended counts as ended.
    taken = {reaped.id for reaped in visit.reaped[earlier:]}
    if taken and not visit.dry_run:
        _wait(visit, taken)
        listed = inventory.of_project(visit.client)
    inhabited = {(one.campaign, one.mark) for one in listed if one.living and one.id not in taken}
    for find in (belongings.key_pairs, belongings.volumes, belongings.groups):
        for found in find(visit.client, tags.of_project()):
            why = _left_behind(found, visit.now)
            if why and (found.campaign, found.mark) not in inhabited:
                delete = partial(found.delete, visit.client, visit.limits)
                visit.take(found.kind, found.id, found.campaign, why, delete)


def _overdue(instance: Instance, now: datetime) -> str | None:
    """Why an instance is to be ended; None: not yet."""
    if instance.expires_at is not None:
        if instance.expires_at >= now:
            return None
        return f"expired at {tags.written(instance.expires_at)}"
    if now - instance.launched_at < GRACE:
        return None
    return f"launched at {tags.written(instance.launched_at)} without a valid {tags.EXPIRES_AT}"


def _left_behind(found: Belonging, now: datetime) -> str | None:
    """Why a key pair or group of a rental without instances is to be deleted; None: not yet."""
    none = "its campaign has no instance, and it"
    if found.expires_at is not None:
        at = tags.written(found.expires_at)
        return f"{none} expired at {at}" if found.expires_at < now else None
    if found.created_at is None:
        return f"{none} has no valid {tags.EXPIRES_AT} or {tags.CREATED_AT}"
    if now - found.created_at < GRACE:
        return None
    return f"{none} was made at {tags.written(found.created_at)} without a valid {tags.EXPIRES_AT}"


def _wait(visit: _Visit, ended: set[str]) -> None:
    """Wait for ended instances: their groups can be deleted only when they are gone."""
    with noting(visit.faults, f"{visit.region}: "):
        inventory.wait_until_gone(
            visit.client, lambda: inventory.by_id(visit.client, ended).values(), visit.limits
        )
