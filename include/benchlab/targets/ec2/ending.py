"""Giving a campaign's whole fleet back: the account is the right one, and nothing is forgotten."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from datetime import timedelta
from pathlib import Path

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.targets import fleet_files
from benchlab.targets.ec2 import inventory, rental_file
from benchlab.targets.ec2.caller import Caller, identify
from benchlab.targets.ec2.calls import PATIENT, AwsError, Limits
from benchlab.targets.ec2.rental_file import RentalFile

# Below this age of a rental EC2 still knows all of its instances, ended ones too ("Terminate Amazon
# EC2 instances", EC2 User Guide: visible for about an hour).
REMEMBERED = timedelta(hours=1)


class NothingFoundError(TargetError):
    """EC2 has nothing of a campaign of which this machine knows nothing either."""


def give_back(
    access: Access, state: Path, regions: Sequence[str], *, limits: Limits = PATIENT
) -> str:
    """End everything of a campaign, by its rental file, and by tag where that is lost.

    Args:
        state: the campaign's directory on this machine.
        regions: where to look if no rental file says it.

    Returns:
        What was ended in which region, for people.

    Raises:
        NothingFoundError: nothing is in these regions, and the directory or its file is lost.
        TargetError: the credentials are of another account than the one that rented, EC2 does not
            know instances that it should, or something could not be ended; each is named.
    """
    kept = rental_file.read(state)
    if kept is not None:
        regions = [kept.region, *kept.regions]
    # With neither a fleet nor what would say where it is, nothing found is no success.
    doubtful = not state.is_dir() or (kept is None and rental_file.path(state).exists())
    known = _known(state, kept)
    unknown = set(known)
    said: list[str] = []
    looked: list[Caller] = []
    faults: list[TargetError] = []
    for region in dict.fromkeys(regions):
        try:
            caller = identify(access, region)
            check_account(state.name, kept, caller)
            looked.append(caller)
            client = access.aws("ec2", region)
            if doubtful and not known and not inventory.has_any(client, state.name):
                continue
            try:
                # Tags may be lost, and a listing may be behind: what is known is ended by its id.
                unknown &= set(inventory.end_untagged(client, state.name, known, limits))
            except TargetError as error:  # all else is given back nevertheless
                faults.append(error)
            said.append(f"{region}: {inventory.give_back(client, state.name, limits=limits)}")
        except TargetError as error:
            faults.append(error)
    if faults:
        raise _as_one(faults)
    if looked and not said:
        file = rental_file.path(state)
        raise NothingFoundError(
            f"campaign {state.name}: {', '.join(regions)}: no instance, key pair or security group "
            f"of it for the credentials of account {looked[0].account}, and {file}, which would "
            f"say where it rented, is {'damaged' if file.exists() else 'not here'}. If it rented "
            "with credentials of another account, give it back with those"
        )
    if unknown:
        said.append(_forgotten(state, kept, looked[0], unknown, len(known)))
    return "; ".join(said) or "no region is known in which it could have rented"


def _as_one(faults: list[TargetError]) -> TargetError:
    unsigned = next((e for e in faults if isinstance(e, AwsError) and e.no_credentials), None)
    if unsigned is not None or len(faults) == 1:
        return unsigned or faults[0]
    return TargetError("\n".join(map(str, faults)))


def check_account(campaign: str, kept: RentalFile | None, caller: Caller) -> None:
    """Refuse the credentials of another account than the one that rents for a campaign.

    Raises:
        TargetError: names both accounts, the instances, and what to do.
    """
    if kept is None or kept.account in (None, caller.account):
        return
    fleet = f"{len(kept.instances)} instances ({', '.join(kept.instances)})"
    raise TargetError(
        f"campaign {campaign}: account {kept.account} rents for it in {kept.region}: "
        f"{fleet if kept.instances else 'no instance known yet'}; these credentials are of "
        f"account {caller.account}, where nothing of it is. Nothing was rented, ended or "
        f"forgotten: use credentials of account {kept.account} (AWS_PROFILE or the environment, in "
        "Airflow the Connection benchlab_aws)"
    )


def _known(state: Path, kept: RentalFile | None) -> list[str]:
    """The instances of which this machine knows."""
    known = set(kept.instances) if kept is not None else set()
    # It may be missing or damaged as well; then the tags have to do.
    with contextlib.suppress(TargetError, ValueError, LookupError, TypeError):
        hosts = fleet_files.read_fleet(state).hosts
        known |= {host.instance for host in hosts if host.instance is not None}
    return sorted(known)


def _forgotten(
    state: Path, kept: RentalFile | None, caller: Caller, unknown: Collection[str], count: int
) -> str:
    """The sentence on instances that EC2 does not know; raises if it should know them."""
    named = ", ".join(sorted(unknown))
    if kept is not None and kept.account and caller.now - kept.created_at >= REMEMBERED:
        return f"EC2 has forgotten {named}, which ended over an hour ago"
    account = (kept and kept.account) or "not known"
    raise TargetError(
        f"campaign {state.name}: EC2 does not know {len(unknown)} of its {count} instances "
        f"({named}) with these credentials, of account {caller.account}; account of the rental: "
        f"{account}. They may still run: use the credentials that they were rented with. If these "
        "are the right ones, the instances ended over an hour ago: then remove "
        f"{fleet_files.FLEET_FILE} and {fleet_files.RENTAL_FILE} in {state}, and give back again"
    )
