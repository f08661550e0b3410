"""How to log in to a database server that Benchlab did not start: address, account, TLS.

The login is an Airflow Connection. The command line reads it, as a URI or JSON, from the
environment variable that Airflow also reads: ``AIRFLOW_CONN_<ID>``. TLS is set in the extra fields
of Airflow's MySQL provider: ``ssl_mode`` and ``ssl``.

Example:
    ``from_text("my_tidb", "mysql://bench:secret@db.example.com:4000").port`` is 4000.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from benchlab.errors import TargetError
from benchlab.hosts.answers import from_json

PORT = 3306
DISABLED, REQUIRED, VERIFIED = "DISABLED", "REQUIRED", "VERIFY_IDENTITY"
# A client reads only 4 KB of a line in its option file, and takes the rest for another option.
_LONGEST = 1000
# These separate a client's options; sysbench cannot be given a value that contains one.
_SEPARATORS = frozenset(",;={}\"'\n\r\0")


# Authentication that never sends the password over an unencrypted connection, unlike
# `mysql_clear_password`. Within TLS the last two may send it, and unless the certificate is
# verified, an impostor with its own certificate gets it.
RESTRICTED_AUTH = (
    "restricted-auth=mysql_native_password,client_ed25519,caching_sha2_password,sha256_password"
)


@dataclass(frozen=True)
class Tls:
    """An encrypted connection.

    Attributes:
        ca: PEM file of the authority that must have signed the server's certificate, which must
            also carry the server's name; None if the certificate is not verified.
    """

    ca: Path | None = None


@dataclass(frozen=True)
class ServerLogin:
    """A database server's address, and the account to log in to.

    Attributes:
        connection: the name of the Connection; messages and reports show it, never the address.
        tls: None if the connection is not encrypted.
    """

    connection: str
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    tls: Tls | None = None


def variable_of(connection: str) -> str:
    """The environment variable of a Connection: ``AIRFLOW_CONN_MY_TIDB`` of ``my_tidb``."""
    return f"AIRFLOW_CONN_{connection.upper()}"


def missing(connection: str) -> TargetError:
    """The error for a missing Connection; it says how to create one."""
    return TargetError(
        f"connection {connection}: there is none. On the command line set {variable_of(connection)}"
        "=mysql://USER:PASSWORD@HOST:PORT (special characters percent-encoded), in Airflow make a "
        "Connection of that name, of type mysql"
    )


def from_text(connection: str, text: str) -> ServerLogin:
    """Parse the login of a Connection, a URI or JSON. No message quotes it.

    Raises:
        TargetError: names the field that is missing or not valid.
    """
    found, extra = fields_of(connection, text)
    return login(
        connection,
        found.get("host"),
        found.get("port"),
        found.get("login"),
        found.get("password"),
        extra,
    )


def fields_of(connection: str, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse the fields of a Connection, a URI or JSON, and its extra fields.

    Example:
        ``fields_of("my_tidb", "mysql://bench:pw@db?ssl_mode=REQUIRED")[1]`` is
        ``{"ssl_mode": "REQUIRED"}``.

    Raises:
        TargetError: it is neither.
    """
    try:
        found = from_json(text) if text.lstrip().startswith("{") else _from_uri(text)
    except ValueError as error:
        raise fault(connection, f"{variable_of(connection)} is neither a URI nor JSON") from error
    extra = found.get("extra") or {}
    try:
        return found, from_json(extra) if isinstance(extra, str) else dict(extra)
    except ValueError as error:
        raise fault(connection, "extra: not JSON") from error


def refuse_incomplete(
    connection: str, host: str | None, port: int | str | None, user: str | None
) -> None:
    """Refuse a Connection without a valid host or login, or with an invalid port.

    Raises:
        TargetError: names the field.
    """
    for name, value in (("host", host), ("login", user)):
        if not value:
            raise fault(connection, f"{name}: missing")
        _refuse_no_line(connection, name, value)
    if port and not (str(port).isdecimal() and len(str(port)) < 6 and 0 < int(port) < 65536):
        raise fault(connection, "port: not a number from 1 to 65535")


def login(
    connection: str,
    host: str | None,
    port: int | str | None,
    user: str | None,
    password: str | None,
    extra: Mapping[str, Any],
) -> ServerLogin:
    """The login that the fields of a Connection describe.

    Raises:
        TargetError: names the field that is missing or not valid.
    """
    refuse_incomplete(connection, host, port, user)
    _refuse_no_line(connection, "password", password or "")
    if any(character in _SEPARATORS or character.isspace() for character in str(host)):
        raise fault(connection, "host: not a host name or an address")
    # For `localhost` MySQL's clients use a socket file, whatever the port.
    address = "127.0.0.1" if host == "localhost" else str(host)
    tls = _tls(connection, extra)
    return ServerLogin(connection, address, int(port or PORT), str(user), password or "", tls)


def option(name: str, value: str) -> str:
    """A line of an option file of MariaDB's clients: ``option("user", "a#b")`` is ``user="a#b"``.

    Raises:
        ValueError: the value has a control character; the message does not quote the value.
    """
    if _has_control_character(value):
        raise ValueError(f"{name}: a control character cannot be written into an option file")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}="{escaped}"'


def _has_control_character(value: str) -> bool:
    return any(unicodedata.category(character) == "Cc" for character in value)


def _refuse_no_line(connection: str, name: str, value: str) -> None:
    """Refuse a value that does not fit into one line of an option file."""
    if _has_control_character(value):
        raise fault(connection, f"{name}: has a line break or another control character")
    if len(value) > _LONGEST:
        raise fault(connection, f"{name}: is longer than {_LONGEST:,} characters")


def _tls(connection: str, extra: Mapping[str, Any]) -> Tls | None:
    files = extra.get("ssl") or {}
    try:
        files = from_json(files) if isinstance(files, str) else dict(files)
    except ValueError as error:
        raise fault(connection, 'extra.ssl: write {"ca": "/path/to/ca.pem"}') from error
    if others := [name for name in ("cert", "key") if files.get(name)]:
        raise fault(
            connection,
            f"extra.ssl.{others[0]}: sysbench cannot log in with a client's certificate; use an "
            "account with a password",
        )
    ca = files.get("ca")
    mode = str(extra.get("ssl_mode") or (VERIFIED if ca else DISABLED)).upper()
    if mode not in (DISABLED, REQUIRED, VERIFIED):
        raise fault(
            connection,
            f"extra.ssl_mode: {mode}: it must say whether the connection is encrypted and "
            f"verified; write {DISABLED}, {REQUIRED} or {VERIFIED}",
        )
    if mode == VERIFIED and not ca:
        raise fault(
            connection,
            f"extra.ssl.ca: missing; {VERIFIED} needs the file of the certificate authority, "
            "which may be the system's, /etc/ssl/certs/ca-certificates.crt",
        )
    if mode == VERIFIED and not Path(str(ca)).is_file():
        raise fault(connection, f"extra.ssl.ca: there is no file {ca} on this machine")
    if mode == VERIFIED and _SEPARATORS & set(str(ca)):
        raise fault(connection, f"extra.ssl.ca: {ca}: sysbench cannot take a path with , ; or =")
    if mode == DISABLED:
        return None
    return Tls(Path(str(ca)).resolve() if mode == VERIFIED else None)


def _from_uri(text: str) -> dict[str, Any]:
    """Parse a URI as Airflow does: percent-encoded fields, the extra fields in its query."""
    parts = urlsplit(text)
    if not parts.scheme or not parts.netloc:
        raise ValueError("no scheme or no host")
    # By hand, because errors of the standard library's `port` quote the text.
    account, at, address = parts.netloc.rpartition("@")
    user, _, password = account.partition(":")
    host, colon, port = address.rpartition(":")
    if not colon or "]" in port:
        host, port = address, ""
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return {
        "conn_type": parts.scheme,
        "host": unquote(host).strip("[]"),
        "port": port,
        "login": unquote(user) if at else "",
        "password": unquote(password),
        "extra": query.get("__extra__") or query,
    }


def fault(connection: str, what: str) -> TargetError:
    """The error that says what is wrong with a Connection."""
    return TargetError(f"connection {connection}: {what}")
