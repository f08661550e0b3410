"""Options of sysbench: those that Benchlab sets itself, and those that a report type may choose."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchlab.plan.fields.client import RAND_TYPE, Client
from benchlab.workloads.client import Endpoint, Session, at_least
from benchlab.workloads.sysbench_names import options_of

# sysbench 1.0.20 crashes (SIGSEGV) when a server goes away while one of these is ignored.
_LOST_CONNECTION_ERRORS = frozenset({2006, 2013, 2055})

# sysbench reads a configuration line with fgets() into 256 bytes, and takes the rest of a longer
# line for another option.
_CONFIG_LINE_BYTES = 255


def config_file_text(endpoint: Endpoint) -> str:
    """The text of the option file, which has only the password; empty if there is none.

    The caller makes it readable only by its owner. It has no comment, because sysbench takes any
    line with ``=`` for an option.

    Raises ValueError, without quoting the password, if sysbench could not read it back: it knows
    two kinds of quotes but no escapes, and takes a bare value up to a space or comma.
    """
    password = endpoint.password
    if not password:
        return ""
    quote = next((mark for mark in ('"', "'") if mark not in password), "")
    line = f"mysql-password={quote}{password}{quote}\n"
    unreadable = "[\n\r\0]" if quote else r"[\s,\0]|^['\"#]"
    if re.search(unreadable, password) or len(line.encode()) > _CONFIG_LINE_BYTES:
        raise ValueError(
            "password: sysbench cannot read one with a line break or a NUL in it, nor one with "
            "both kinds of quotes that also has a space or a comma or begins with a quote or #, "
            f"nor one whose line is longer than {_CONFIG_LINE_BYTES} bytes"
        )
    return line


def connection(session: Session) -> list[str]:
    """Options that say where to connect; the file at ``config_path`` has the password.

    Raises ValueError if ``config_path`` is empty.
    """
    if not session.config_path:
        raise ValueError("config_path: empty; sysbench would connect without a password")
    endpoint = session.endpoint
    return [
        f"--config-file={session.config_path}",
        "--db-driver=mysql",
        f"--mysql-host={_host(endpoint)}",
        f"--mysql-port={endpoint.port}",
        f"--mysql-user={endpoint.user}",
        f"--mysql-db={endpoint.database}",
    ]


def _host(endpoint: Endpoint) -> str:
    """The host or, where TLS is asked for, a connection string of MariaDB's client library.

    sysbench 1.0.20's own ``--mysql-ssl`` takes files of fixed names from its working directory,
    among them a client's certificate, and never verifies the server's name. Debian's is linked with
    MariaDB Connector/C, which reads a host with ``=`` in it as ``key=value;...``.
    """
    if (tls := endpoint.tls) is None:
        return endpoint.host
    verified = "1" if tls.ca else "0"
    options = {"host": endpoint.host, "ssl-enforce": "1", "ssl-verify-server-cert": verified}
    if tls.ca:
        options["ssl-ca"] = str(tls.ca)
    return ";".join(f"{name}={value}" for name, value in options.items())


def measured(seconds: int, client: Client, ignore_errors: Sequence[int]) -> list[str]:
    """The last options of a run: how long it takes, what it prints, which errors it ignores.

    A thread continues after the server's ``ignore_errors``, which replace sysbench's own list.

    Raises ValueError if one is not an error number, or is a lost connection.
    """
    for number in ignore_errors:
        at_least("ignore_errors", number, 1)
        if number in _LOST_CONNECTION_ERRORS:
            raise ValueError(
                f"ignore_errors: {number} is a lost connection; sysbench 1.0.20 crashes instead "
                "of reconnecting when it is ignored"
            )
    return [
        f"--mysql-ignore-errors={','.join(map(str, ignore_errors))}",
        f"--time={seconds}",
        f"--report-interval={client.report_interval}",
        "--percentile=95",
        "--histogram=off",
        "run",
    ]


def chosen(client: Client, script: str | None) -> list[str]:
    """The distribution, and those of the report type's options that a script has.

    Args:
        script: one of sysbench's own; None: one of the user's, which may have any.

    Example:
        ``chosen(Client(rand_type="special"), "oltp_insert")`` is ``["--rand-type=special"]``.
    """
    known = client.options.keys() if script is None else options_of(script, client.version)
    return [
        f"--rand-type={client.rand_type or RAND_TYPE}",
        *(f"--{name}={_written(value)}" for name, value in client.options.items() if name in known),
    ]


def _written(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
