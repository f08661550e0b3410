"""What is rented now: instances listed by tag, and ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchlab.ec2 import tags
from benchlab.ec2.calls import AwsError, call, filters, pages, tag_filters
from benchlab.errors import TargetError

# Still costs money, or can again.
LIVING = frozenset({"pending", "running", "stopping", "stopped"})
FIRST_POLL_S = 0.25


@dataclass(frozen=True)
class Limits:
    """How long to wait, in seconds.

    Attributes:
        ready_s: for a fleet to run and to say that it is ready.
        gone_s: for instances to be terminated, and for what they used to be free.
        poll_s: between two looks, at most.
        pause: sleeps; tests have their own.
    """

    ready_s: float = 900.0
    gone_s: float = 600.0
    poll_s: float = 5.0
    pause: Callable[[float], None] = time.sleep

    def polls(self) -> Iterator[float]:
        """Seconds to wait before each further look: few at first, then twice as many each time.

        What is there almost at once is then seen almost at once, and few calls are made while an
        instance takes its minute.
        """
        wait_s = FIRST_POLL_S
        while True:
            yield min(wait_s, self.poll_s)
            wait_s = min(2 * wait_s, self.poll_s)


@dataclass(frozen=True)
class Instance:
    """An instance as EC2 describes it.

    Attributes:
        campaign, name, role: from its tags; empty where it has none.
        expires_at: from its tag; None where that is missing or says nothing.
        reason: why it is in its state, where EC2 says so.
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
    name: str
    role: str
    expires_at: datetime | None
    reason: str

    @property
    def living(self) -> bool:
        """Whether it is there; one that shuts down is not."""
        return self.state in LIVING


def of_campaign(client: Any, campaign: str) -> list[Instance]:
    """A campaign's instances, the ended ones included that EC2 still lists (about an hour)."""
    return _listed(client, tag_filters(tags.of_campaign(campaign)))


def of_project(client: Any) -> list[Instance]:
    """The same for everything Benchlab ever rented."""
    return _listed(client, tag_filters(tags.of_project()))


def by_id(client: Any, instances: Iterable[str]) -> dict[str, Instance]:
    """Instances by their ids; those that EC2 does not know yet are missing."""
    if not (wanted := sorted(instances)):
        return {}
    # By a filter: asked for by id, one that is too new to be known would be an error for all.
    found = _listed(client, filters(instance_id=wanted))
    return {instance.id: instance for instance in found}


def terminate(client: Any, instances: Iterable[str]) -> None:
    """End instances; those that are not there any more count as ended.

    Raises:
        AwsError: EC2 refuses; the others have been ended nevertheless.
    """
    refused: AwsError | None = None
    # One by one: a single unknown id would spare all others.
    for instance in sorted(set(instances)):
        try:
            call(client, "terminate_instances", InstanceIds=[instance])
        except AwsError as error:
            if error.code != "InvalidInstanceID.NotFound":
                refused = error
    if refused is not None:
        raise refused


def wait_until_gone(client: Any, look: Callable[[], Iterable[Instance]], limits: Limits) -> None:
    """Wait until everything that ``look`` finds is terminated; what comes late is ended too.

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
                "release the campaign again, or look at them in the EC2 console"
            )
        limits.pause(next(polls))


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
        name=labels.get(tags.NAME, ""),
        role=labels.get(tags.ROLE, ""),
        expires_at=tags.moment(labels.get(tags.EXPIRES_AT)),
        reason=reason,
    )
