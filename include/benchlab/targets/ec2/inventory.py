"""Lists by tag what is rented now, ends instances, and gives a whole rental back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from benchlab.errors import TargetError, noting
from benchlab.targets.ec2 import belongings, tags
from benchlab.targets.ec2.belongings import Belonging
from benchlab.targets.ec2.calls import (
    DENIED,
    PATIENT,
    AwsError,
    Limits,
    call,
    filters,
    pages,
    tag_filters,
)

# States in which an instance costs money, or can again.
LIVING = frozenset({"pending", "running", "stopping", "stopped"})


@dataclass(frozen=True)
class Instance:
    """An instance as EC2 describes it.

    Attributes:
        state: EC2's word, as ``running``.
        private, public: its addresses; None if it has none.
        campaign, mark, name: from its tags; empty if it has no such tag.
        expires_at: from its tag; None if that is missing or unreadable.
        reason: why it is in its state; empty if EC2 does not say.
        spot: whether it is a spot instance, which EC2 may take away at any time.
    """

    id: str
    state: str
    type: str
    subnet: str
    image: str
    launched_at: datetime
    private: str | None
    public: str | None
    campaign: str
    mark: str
    name: str
    expires_at: datetime | None
    reason: str
    spot: bool = False

    @property
    def living(self) -> bool:
        """Whether it costs money or can again; one that shuts down does not."""
        return self.state in LIVING


def of_campaign(client: Any, campaign: str) -> list[Instance]:
    """The instances under a campaign's id, of any home.

    Ended ones are among them: EC2 lists them for about an hour.
    """
    return _listed(client, tag_filters(tags.of_campaign(campaign)))


def of_rental(client: Any, campaign: str, mark: str) -> list[Instance]:
    """The instances of one rental; an empty ``mark`` means those without a mark."""
    return [instance for instance in of_campaign(client, campaign) if instance.mark == mark]


def of_project(client: Any) -> list[Instance]:
    """The instances of all campaigns; ended ones as in :func:`of_campaign`."""
    return _listed(client, tag_filters(tags.of_project()))


def by_id(client: Any, instances: Iterable[str]) -> dict[str, Instance]:
    """Instances by id; those that EC2 does not list yet are missing."""
    if not (wanted := sorted(instances)):
        return {}
    # By a filter: with InstanceIds, one id that is not known yet would fail the whole call.
    found = _listed(client, filters(instance_id=wanted))
    return {instance.id: instance for instance in found}


def rentals(client: Any, campaign: str) -> dict[str, list[Instance]]:
    """All rentals under a campaign's id, by mark, with their instances; also ended ones.

    A rental of which only a key pair or a security group is left has an empty list.
    """
    labels, found = tags.of_campaign(campaign), dict[str, list[Instance]]()
    for instance in of_campaign(client, campaign):
        found.setdefault(instance.mark, []).append(instance)
    for one in (*belongings.key_pairs(client, labels), *belongings.groups(client, labels)):
        found.setdefault(one.mark, [])
    return found


def refuse_others(region: str, listed: Iterable[Instance], mark: str | None) -> None:
    """Refuse to rent under a campaign's id if another home does.

    Args:
        listed: the instances under the id; see :func:`of_campaign`.
        mark: that of the campaign's own rental; None: it has not begun to rent.

    Raises:
        TargetError: names the instances, their marks, and the command that ends them.
    """
    if not (others := [one for one in listed if one.living and one.mark != mark]):
        return
    marks, campaign = sorted({one.mark for one in others}), others[0].campaign
    raise TargetError(
        f"campaign {campaign}: {region}: {counted(len(others), 'instance')} under this id "
        f"({', '.join(one.id for one in others)}) with another mark ({', '.join(marks)}): another "
        "home's, or this one's from before its rental.json was lost. Nothing of that is used or "
        "ended. Start a campaign with another id; only if nobody uses it, "
        + " or ".join(f"`{how_to_end(campaign, one)}`" for one in marks)
    )


def how_to_end(campaign: str, mark: str) -> str:
    """The command with which a person ends a rental that may be another home's.

    Example:
        ``how_to_end("c1", "3f2a9c1b-7d40e1c2")`` is
        ``benchlab give-back c1 --rental '3f2a9c1b-7d40e1c2'``.
    """
    return f"benchlab give-back {campaign} --rental '{mark}'"


def terminate(client: Any, instances: Iterable[str]) -> None:
    """End instances; those that no longer exist count as ended.

    Raises:
        AwsError: EC2 refuses one; the others have been ended nevertheless.
    """
    refused: AwsError | None = None
    # One by one: a single unknown id would keep all others running.
    for instance in sorted(set(instances)):
        try:
            call(client, "terminate_instances", InstanceIds=[instance])
        except AwsError as error:
            if error.code != "InvalidInstanceID.NotFound":
                refused = error
    if refused is not None:
        raise refused


def wait_until_gone(client: Any, look: Callable[[], Iterable[Instance]], limits: Limits) -> None:
    """Wait until every instance that ``look`` finds is terminated; ends those that appear late.

    Raises:
        TargetError: names what is left after ``limits.gone_s`` seconds.
    """
    deadline, polls = time.monotonic() + limits.gone_s, limits.polls()
    while left := [instance for instance in look() if instance.state != "terminated"]:
        terminate(client, [instance.id for instance in left if instance.living])
        if time.monotonic() > deadline:
            shown = ", ".join(f"{instance.id} ({instance.state})" for instance in left)
            raise TargetError(
                f"{client.meta.region_name}: not terminated after {limits.gone_s:g} s: {shown}; "
                "give the campaign back again, or look at them in the EC2 console"
            )
        time.sleep(next(polls))


def end_by_id(client: Any, instances: Iterable[str], limits: Limits = PATIENT) -> list[str]:
    """End instances, whatever their tags are, and wait until they are gone.

    Returns:
        The ids that EC2 does not know.

    Raises:
        TargetError: one could not be ended.
    """
    listed = by_id(client, instances := sorted(set(instances)))
    ended, unknown, faults = list[str](), list[str](), list[AwsError]()
    for instance in instances:
        # An ended instance loses its tags, without which Benchlab's permissions do not cover it.
        if instance in listed and not listed[instance].living:
            ended.append(instance)
            continue
        try:
            call(client, "terminate_instances", InstanceIds=[instance])
            ended.append(instance)
        except AwsError as error:
            gone = instance not in listed and error.code in DENIED
            if error.code == "InvalidInstanceID.NotFound" or gone:
                unknown.append(instance)
            else:
                faults.append(error)  # all others are ended nevertheless
    wait_until_gone(client, lambda: by_id(client, ended).values(), limits)
    if faults:
        raise faults[0]
    return unknown


def give_back(client: Any, campaign: str, mark: str, *, limits: Limits = PATIENT) -> str:
    """Terminate a rental's instances, wait until they are gone, delete its key and group.

    May be called at any moment and repeatedly, even if only part of it exists. If one part cannot
    be given back, the others are nevertheless.

    Example:
        ``give_back(Access().aws("ec2", "us-west-2"), "c1", rental_file.read(state).mark)``

    Returns:
        How much was ended and deleted, for people.

    Raises:
        TargetError: names everything that could not be given back; a repeated call resumes.
    """
    faults: list[str] = []
    whose = (campaign, mark)
    ended = _end_instances(client, whose, limits, faults)
    pairs = _delete_each(client, belongings.key_pairs, whose, limits, faults)
    # Instances that could not be ended hold the group: waiting for it would be useless.
    patience = replace(limits, gone_s=0.0) if faults else limits
    volumes = _delete_each(client, belongings.volumes, whose, patience, faults)
    groups = _delete_each(client, belongings.groups, whose, patience, faults)
    if faults:
        named = "\n".join(faults)
        raise TargetError(f"campaign {campaign}: not everything was given back:\n{named}")
    deleted = f"{counted(pairs, 'key pair')} and {counted(groups, 'security group')} deleted"
    also = (
        f"; {counted(volumes, 'volume')} deleted that had outlived an instance" if volumes else ""
    )
    return f"{counted(ended, 'instance')} terminated, {deleted}{also}"


def counted(number: int, what: str) -> str:
    """``1 instance``, ``2 instances``."""
    return f"{number} {what}{'s' * (number != 1)}"


def _end_instances(client: Any, whose: tuple[str, str], limits: Limits, faults: list[str]) -> int:
    living: list[str] = []
    with noting(faults):
        living = [instance.id for instance in of_rental(client, *whose) if instance.living]
        terminate(client, living)
        wait_until_gone(client, lambda: of_rental(client, *whose), limits)
    return len(living)


def _end_late(client: Any, whose: tuple[str, str]) -> None:
    """End instances that were listed only after the others had been waited for."""
    terminate(client, [one.id for one in of_rental(client, *whose) if one.living])


def _delete_each(
    client: Any,
    find: Callable[[Any, Mapping[str, str]], list[Belonging]],
    whose: tuple[str, str],
    limits: Limits,
    faults: list[str],
) -> int:
    (campaign, mark), deleted, found = whose, 0, list[Belonging]()
    with noting(faults):
        found = [one for one in find(client, tags.of_campaign(campaign)) if one.mark == mark]
    for belonging in found:
        with noting(faults):
            belonging.delete(client, limits, lambda: _end_late(client, whose))
            deleted += 1
    return deleted


def _listed(client: Any, chosen: list[dict[str, Any]]) -> list[Instance]:
    reservations = pages(client, "describe_instances", "Reservations", Filters=chosen)
    return [
        described(instance) for reservation in reservations for instance in reservation["Instances"]
    ]


def described(raw: Mapping[str, Any]) -> Instance:
    """An instance from EC2's answer."""
    labels = tags.read(raw)
    reason = raw.get("StateReason", {}).get("Message") or raw.get("StateTransitionReason") or ""
    return Instance(
        id=raw["InstanceId"],
        state=raw["State"]["Name"],
        type=raw.get("InstanceType", ""),
        subnet=raw.get("SubnetId", ""),
        image=raw.get("ImageId", ""),
        launched_at=raw["LaunchTime"],
        private=raw.get("PrivateIpAddress"),
        public=raw.get("PublicIpAddress"),
        campaign=labels.get(tags.CAMPAIGN, ""),
        mark=labels.get(tags.MARK, ""),
        name=labels.get(tags.NAME, ""),
        expires_at=tags.moment(labels.get(tags.EXPIRES_AT)),
        reason=reason,
        spot=raw.get("InstanceLifecycle") == "spot",
    )
