"""Makes a fleet of launched instances: every host runs, is ready, and has a known host key."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.targets.ec2 import console, inventory
from benchlab.targets.ec2.calls import PATIENT, AwsError, Limits, call
from benchlab.targets.ec2.instances import Course, Launched, launch
from benchlab.targets.ec2.inventory import Instance
from benchlab.targets.ec2.tags import Rental
from benchlab.targets.ec2.user_data import DATA

# Reads console.STATUS_FILE on a host whose key is known; None while it cannot be reached.
Probe = Callable[[FleetHost], str | None]


def provision(
    access: Access,
    rental: Rental,
    *,
    limits: Limits = PATIENT,
    probe: Probe | None = None,
    say: Callable[[str], None] | None = None,
    keep: Callable[[Sequence[Launched]], None] | None = None,
    course: Course | None = None,
) -> Fleet:
    """Rent what is missing (:func:`launch`) and wait for all of it (:func:`wait_until_running`).

    Example:
        ``provision(Access(), rental, say=print).with_role("tikv")`` are the hosts of TiKV.

    Args:
        keep: receives what was launched, before it is waited for.
        course: see :func:`launch`.

    Raises:
        TargetError: the fleet cannot be rented, or does not become ready. Hosts that were rented
            stay; the caller gives them back.
    """
    course = course or Course()
    launched = launch(access, rental, limits=limits, say=say, course=course)
    if keep is not None:
        keep(launched)
    rental = replace(rental, topology=course.choice or rental.topology)
    client = access.aws("ec2", rental.topology.region)
    return wait_until_running(client, rental, launched, limits=limits, probe=probe, say=say)


def wait_until_running(
    client: Any,
    rental: Rental,
    launched: Sequence[Launched],
    *,
    limits: Limits = PATIENT,
    probe: Probe | None = None,
    say: Callable[[str], None] | None = None,
) -> Fleet:
    """Wait until every host runs, has printed its host key and has reported that it is ready.

    Args:
        limits: waits at most ``limits.ready_s`` seconds.
        probe: asked about a host whose key is known but whose console does not say that it is
            ready. Instance types without Nitro (i3) post their console once, some minutes after
            boot, so its last lines may never appear there.

    Returns:
        The hosts in the order of ``launched``.

    Raises:
        TargetError: a host died (quotes EC2's reason), its user data failed, or the time is up;
            each with the last lines of its console.
        AwsError: EC2 refuses.
    """
    say = say or (lambda text: None)
    ready: dict[str, FleetHost] = {}
    deadline, polls = time.monotonic() + limits.ready_s, limits.polls()
    while True:
        # Including those that are ready: one may die while another boots.
        found = inventory.by_id(client, [host.instance for host in launched])
        lacking: list[str] = []
        for host in launched:
            _check_alive(client, host, found.get(host.instance))
            if host.name not in ready:
                made, lacks = _look(client, rental, host, found.get(host.instance), probe)
                if made is None:
                    lacking.append(lacks)
                else:
                    ready[host.name] = made
                    say(f"{host.name}: ready at {made.ssh_address}")
        if not lacking:
            return Fleet(tuple(ready[host.name] for host in launched))
        if time.monotonic() > deadline:
            raise TargetError(f"not ready after {limits.ready_s:g} s:\n" + "\n".join(lacking))
        time.sleep(next(polls))


def _check_alive(client: Any, host: Launched, found: Instance | None) -> None:
    """Raise if the host died; an unlisted one counts as alive, since EC2 lists new ones late."""
    if found is not None and found.state not in ("pending", "running"):
        said = console.tail(output(client, host.instance))
        raise TargetError(
            f"{host.name} ({host.instance}) is {found.state}: {found.reason or 'no reason given'}; "
            f"its console's last lines:\n{said}"
        )


def _look(
    client: Any, rental: Rental, host: Launched, found: Instance | None, probe: Probe | None
) -> tuple[FleetHost | None, str]:
    """The host if it is ready, else None and what is missing."""
    who = f"{host.name} ({host.instance})"
    if found is None or found.state != "running":
        return None, f"{who}: {found.state if found else 'not listed yet'}"
    reached = found.public if rental.topology.ssh_by == "public" else found.private
    if found.private is None or reached is None:
        return None, f"{who}: no {rental.topology.ssh_by} address; the subnet may give none"
    text = output(client, host.instance)
    heard = console.parse(text)
    if heard.host_key is None:
        _check_failed(who, heard, text)
        return None, f"{who}: no host key on its console, whose last lines:\n{console.tail(text)}"
    made = FleetHost(
        name=host.name,
        roles=(host.role,),
        address=found.private,
        ssh_address=reached,
        user=rental.topology.user,
        host_key=heard.host_key,
        data=DATA,
        instance=host.instance,
        let_in=rental.topology.ssh_from,
    )
    if not heard.ready and heard.failed is None and probe is not None:
        status = probe(made)
        heard = console.parse(status or "")
    _check_failed(who, heard, text)
    if not heard.ready:
        return None, f"{who}: user data at work; its console's last lines:\n{console.tail(text)}"
    return made, ""


def _check_failed(who: str, heard: console.Console, text: str) -> None:
    if heard.failed is not None:
        raise TargetError(
            f"{who}: user data failed: {heard.failed}; its console's last lines:\n"
            f"{console.tail(text)}"
        )


def output(client: Any, instance: str) -> str:
    """An instance's console: live on types with Nitro, else as last posted.

    Raises:
        AwsError: EC2 refuses both.
    """
    try:
        answer = call(client, "get_console_output", InstanceId=instance, Latest=True)
    except AwsError as error:
        if error.code == "InvalidInstanceID.NotFound":  # launched a moment ago
            return ""
        if error.code not in ("UnsupportedOperation", "InvalidParameterCombination"):
            raise
        answer = call(client, "get_console_output", InstanceId=instance)
    return str(answer.get("Output", ""))
