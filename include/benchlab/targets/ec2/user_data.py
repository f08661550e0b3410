"""The script that cloud-init runs at an instance's first boot, as root."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from benchlab.errors import TargetError
from benchlab.language import templates

# For data and snapshots: on all blank local NVMe disks if the instance type has any, else on the
# root volume.
DATA = Path("/data")
# The longest user data that EC2 accepts, before base64.
LIMIT_BYTES = 16_384


def render(
    *,
    campaign: str,
    name: str,
    user: str,
    lifetime: timedelta,
    packages: Iterable[str] = (),
) -> str:
    """The script for one host.

    Args:
        user: the login that the data directory belongs to.
        lifetime: then the host shuts itself down, which terminates it.
        packages: Debian packages to install.

    Raises:
        TargetError: the lifetime is below a minute, or the script is longer than EC2 accepts.
    """
    minutes = int(lifetime.total_seconds() // 60)
    if minutes < 1:
        raise TargetError(f"a host's lifetime must be at least a minute, found {lifetime}")
    here = templates.environment(
        "benchlab.targets.ec2", autoescape=False, keep_trailing_newline=True
    )
    here.filters["quote"] = _quote
    script = here.get_template("user_data.sh.j2").render(
        campaign=campaign,
        name=name,
        user=user,
        lifetime_minutes=minutes,
        packages=sorted(set(packages)),
        data=DATA,
    )
    if (size := len(script.encode())) > LIMIT_BYTES:
        raise TargetError(f"user data of {name}: {size} bytes, EC2 takes {LIMIT_BYTES}")
    return script


def _quote(value: object) -> str:
    """One word for the shell; always quoted, lest ShellCheck read `user=admin` as a command."""
    quoted = shlex.quote(str(value))
    return quoted if quoted.startswith("'") else f"'{quoted}'"
