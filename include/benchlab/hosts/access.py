"""Credentials for what is not this machine: AWS and SSH.

The core gets clients and keys from an :class:`Access`; the caller chooses where they come from. On
the command line that is the environment and files, under Airflow its Connections.

Example:
    ``Access().aws("ec2", "us-west-2")`` is a boto3 client.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchlab.errors import TargetError

# A boto3 client for a service ("ec2") in a region.
Clients = Callable[[str, str], Any]


def aws_credentials() -> str | None:
    """Where boto3 finds AWS credentials on the command line, in its own words; None: nowhere.

    Asks no AWS service except an instance's own metadata, so they may be expired or wrong.

    Raises:
        TargetError: they are named wrongly: a missing profile, a malformed file.
    """
    import boto3
    from botocore.exceptions import BotoCoreError

    try:
        found = boto3.Session().get_credentials()
    except (BotoCoreError, OSError, ValueError) as error:  # the last two: a profile's program
        raise TargetError(f"AWS credentials: {error}") from error
    return None if found is None else str(found.method)


def _aws_from_environment(service: str, region: str) -> Any:
    import boto3
    from botocore.config import Config

    # Adaptive: throttled calls are tried again, more and more slowly.
    retries = Config(retries={"mode": "adaptive", "max_attempts": 10})
    return boto3.client(service, region_name=region, config=retries)


def _ssh_key_from_file(name: str) -> str:
    path = Path(os.environ.get("BENCHLAB_SSH_KEY") or Path.home() / ".ssh" / "id_ed25519")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TargetError(
            f"{path}: the private SSH key for {name} cannot be read: {error.strerror}; name it in "
            "BENCHLAB_SSH_KEY"
        ) from error


@dataclass(frozen=True)
class Access:
    """Where AWS clients and SSH keys come from.

    Attributes:
        aws: makes a boto3 client for a service in a region.
        ssh_key: the text of the private key for a topology's hosts, by the topology's ``ssh``
            name; it is never logged and never part of a command line. TargetError where it cannot
            be read.
    """

    aws: Clients = _aws_from_environment
    ssh_key: Callable[[str], str] = _ssh_key_from_file
