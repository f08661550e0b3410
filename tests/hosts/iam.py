"""Whether a policy of IAM allows a call: only what our policy uses of the language.

What a call asks about, and the condition keys there are for it, follow AWS's Service Authorization
Reference, "Actions, resources, and condition keys for Amazon EC2".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchlab.targets.ec2.account import ASKED as ASKED

ROOT = Path(__file__).parents[2]
ACCOUNT = "123456789012"
# What is only asked about the caller's own permissions; IAM is in no region.
SIMULATES = frozenset({"iam:GetRole", "iam:SimulatePrincipalPolicy"})
IDS = {"key-pair": "benchlab-c1-0123abcd-4567cdef", "role": "benchlab-hosts"}


def statements() -> list[dict[str, Any]]:
    """Those of docs/iam-policy.json."""
    loaded = json.loads((ROOT / "docs/iam-policy.json").read_text())
    found: list[dict[str, Any]] = loaded["Statement"]
    return found


def arn(kind: str, region: str) -> str:
    """A resource of ours."""
    if kind == "role":
        return f"arn:aws:iam::{ACCOUNT}:role/{IDS[kind]}"
    if kind == "parameter":
        return f"arn:aws:ssm:{region}::parameter/aws/service/debian/release/12/latest/amd64"
    owner = "" if kind == "image" else ACCOUNT
    return f"arn:aws:ec2:{region}:{owner}:{kind}/{IDS.get(kind, 'one')}"


def allows(action: str, resource: str, context: Mapping[str, str]) -> bool:
    """Whether a statement allows it; a condition on a key that is not there does not hold."""
    return any(
        statement["Effect"] == "Allow"
        and action in statement["Action"]
        and any(fnmatchcase(resource, pattern) for pattern in statement["Resource"])
        and all(
            _holds(operator, context.get(key), wanted)
            for operator, keys in statement.get("Condition", {}).items()
            for key, wanted in keys.items()
        )
        for statement in statements()
    )


def _holds(operator: str, value: str | None, wanted: str | list[str]) -> bool:
    assert operator in ("StringEquals", "ArnLike"), operator
    listed = [wanted] if isinstance(wanted, str) else wanted
    if operator == "StringEquals":
        return value in listed
    return value is not None and any(fnmatchcase(value, pattern) for pattern in listed)
