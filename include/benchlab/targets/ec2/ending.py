"""Gives a campaign's whole fleet back, with the right account, and forgets nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.targets import fleet_files
from benchlab.targets.ec2 import inventory, rental_file, tags
from benchlab.targets.ec2.calls import PATIENT, AwsError, Caller, Limits, identify
from benchlab.targets.ec2.inventory import Instance
from benchlab.targets.ec2.rental_file import RentalFile

_NOTHING = "nothing of it is rented"
_Rentals = dict[str, list[Instance]]

# Below this age of a rental EC2 still knows all of its instances, ended ones too ("Terminate Amazon
# EC2 instances", EC2 User Guide: visible for about an hour).
REMEMBERED = timedelta(hours=1)


class NothingFoundError(TargetError):
    """Neither EC2 nor this machine knows of anything that a campaign rents."""


def give_back(
    access: Access,
    home: Home,
    campaign: str,
    regions: Sequence[str],
    *,
    by_person: bool = False,
    limits: Limits = PATIENT,
) -> str:
    """End everything that a campaign of this home rents, and nothing of other homes.

    What carries the mark in its rental file is its own. If that file is lost, this home's mark and
    the instances in the fleet's file decide.

    Example:
        ``give_back(Access(), home, "c1", [])`` looks in the regions that the rental file names.

    Args:
        regions: where to look if no rental file says it.
        by_person: a person named the campaign. So EC2 is asked even if this machine knows that
            nothing is rented; and if nothing here says which rental is the campaign's, the only one
            under its id is ended.

    Returns:
        What was ended in which region, for people.

    Raises:
        NothingFoundError: these regions have nothing of it, or none is known, and its directory or
            file is lost.
        TargetError: instances are known, but no region; the credentials are of another account than
            the one that rented, EC2 does not know instances that it should, several homes rent
            under the id of a campaign of which this machine knows nothing, or something could not
            be ended; each is named.
    """
    state = home.campaign(campaign)
    kept = rental_file.read(state)
    known = _known(state, kept)
    if kept is not None:
        regions = [kept.region, *kept.regions]
    # The campaign was refused before it rented, or has given everything back.
    nothing = kept is None and not known and fleet_files.rents_nothing(state)
    if nothing and not by_person:
        return _NOTHING
    faults = list[TargetError]()
    looked, found = _look(access, campaign, kept, regions, faults)
    take_one = by_person and not nothing
    marks = {kept.mark} if kept else _own_marks(home, campaign, found, known, take_one=take_one)
    said, unknown = list[str](), set(known)
    for region, rentals in found.items():
        client = access.aws("ec2", region)
        # Tags may be lost, and a listing may be behind: known instances are ended by id.
        untagged = known - {one.id for mark in marks for one in rentals.get(mark, ())}
        with _noting(faults):
            unknown &= {*inventory.end_by_id(client, untagged, limits)}
        for mark in sorted(marks if kept else marks & rentals.keys()):
            with _noting(faults):
                done = inventory.give_back(client, campaign, mark, limits=limits)
                said.append(f"{region}: {done}")
    if faults:
        raise _as_one(faults)
    if not looked:
        return _asked_nobody(home, campaign, known, by_person=by_person)
    if not said and unknown == known:
        others = _others(campaign, found)
        if nothing:
            return "; ".join(filter(None, (_NOTHING, others)))
        raise NothingFoundError(others or _nothing_found(state, regions, looked[0]))
    if unknown:
        said.append(_forgotten(state, kept, looked[0], unknown, len(known)))
    return "; ".join(said) or f"{inventory.counted(len(known), 'instance')} terminated"


def _look(
    access: Access,
    campaign: str,
    kept: RentalFile | None,
    regions: Sequence[str],
    faults: list[TargetError],
) -> tuple[list[Caller], dict[str, _Rentals]]:
    """The callers, and all that exists under a campaign's id, by region."""
    looked, found = list[Caller](), dict[str, _Rentals]()
    for region in dict.fromkeys(regions):
        with _noting(faults):
            caller = identify(access, region)
            check_account(campaign, kept, caller)
            looked.append(caller)
            found[region] = inventory.rentals(access.aws("ec2", region), campaign)
    return looked, found


@contextlib.contextmanager
def _noting(faults: list[TargetError]) -> Iterator[None]:
    """Note a failure, so that everything else is given back nevertheless."""
    try:
        yield
    except TargetError as error:
        faults.append(error)


def end_rental(
    access: Access,
    campaign: str,
    mark: str,
    regions: Sequence[str],
    *,
    limits: Limits = PATIENT,
) -> str:
    """End a rental of any home that a person has named by its mark; see :func:`give_back`.

    Raises:
        NothingFoundError: there is nothing with that mark in these regions.
        TargetError: something could not be ended; each is named.
    """
    said = [
        f"{region}: {inventory.give_back(client, campaign, mark, limits=limits)}"
        for region in regions
        if mark in inventory.rentals(client := access.aws("ec2", region), campaign)
    ]
    if not said:
        why = "no region is known, so EC2 was not asked"
        if regions:
            named = f"{tags.CAMPAIGN}={campaign} and {tags.MARK}={mark}"
            why = f"{', '.join(regions)}: nothing there has the tags {named}"
        raise NothingFoundError(f"campaign {campaign}: {why}; nothing was ended")
    return "; ".join(said)


def _own_marks(
    home: Home,
    campaign: str,
    found: Mapping[str, _Rentals],
    known: Collection[str],
    *,
    take_one: bool,
) -> set[str]:
    """The marks of the campaign's own rentals, or, with ``take_one``, that of the only rental."""
    every: dict[str, list[Instance]] = {}
    for rentals in found.values():
        for mark, instances in rentals.items():
            every.setdefault(mark, []).extend(instances)
    own = {
        mark
        for mark, instances in every.items()
        if mark.startswith(f"{home.mark}-") or any(one.id in known for one in instances)
    }
    if own or not take_one:
        return own
    alive = {mark: [one for one in each if one.living] for mark, each in every.items()}
    several = [mark for mark in sorted(every) if alive[mark] or not every[mark]]
    if len(several) > 1:
        each = "; ".join(
            f"`{inventory.how_to_end(campaign, mark)}` ends "
            f"{inventory.counted(len(alive[mark]), 'instance')}"
            + "".join(f" that expire at {end}" for end in _expiries(alive[mark]))
            for mark in several
        )
        raise TargetError(
            f"campaign {campaign}: more than one home rents under this id, and nothing here says "
            f"which rental is its own; nothing was ended: {each}"
        )
    return {*every}


def _expiries(instances: Collection[Instance]) -> list[str]:
    return sorted({tags.written(one.expires_at) for one in instances if one.expires_at})[-1:]


def _others(campaign: str, found: Mapping[str, _Rentals]) -> str:
    """The sentence on what other homes rent under a campaign's id; empty if there is none."""
    marks = sorted({mark for rentals in found.values() for mark in rentals})
    ends = ", ".join(f"`{inventory.how_to_end(campaign, mark)}`" for mark in marks)
    return ends and (
        f"campaign {campaign}: what is rented under this id has the mark of another home, and was "
        f"not ended; only if nobody uses it: {ends}"
    )


def _nothing_found(state: Path, regions: Sequence[str], caller: Caller) -> str:
    file = rental_file.path(state)
    return (
        f"campaign {state.name}: {', '.join(regions)}: no instance, key pair or security group "
        f"of it for the credentials of account {caller.account}, and {file}, which would "
        f"say where it rented, is {'damaged' if file.exists() else 'not here'}. If it rented "
        "with credentials of another account, give it back with those"
    )


def _asked_nobody(home: Home, campaign: str, known: Collection[str], *, by_person: bool) -> str:
    """What is said if no region is known; raises as :func:`give_back` if something may be left."""
    if not known and not by_person:
        return "no region is known in which it could have rented"
    may_run = f"; {', '.join(sorted(known))} may still run" if known else ""
    why = (
        f"campaign {campaign}: no region is known in which it rented, so EC2 was not asked"
        f"{may_run}: write its region into a topology in {home.configs / 'topologies'}, and give "
        "back again"
    )
    raise TargetError(why) if known else NothingFoundError(why)


def _as_one(faults: list[TargetError]) -> TargetError:
    unsigned = next((e for e in faults if isinstance(e, AwsError) and e.no_credentials), None)
    if unsigned is not None or len(faults) == 1:
        return unsigned or faults[0]
    return TargetError("\n".join(map(str, faults)))


def check_account(campaign: str, kept: RentalFile | None, caller: Caller) -> None:
    """Refuse credentials of any account but the one that rents for a campaign.

    Raises:
        TargetError: names both accounts, the instances, and what to do.
    """
    if kept is None or kept.account in (None, caller.account):
        return
    fleet = f"{inventory.counted(len(kept.instances), 'instance')} ({', '.join(kept.instances)})"
    raise TargetError(
        f"campaign {campaign}: account {kept.account} rents for it in {kept.region}: "
        f"{fleet if kept.instances else 'no instance known yet'}; these credentials are of "
        f"account {caller.account}, where nothing of it is. Nothing was rented, ended or "
        f"forgotten: use credentials of account {kept.account} (AWS_PROFILE or the environment, in "
        "Airflow the Connection benchlab_aws)"
    )


def _known(state: Path, kept: RentalFile | None) -> set[str]:
    """The instances that this machine knows of."""
    known = set(kept.instances) if kept is not None else set()
    # It may be missing or damaged as well; then the tags have to do.
    with contextlib.suppress(TargetError, ValueError, LookupError, TypeError):
        hosts = fleet_files.read_fleet(state).hosts
        known |= {host.instance for host in hosts if host.instance is not None}
    return known


def _forgotten(
    state: Path, kept: RentalFile | None, caller: Caller, unknown: Collection[str], count: int
) -> str:
    """The sentence on instances that EC2 does not know; raises if it should know them."""
    named = ", ".join(sorted(unknown))
    if kept is not None and kept.account and caller.now - kept.created_at >= REMEMBERED:
        return f"EC2 has forgotten {named}, which ended over an hour ago"
    account = (kept and kept.account) or "not known"
    raise TargetError(
        f"campaign {state.name}: EC2 does not know {len(unknown)} of its "
        f"{inventory.counted(count, 'instance')} ({named}) with these credentials, of account "
        f"{caller.account}; account of the rental: {account}. They may still run: use the "
        "credentials that they were rented with. If these are the right ones, the instances ended "
        f"over an hour ago: then remove {fleet_files.FLEET_FILE} and {fleet_files.RENTAL_FILE} in "
        f"{state}, and give back again"
    )
