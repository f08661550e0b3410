"""The script that cloud-init runs at an instance's first boot, as root."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
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
    ends_at: datetime,
    packages: Iterable[str] = (),
) -> str:
    """The script for one host.

    Args:
        user: the login that the data directory belongs to.
        lifetime: how long after its boot the host shuts itself down, which terminates it.
        ends_at: when it does so at the latest, by its own clock.
        packages: Debian packages to install.

    Raises:
        TargetError: the lifetime is below a minute, or the script is longer than EC2 accepts.
    """
    if lifetime < timedelta(minutes=1):
        raise TargetError(f"a host's lifetime must be at least a minute, found {lifetime}")
    here = templates.environment(
        "benchlab.targets.ec2", autoescape=False, keep_trailing_newline=True
    )
    here.filters["quote"] = _quote
    script = here.get_template("user_data.sh.j2").render(
        campaign=campaign,
        name=name,
        user=user,
        lifetime_minutes=math.ceil(lifetime / timedelta(minutes=1)),
        ends_at=ends_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        packages=sorted(set(packages)),
        data=DATA,
    )
    if (size := len(script.encode())) > LIMIT_BYTES:
        raise TargetError(f"user data of {name}: {size} bytes, EC2 takes {LIMIT_BYTES}")
    return script


def _quote(value: object) -> str:
    """One word for the shell; always quoted, or ShellCheck takes `user=admin` for a command."""
    quoted = shlex.quote(str(value))
    return quoted if quoted.startswith("'") else f"'{quoted}'"
