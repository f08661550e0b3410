"""Giving back all that a campaign has rented, found by its tags alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchlab.ec2 import groups, inventory, keys
from benchlab.ec2.inventory import Limits
from benchlab.errors import TargetError


@dataclass(frozen=True)
class Released:
    """What this call has ended and deleted: ids of instances and groups, names of key pairs."""

    instances: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def __str__(self) -> str:
        """For people."""
        return (
            f"{len(self.instances)} instances terminated, {len(self.keys)} key pairs and "
            f"{len(self.groups)} security groups deleted"
        )


def release(client: Any, campaign: str, *, limits: Limits | None = None) -> Released:
    """Terminate a campaign's instances, wait until they are gone, delete its key and group.

    May be called at any moment, again, and when nothing or half of it is there. A failure of one
    part keeps no other from being given back.

    Raises:
        TargetError: names all that could not be given back; calling again goes on from there.
    """
    limits = limits or Limits()
    faults: list[str] = []
    instances = _end_instances(client, campaign, limits, faults)
    pairs = _delete_each(
        lambda: keys.of_campaign(client, campaign), lambda name: keys.delete(client, name), faults
    )
    # No use in waiting for a group that instances hold which could not be ended.
    patience = dataclasses.replace(limits, gone_s=0.0) if faults else limits
    fences = _delete_each(
        lambda: groups.of_campaign(client, campaign),
        lambda group: groups.delete(client, group, patience),
        faults,
    )
    if faults:
        told = "\n".join(faults)
        raise TargetError(f"campaign {campaign}: not everything was given back:\n{told}")
    return Released(instances, pairs, fences)


def _end_instances(
    client: Any, campaign: str, limits: Limits, faults: list[str]
) -> tuple[str, ...]:
    living: tuple[str, ...] = ()
    try:
        listed = inventory.of_campaign(client, campaign)
        living = tuple(instance.id for instance in listed if instance.living)
        inventory.terminate(client, living)
        inventory.wait_until_gone(client, lambda: inventory.of_campaign(client, campaign), limits)
    except TargetError as error:
        faults.append(str(error))
    return living


def _delete_each(
    find: Callable[[], list[str]], delete: Callable[[str], None], faults: list[str]
) -> tuple[str, ...]:
    deleted = []
    try:
        found = find()
    except TargetError as error:
        faults.append(str(error))
        return ()
    for one in found:
        try:
            delete(one)
            deleted.append(one)
        except TargetError as error:
            faults.append(str(error))
    return tuple(deleted)
