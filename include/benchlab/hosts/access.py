"""Credentials for everything beyond this machine: AWS, SSH, and existing database servers.

The core gets clients and keys from an :class:`Access`; its caller decides where they come from: on
the command line the environment and files, under Airflow its Connections.

Example:
    ``Access().aws("ec2", "us-west-2")`` is a boto3 client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchlab.bounded import read_text
from benchlab.errors import SpecError, TargetError, meaning_of
from benchlab.hosts import server_login, ssh_login
from benchlab.hosts.server_login import ServerLogin
from benchlab.hosts.ssh_login import SshLogin

# A boto3 client for a service ("ec2") in a region.
Clients = Callable[[str, str], Any]
FEW_RETRIES = {"mode": "standard", "max_attempts": 2}


def aws_credentials() -> str | None:
    """Where boto3 finds AWS credentials, in its own word such as ``env``; None if nowhere.

    Asks no AWS service except an instance's own metadata, so they may be expired or wrong.

    Raises:
        TargetError: the settings are wrong, such as a missing profile or a malformed file.
    """
    with _named_faults():
        import boto3

        found = boto3.Session().get_credentials()
    return None if found is None else str(found.method)


def _aws_from_environment(service: str, region: str) -> Any:
    # Adaptive: throttled calls are retried ever more slowly.
    return _client(service, region, retries={"mode": "adaptive", "max_attempts": 10})


def _aws_for_a_person(service: str, region: str) -> Any:
    return _client(service, region, connect_timeout=5, read_timeout=30, retries=FEW_RETRIES)


def _client(service: str, region: str, **config: Any) -> Any:
    with _named_faults():
        import boto3
        from botocore.config import Config

        return boto3.client(service, region_name=region, config=Config(**config))


@contextmanager
def _named_faults() -> Iterator[None]:
    """Raise faults of the credentials' profile or program as a TargetError."""
    from botocore.exceptions import BotoCoreError, ProfileNotFound

    try:
        yield
    except ProfileNotFound as error:
        name = error.kwargs.get("profile")
        raise TargetError(
            f"AWS credentials: there is no profile {name!r} in AWS's configuration files; name "
            "another one in AWS_PROFILE, or `aws configure --profile` makes it"
        ) from error
    except (BotoCoreError, OSError, ValueError) as error:  # the last two: a profile's program
        raise TargetError(f"AWS settings: {meaning_of(error)}") from error


def _ssh_key_from_file(name: str) -> str:
    if os.environ.get(server_login.variable_of(name)):
        return _ssh_from_environment(name).key
    path = Path(os.environ.get("BENCHLAB_SSH_KEY") or Path.home() / ".ssh" / "id_ed25519")
    try:
        return read_text(path)
    except SpecError as error:
        raise TargetError(
            f"the private SSH key for {name}: {error}; name it in BENCHLAB_SSH_KEY"
        ) from error


def _server_from_environment(connection: str) -> ServerLogin:
    if not (text := os.environ.get(server_login.variable_of(connection))):
        raise server_login.missing(connection)
    return server_login.from_text(connection, text)


def _ssh_from_environment(connection: str) -> SshLogin:
    if not (text := os.environ.get(server_login.variable_of(connection))):
        raise ssh_login.missing(connection)
    return ssh_login.from_text(connection, text)


@dataclass(frozen=True)
class Access:
    """Where AWS clients and logins come from.

    Attributes:
        aws: makes a boto3 client for a service in a region.
        ssh_key: returns the text of the private key for a topology's hosts, from the topology's
            ``ssh`` name; it is never logged and never part of a command line. TargetError if it
            cannot be read.
        ssh, server: return the login of a host or of a database server, from the name of its
            Connection. TargetError if there is none, or it is not valid.
    """

    aws: Clients = _aws_from_environment
    ssh_key: Callable[[str], str] = _ssh_key_from_file
    ssh: Callable[[str], SshLogin] = _ssh_from_environment
    server: Callable[[str], ServerLogin] = _server_from_environment

    @classmethod
    def for_a_person(cls) -> Access:
        """The command line's access, but with short timeouts: a person waits for AWS's answer."""
        return cls(aws=_aws_for_a_person)
