"""Examines an AWS account before a fleet is rented in it; starts nothing.

A campaign's preflight refuses what cannot work; this says more, for the person who sets it up.
Permissions are checked by IAM's policy simulation; docs/iam-policy.json grants all those needed.
The resources of each call follow AWS's Service Authorization Reference, "Actions, resources, and
condition keys for Amazon EC2".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2 import installer, preflight, reach
from benchlab.targets.ec2.calls import DENIED, AwsError, Caller, call
from benchlab.targets.ec2.preflight import Finding
from benchlab.targets.ec2.tags import PROJECT, PROJECT_NAME


def examine(home: Home, access: Access, topology: Ec2Topology) -> Iterator[Finding]:
    """Ask about credentials, image, subnets, types, quotas, network, permissions and TiUP.

    Example:
        ``any(found.good is False for found in examine(home, access, topology))``
    """
    yield installer.look(home, topology)
    try:
        caller = preflight.accepted(access, topology.region)
    except TargetError as error:  # AWS would say the same to every other question
        yield Finding("credentials", False, str(error))
        return
    yield Finding("credentials", True, f"{caller.arn} in account {caller.account}")
    if caller.clock is not None:
        yield Finding("clock", None, caller.clock)
    yield from preflight.look_everywhere(access, topology)
    for place in topology.places():
        found = preflight.findings_or_fault("network", partial(reach.look, access, place))
        found += preflight.findings_or_fault("policy", partial(_permitted, access, place, caller))
        yield from preflight.in_region(place, topology, found)


def _permitted(access: Access, topology: Ec2Topology, caller: Caller) -> list[Finding]:
    return [look(access, topology, caller)]


LAUNCH = "ec2:RunInstances"
# Read-only, on no resource in particular.
LOOKS = (
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeKeyPairs",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVolumes",
    "servicequotas:GetServiceQuota",
)
# For `benchlab prices update` only, which no campaign needs; not simulated.
PRICES = "pricing:GetProducts"
# The kinds of resource that each call must be allowed on.
ASKED = {
    "ec2:AuthorizeSecurityGroupIngress": ("security-group",),
    "ec2:CreateSecurityGroup": ("security-group", "vpc"),
    "ec2:CreateTags": ("instance", "key-pair", "network-interface", "security-group", "volume"),
    "ec2:DeleteKeyPair": ("key-pair",),
    "ec2:DeleteSecurityGroup": ("security-group",),
    "ec2:DeleteVolume": ("volume",),
    "ec2:GetConsoleOutput": ("instance",),
    "ec2:ImportKeyPair": ("key-pair",),
    "ec2:RevokeSecurityGroupIngress": ("security-group",),
    LAUNCH: (
        *("image", "instance", "key-pair", "network-interface", "security-group", "subnet"),
        "volume",
    ),
    "ec2:TerminateInstances": ("instance",),
    "iam:PassRole": ("role",),
    "ssm:GetParameter": ("parameter",),
}
# The role of an instance profile that the policy lets Benchlab pass on, and a campaign's key pair.
NAMES = {"role": "benchlab-hosts", "key-pair": "benchlab-campaign"}


def look(access: Access, topology: Ec2Topology, caller: Caller) -> Finding:
    """Simulate every action that renting by a topology needs; nothing is done.

    Raises:
        AwsError: IAM cannot be asked, for another reason than a missing permission.
    """
    who = principal(caller.arn)
    if who is None:
        why = f"IAM cannot simulate what {caller.arn} may do; use those of an IAM user or role"
        return Finding("policy", None, f"permissions not checked: {why}")
    client = access.aws("iam", topology.region)
    who = _with_path(client, who)
    try:
        denied = sorted(_denied(client, who, topology, caller))
    except AwsError as error:
        if error.code not in DENIED and error.code != "NoSuchEntity":
            raise
        why = f"that needs iam:SimulatePrincipalPolicy on {who}, and iam:GetRole if it is a role"
        return Finding("policy", None, f"permissions not checked: {why}; AWS says: {error.said}")
    if denied:
        missing = "; ".join(denied)
        fix = "docs/iam-policy.json has what it needs; write your region and instance types into it"
        return Finding("policy", False, f"{who} lacks {missing}. {fix}")
    return Finding("policy", True, f"{who} may do all that a campaign does")


def principal(arn: str) -> str | None:
    """The user or role whose policies IAM simulates; None for root, which has none.

    Example:
        ``principal("arn:aws:sts::123456789012:assumed-role/bench/me")`` is
        ``"arn:aws:iam::123456789012:role/bench"``.
    """
    _, partition, _, _, account, name = arn.split(":", 5)
    kind, _, rest = name.partition("/")
    if kind == "assumed-role":
        return f"arn:{partition}:iam::{account}:role/{rest.rpartition('/')[0]}"
    return arn if kind in ("user", "role") else None


def _with_path(client: Any, who: str) -> str:
    """A role's ARN with its path, which a session's ARN lacks; unchanged if IAM refuses."""
    if ":role/" not in who:
        return who
    try:
        return str(call(client, "get_role", RoleName=who.rpartition("/")[2])["Role"]["Arn"])
    except AwsError:  # the simulation finds the role if it has no path, and refuses otherwise
        return who


def _denied(client: Any, who: str, topology: Ec2Topology, caller: Caller) -> Iterator[str]:
    for actions, resources, instance_type in _questions(topology, caller):
        question: dict[str, Any] = {
            "PolicySourceArn": who,
            "ActionNames": list(actions),
            "ResourceArns": list(resources),
            "ContextEntries": _context(topology, caller, instance_type),
        }
        while True:
            answer = call(client, "simulate_principal_policy", **question)
            for evaluated in answer["EvaluationResults"]:
                if evaluated["EvalDecision"] != "allowed":
                    yield _told(evaluated, instance_type)
            if not answer.get("IsTruncated"):
                break
            question["Marker"] = answer["Marker"]


def _told(evaluated: dict[str, Any], instance_type: str) -> str:
    """A denied action, on what, and who denies it unless a permission is merely missing."""
    action, on = evaluated["EvalActionName"], evaluated.get("EvalResourceName", "*")
    told = f"{action} on {on}" if on != "*" else f"{action}"
    if action == LAUNCH and ":instance/" in on:
        told += f" as {instance_type}"
    if evaluated["EvalDecision"] == "explicitDeny":
        told += " (a policy denies it)"
    if evaluated.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations") is False:
        told += " (the organization does not allow it)"
    return told


def _questions(
    topology: Ec2Topology, caller: Caller
) -> Iterator[tuple[Sequence[str], Sequence[str], str]]:
    """Actions, the resources that each must be allowed on, and an instance type."""
    types = sorted({kind for machines in topology.roles.values() for kind in machines.types})
    yield LOOKS, ["*"], types[0]
    for action, kinds in ASKED.items():
        if action == "iam:PassRole" and topology.instance_profile is None:
            continue
        if action == "ssm:GetParameter" and topology.image.ssm_parameter is None:
            continue
        yield [action], [_resource(kind, topology, caller) for kind in kinds], types[0]
    for other in types[1:]:
        yield [LAUNCH], [_resource("instance", topology, caller)], other


def _resource(kind: str, topology: Ec2Topology, caller: Caller) -> str:
    partition = caller.arn.split(":")[1]
    if kind == "role":
        return f"arn:{partition}:iam::{caller.account}:role/{NAMES[kind]}"
    if kind == "parameter":
        return f"arn:{partition}:ssm:{topology.region}::parameter{topology.image.ssm_parameter}"
    owner = "" if kind == "image" else caller.account
    name = NAMES.get(kind, f"{kind}-of-a-campaign")
    if kind == "subnet" and topology.subnets:
        name = topology.subnets[0]
    return f"arn:{partition}:ec2:{topology.region}:{owner}:{kind}/{name}"


def _context(topology: Ec2Topology, caller: Caller, instance_type: str) -> list[dict[str, Any]]:
    """The values that the policy's conditions check, as in a campaign's calls."""
    partition, region = caller.arn.split(":")[1], topology.region
    values = {
        "aws:RequestedRegion": region,
        f"aws:RequestTag/{PROJECT}": PROJECT_NAME,
        f"aws:ResourceTag/{PROJECT}": PROJECT_NAME,
        "ec2:CreateAction": "RunInstances",
        "ec2:InstanceType": instance_type,
        "iam:PassedToService": "ec2.amazonaws.com",
        "iam:AssociatedResourceArn": f"arn:{partition}:ec2:{region}:{caller.account}:instance/one",
    }
    return [
        {"ContextKeyName": name, "ContextKeyType": "string", "ContextKeyValues": [value]}
        for name, value in values.items()
    ]
