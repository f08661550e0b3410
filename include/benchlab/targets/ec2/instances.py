"""Rents the hosts of a fleet: launches the missing ones, in one zone, and none twice.

A topology may allow several instance types for a role, and several regions. They are tried in the
order of :meth:`Ec2Topology.choices`, each in every zone; a type that a zone refused is not asked
for there again. A spot host that EC2 does not have is asked for on demand, in the same place.

Two things keep a repeated call from launching a host twice. Instances with the campaign's tags and
the rental's mark count as there. A ClientToken (:func:`client_token`) lets EC2 recognise a call
whose instance is not listed yet. The generation in it counts the instances of that name that have
died in the subnet: for their tokens EC2 returns the dead ones while they shut down, and refuses
them afterwards. (Amazon EC2 API, "Ensuring idempotency", and its error codes.)

Instances under the campaign's id with another mark are another home's: beside them nothing is
rented, and they are neither used nor ended.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Role
from benchlab.plan.topology import Capacity, Ec2Topology, Image
from benchlab.targets.ec2 import belongings, inventory, tags, user_data
from benchlab.targets.ec2.calls import PATIENT, AwsError, Limits, call, until_known
from benchlab.targets.ec2.inventory import Instance
from benchlab.targets.ec2.places import FoundImage, Subnet, find_image, find_subnets
from benchlab.targets.ec2.tags import Rental

# Another zone may have the capacity.
NO_CAPACITY = frozenset(
    {
        "InsufficientInstanceCapacity",
        "InsufficientHostCapacity",
        "InsufficientCapacity",
        "InsufficientFreeAddressesInSubnet",
        "Unsupported",
    }
)
# EC2 has no such spot host, but may have it on demand (EC2, "Error codes"; the last one: EC2 User
# Guide, "Service-linked role for EC2 Spot Instance requests").
NO_SPOT = NO_CAPACITY - {"InsufficientFreeAddressesInSubnet"} | {
    "MaxSpotInstanceCountExceeded",
    "SpotMaxPriceTooLow",
    "UnfulfillableCapacity",
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
}
# The account's own limits, which are the same in every zone.
OVER_QUOTA = frozenset(
    {"VcpuLimitExceeded", "InstanceLimitExceeded", "MaxIOPSLimitExceeded", "VolumeLimitExceeded"}
)
# Tries to find a generation whose instance is not dead: EC2 remembers tokens longer than it lists
# dead instances.
MAX_GENERATIONS = 20


@dataclass(frozen=True)
class Launched:
    """A host of the fleet and its instance."""

    name: str
    role: Role
    instance: str


@dataclass
class Course:
    """What is decided while a fleet is rented; a repeated call must not decide otherwise.

    Attributes:
        choice: of :meth:`Ec2Topology.choices`, the one that is rented, or was tried last; None:
            nothing was tried.
        on_demand: names of the hosts that are no longer requested as spot hosts.
        keep: called after each decision, before it is acted on.
    """

    choice: Ec2Topology | None = None
    on_demand: frozenset[str] = frozenset()
    keep: Callable[[Course], None] = lambda course: None


@dataclass
class _Order:
    """What all hosts of a fleet share in one region, and which of them are there."""

    client: Any
    rental: Rental
    image: FoundImage
    key: str
    group: str
    limits: Limits
    course: Course
    say: Callable[[str], None]
    subnets: list[Subnet]
    listed: list[Instance]
    living: dict[str, Instance]


class _NoCapacityError(Exception):
    """A subnet has no host of this type."""

    def __init__(self, kind: str, error: AwsError) -> None:
        self.kind, self.error = kind, error
        super().__init__(kind)


def launch(
    access: Access,
    rental: Rental,
    *,
    limits: Limits = PATIENT,
    say: Callable[[str], None] | None = None,
    course: Course | None = None,
) -> tuple[Launched, ...]:
    """Rent what is missing of a campaign's fleet, all of it in one subnet.

    If a zone lacks capacity, the hosts launched there are given back and the next zone is tried,
    then other instance types, then other regions. After other failures the hosts stay: a repeated
    call resumes from them, and :func:`benchlab.targets.ec2.inventory.give_back` ends them.

    Args:
        course: what earlier calls have decided; what this call decides is written into it.

    Returns:
        The hosts in the order of the topology, not yet ready.

    Raises:
        TargetError: there are other or more instances than the topology wants, no zone has
            capacity (names each with its reason), or the account's quota is too small.
        AwsError: EC2 refuses something else.
    """
    say, course = say or (lambda text: None), course or Course()
    choices = list(rental.topology.choices())
    if course.choice is not None:
        choices = [course.choice, *(choice for choice in choices if choice != course.choice)]
    order: _Order | None = None
    refused: set[tuple[str, str]] = set()  # subnet and instance type
    refusals: list[str] = []
    over_quota: AwsError | None = None
    for number, choice in enumerate(choices):
        if order is None or choice.region != order.rental.topology.region:
            if order is not None:
                inventory.give_back(order.client, rental.campaign, rental.mark, limits=limits)
            over_quota = None
            course.choice = choice
            course.keep(course)
            order = _enter(access, replace(rental, topology=choice), limits, course, say)
        if over_quota is not None:
            continue
        order.rental = replace(rental, topology=choice)
        try:
            if launched := _launch_somewhere(order, refused, refusals):
                return launched
        except AwsError as error:
            if error.code not in OVER_QUOTA:
                raise
            over_quota = error
            if all(later.region == choice.region for later in choices[number:]):
                raise _over_quota(order.rental, error) from error
            refusals.append(f"{choice.region}: {error.code}: {error.said}")
            say(f"the quota does not allow this fleet in {refusals[-1]}")
    tried = "\n".join(refusals)
    raise TargetError(
        f"{', '.join(rental.topology.regions)}: no zone has the capacity for this fleet; try "
        f"later, name other subnets, or other instance types. Tried:\n{tried}"
    )


def _enter(
    access: Access,
    rental: Rental,
    limits: Limits,
    course: Course,
    say: Callable[[str], None],
) -> _Order:
    """Get what is needed to launch in a region."""
    client = access.aws("ec2", rental.topology.region)
    listed = inventory.of_campaign(client, rental.campaign)
    inventory.refuse_others(rental.topology.region, listed, rental.mark)
    listed = [one for one in listed if one.mark == rental.mark]
    living = _living(rental, listed)
    # All hosts of a fleet have the same image, even if the topology's parameter has moved on.
    image = Image(id=next(iter(living.values())).image) if living else rental.topology.image
    found = find_image(access, client, image)
    subnets = _in_order(find_subnets(client, rental.topology), living)
    key = belongings.ensure_key_pair(client, rental, limits)
    group = belongings.ensure_group(client, rental, subnets[0].vpc, limits)
    return _Order(client, rental, found, key, group, limits, course, say, subnets, listed, living)


def _launch_somewhere(
    order: _Order, refused: set[tuple[str, str]], refusals: list[str]
) -> tuple[Launched, ...]:
    """Launch all of a choice in the first subnet that has it; empty if none has."""
    choice, course = order.rental.topology, order.course
    kinds = {kind for _, _, kind in choice.host_types()}
    for subnet in order.subnets:
        if any((subnet.id, kind) in refused for kind in kinds):
            continue
        if course.choice != choice:
            course.choice = choice
            course.keep(course)
        launched: list[Launched] = []
        try:
            _launch_in(subnet, order, launched)
            return tuple(launched)
        except _NoCapacityError as missing:
            error = missing.error
            whole = error.code == "InsufficientFreeAddressesInSubnet"
            refused |= {(subnet.id, kind) for kind in (kinds if whole else {missing.kind})}
            told = f"{subnet}: {missing.kind}: {error.code}: {error.said}"
        refusals.append(told)
        order.say(f"no capacity in {told}")
        _give_back(order, launched)
        order.living = {}
    return ()


def client_token(
    mark: str, name: str, generation: int, subnet: str, kind: str, market: Capacity
) -> str:
    """The ClientToken by which EC2 recognises one launch; at most 64 ASCII characters.

    EC2 refuses a different request under the same token. So the mark is part of it: it changes with
    the home, and when a campaign rents again, with a later expiry. So are instance type and market,
    since others may have been requested in the same place before.
    """
    asked = "\0".join((name, str(generation), subnet, kind, market))
    return f"benchlab-{mark}-{hashlib.sha256(asked.encode()).hexdigest()[:32]}"


def _living(rental: Rental, listed: list[Instance]) -> dict[str, Instance]:
    """The living instances by host name; raises if the topology does not want one of them."""
    wanted = {name: kind for name, _, kind in rental.topology.host_types()}
    living = [instance for instance in listed if instance.living]
    faults = [
        f"{instance.id} ({instance.name or 'without a name'}) is not one of its hosts"
        for instance in living
        if instance.name not in wanted
    ]
    faults += [
        f"{count} instances are {name}"
        for name, count in Counter(instance.name for instance in living).items()
        if name in wanted and count > 1
    ]
    faults += [
        f"{instance.name} is a {instance.type}, not a {wanted[instance.name]}"
        for instance in living
        if instance.name in wanted and instance.type != wanted[instance.name]
    ]
    if len({instance.subnet for instance in living}) > 1:
        faults.append("its hosts are in several subnets")
    if faults:
        raise TargetError(
            f"campaign {rental.campaign} in {rental.topology.region}: more or other instances "
            f"than expected: {'; '.join(faults)}. Give it back and start again"
        )
    return {instance.name: instance for instance in living}


def _in_order(subnets: tuple[Subnet, ...], living: dict[str, Instance]) -> list[Subnet]:
    """The subnets, the one that already has hosts first."""
    used = {instance.subnet for instance in living.values()}
    if not used <= {subnet.id for subnet in subnets}:
        raise TargetError(
            f"hosts are in {', '.join(sorted(used))}, which the topology does not name; give the "
            "campaign back and start again"
        )
    return sorted(subnets, key=lambda subnet: subnet.id not in used)


def _launch_in(subnet: Subnet, order: _Order, launched: list[Launched]) -> None:
    """Launch every missing host; ``launched`` receives all hosts, including the living ones."""
    course, topology = order.course, order.rental.topology
    for name, role, kind in topology.host_types():
        if name in order.living:
            launched.append(Launched(name, role, order.living[name].id))
            continue
        dead = sum(
            one.name == name and one.subnet == subnet.id and not one.living for one in order.listed
        )
        spot = topology.is_spot(role) and name not in course.on_demand
        try:
            instance = None
            if spot:
                instance = _launch_spot(subnet, order, name, role, dead)
            if instance is None:
                instance, spot = _launch_one(subnet, order, name, role, dead, "on_demand"), False
        except AwsError as error:
            if error.code not in NO_CAPACITY:
                raise
            raise _NoCapacityError(kind, error) from error
        order.say(f"{name}: {kind} {instance.id} in {subnet}{', spot' if spot else ''}")
        launched.append(Launched(name, role, instance.id))


def _launch_spot(
    subnet: Subnet, order: _Order, name: str, role: Role, dead: int
) -> Instance | None:
    """Launch a spot instance; None if there is none, and the host is to be launched on demand."""
    course = order.course
    try:
        return _launch_one(subnet, order, name, role, dead, "spot")
    except AwsError as error:
        if error.code not in NO_SPOT:
            raise
        order.say(f"{name}: no spot host in {subnet}: {error.code}: {error.said}; on demand")
    # Written down first: a repeated call may not see the instance yet, and must not try both.
    course.on_demand |= {name}
    course.keep(course)
    return None


def _launch_one(
    subnet: Subnet, order: _Order, name: str, role: Role, dead: int, market: Capacity
) -> Instance:
    """Launch one instance; if that of a token is dead, the next generation is tried."""
    for generation in range(dead, dead + MAX_GENERATIONS):
        request = _request(subnet, order, name, role, generation, market)
        ask = partial(call, order.client, "run_instances", **request)
        try:
            # Its key pair and group may have been made a moment ago.
            answer = until_known(order.limits, ask) or {}
        except AwsError as error:
            if error.code == "IdempotentInstanceTerminated":
                continue
            if error.code != "IdempotentParameterMismatch":
                raise
            raise TargetError(
                f"{name}: was requested before with another image, size, expiry or user data; "
                f"give campaign {order.rental.campaign} back and start again"
            ) from error
        instance = inventory.described(answer["Instances"][0])
        if instance.living:
            return instance
    raise TargetError(f"{name}: {MAX_GENERATIONS} instances failed one after the other")


def _request(
    subnet: Subnet, order: _Order, name: str, role: Role, generation: int, market: Capacity
) -> dict[str, Any]:
    rental, topology = order.rental, order.rental.topology
    machines = topology.roles[role]
    labels = rental.host_tags(name, role)
    script = user_data.render(
        campaign=rental.campaign,
        name=name,
        user=topology.user,
        lifetime=rental.lifetime,
        ends_at=rental.expires_at,
        packages=rental.packages.get(role, ()),
    )
    root = {
        "DeviceName": order.image.root_device,
        "Ebs": {
            "VolumeType": "gp3",
            "VolumeSize": machines.root_gib,
            "DeleteOnTermination": True,
        },
    }
    request: dict[str, Any] = {
        "MinCount": 1,
        "MaxCount": 1,
        "ImageId": order.image.id,
        "InstanceType": machines.instance_type,
        "KeyName": order.key,
        "UserData": script,
        "ClientToken": client_token(
            rental.mark, name, generation, subnet.id, machines.instance_type, market
        ),
        "BlockDeviceMappings": [root, *order.image.volumes],
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpTokens": "optional" if role in rental.old_metadata else "required",
            "HttpEndpoint": "enabled",
        },
        "TagSpecifications": tags.specifications(labels, "instance", "volume", "network-interface"),
    }
    if topology.ssh_by == "public":
        interface = {
            "DeviceIndex": 0,
            "SubnetId": subnet.id,
            "Groups": [order.group],
            "AssociatePublicIpAddress": True,
        }
        request["NetworkInterfaces"] = [interface]
    else:
        request |= {"SubnetId": subnet.id, "SecurityGroupIds": [order.group]}
    if topology.instance_profile is not None:
        request["IamInstanceProfile"] = {"Name": topology.instance_profile}
    if market == "spot":
        # No maximum price: it is then the price on demand, as in the plan.
        once = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": once}
    return request


def _give_back(order: _Order, launched: list[Launched]) -> None:
    """End the campaign's instances and wait: until they are gone they count against the quota."""
    client, ids = order.client, [host.instance for host in launched]

    def left() -> list[Instance]:
        # By id as well: an instance launched a moment ago may not be listed by its tags yet.
        rental = order.rental
        listed = {one.id: one for one in inventory.of_rental(client, rental.campaign, rental.mark)}
        return list((listed | inventory.by_id(client, ids)).values())

    # What EC2 does not know yet is not gone: it would run on beside the fleet of the next zone.
    for one in ids:
        until_known(order.limits, partial(call, client, "terminate_instances", InstanceIds=[one]))
    inventory.wait_until_gone(client, left, order.limits)


def _over_quota(rental: Rental, error: AwsError) -> TargetError:
    return TargetError(
        f"{rental.topology.region}: the account may not run this fleet: {error.code}: "
        f"{error.said}; ask for a higher quota of vCPUs (Service Quotas, Amazon EC2) or take "
        "smaller instance types. No other zone was tried: the quota holds for all of them"
    )
