"""How to log in to a borrowed host: address, account, private key, host key.

The login is an Airflow Connection of type ``ssh``, with the extra fields of Airflow's SSH provider.
The command line reads it, as a URI or JSON, from the environment variable that Airflow also reads:
``AIRFLOW_CONN_<ID>``.

Example:
    ``from_text("loader", "ssh://bench@10.0.0.7?key_file=keys/mine&host_key=ssh-ed25519 AAAA")``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchlab.bounded import read_text
from benchlab.errors import SpecError, TargetError
from benchlab.hosts import server_login

PORT = 22


@dataclass(frozen=True)
class SshLogin:
    """A host's address, the account to log in to, and the keys of both ends.

    Attributes:
        connection: the name of the Connection, for messages.
        key: the text of the private key.
        host_key: the host's public key, such as ``ssh-ed25519 AAAA...``; never learned from the
            first connection.
    """

    connection: str
    host: str
    port: int
    user: str
    key: str = field(repr=False)
    host_key: str


def missing(connection: str) -> TargetError:
    """The error for a missing Connection; it says how to create one."""
    return TargetError(
        f"connection {connection}: there is none; make it, of type ssh, with host, login and the "
        "extra fields `private_key` (or `key_file`) and `host_key`; on the command line set "
        f"{server_login.variable_of(connection)}, as a URI or JSON"
    )


def from_text(connection: str, text: str) -> SshLogin:
    """Parse the login of a Connection, a URI or JSON. No message quotes it.

    Raises:
        TargetError: names the field that is missing or not valid.
    """
    found, extra = server_login.fields_of(connection, text)
    refuse_other_type(connection, found.get("conn_type"))
    return login(connection, found.get("host"), found.get("port"), found.get("login"), extra)


def refuse_other_type(connection: str, conn_type: str | None) -> None:
    """Refuse a Connection that is not of type ``ssh``."""
    if conn_type != "ssh":
        raise server_login.fault(
            connection, f"its type is {conn_type or 'missing'}; hosts are reached over SSH"
        )


def login(
    connection: str,
    host: str | None,
    port: int | str | None,
    user: str | None,
    extra: Mapping[str, Any],
) -> SshLogin:
    """The login that the fields of a Connection describe.

    Raises:
        TargetError: names the field that is missing or not valid.
    """
    server_login.refuse_incomplete(connection, host, port, user)
    host_key = " ".join(str(extra.get("host_key") or "").split()[:2])
    if " " not in host_key:
        raise server_login.fault(
            connection,
            "extra.host_key: missing, or without its type; a host's key is never learned: print it "
            f"with `ssh-keyscan -t ed25519 {host}`, compare it with what the host itself says "
            "(`cat /etc/ssh/ssh_host_ed25519_key.pub`), and write it as `ssh-ed25519 AAAA...`",
        )
    key = key_of(connection, extra)
    return SshLogin(connection, str(host), int(port or PORT), str(user), key, host_key)


def key_of(connection: str, extra: Mapping[str, Any]) -> str:
    """The text of the private key that a Connection's extra fields contain, or name a file of.

    Raises:
        TargetError: there is none, or its file cannot be read.
    """
    if key := extra.get("private_key"):
        return str(key)
    if not (file := extra.get("key_file")):
        raise server_login.fault(
            connection,
            "has neither `private_key` nor `key_file` among its extra fields; hosts are reached "
            "with a key, not with a password",
        )
    try:
        return read_text(Path(str(file)))
    except SpecError as error:
        raise server_login.fault(connection, f"its key_file {error}") from error
