"""Options of sysbench: those that Benchlab sets itself, and those that a report type may choose.

The lists of options come from ``sysbench --help`` and ``sysbench <script> help`` of 1.0.20, and for
1.1 from its repository: the SB_OPT tables in src/*.c and src/drivers, and src/lua.

Example:
    ``"rand-zipfian-exp" in options_of("oltp_insert", "1.0.20")`` is False.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchlab.hosts.server_login import RESTRICTED_AUTH
from benchlab.plan.fields.client import RAND_TYPE, Client
from benchlab.workloads.client import Endpoint, Session, at_least


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SYSBENCH_SCRIPTS = _names(
    "oltp_common oltp_delete oltp_insert oltp_point_select oltp_read_only oltp_read_write"
    " oltp_update_index oltp_update_non_index oltp_write_only"
)
"""sysbench's own scripts, which have the options below and no others."""

SYSBENCH_1_0 = _names(
    """
    threads events time forced-shutdown thread-stack-size rate report-interval report-checkpoints
    debug validate help version config-file tx-rate max-requests max-time num-threads
    rand-type rand-spec-iter rand-spec-pct rand-spec-res rand-seed rand-pareto-h
    verbosity percentile histogram
    db-driver db-ps-mode db-debug
    mysql-host mysql-port mysql-socket mysql-user mysql-password mysql-db mysql-ssl
    mysql-ssl-cipher mysql-compression mysql-debug mysql-ignore-errors mysql-dry-run
    pgsql-host pgsql-port pgsql-user pgsql-password pgsql-db
    auto-inc create-secondary delete-inserts distinct-ranges index-updates mysql-storage-engine
    non-index-updates order-ranges pgsql-variant point-selects range-selects range-size secondary
    simple-ranges skip-trx sum-ranges table-size tables
    """
)

SYSBENCH_1_1 = SYSBENCH_1_0 | _names(
    """
    warmup-time thread-init-timeout luajit-cmd rand-zipfian-exp mysql-ssl-key mysql-ssl-ca
    mysql-ssl-cert mysql-compression-algorithms pgsql-sslmode create-table-options reconnect
    """
)

_OF_ONE_SCRIPT = {
    "select_random_points": _names("random-points"),
    "select_random_ranges": _names("number-of-ranges delta"),
}
"""Options of single scripts, in addition to the common ones."""

_RAND_TYPES = ("uniform", "gaussian", "special", "pareto")


def options_of(script: str, version: str | None) -> frozenset[str]:
    """The options of one of sysbench's scripts; ``version`` None: Debian's 1.0.20."""
    of_all = SYSBENCH_1_1 if _is_1_1(version) else SYSBENCH_1_0
    return of_all | _OF_ONE_SCRIPT.get(script, frozenset())


def rand_types_of(version: str | None) -> tuple[str, ...]:
    """The values of ``--rand-type`` (src/sb_rand.c)."""
    return (*_RAND_TYPES, "zipfian") if _is_1_1(version) else _RAND_TYPES


def _is_1_1(version: str | None) -> bool:
    return version is not None and version.startswith("1.1.")


# sysbench 1.0.20 crashes (SIGSEGV) when a server goes away while one of these is ignored.
_LOST_CONNECTION_ERRORS = frozenset({2006, 2013, 2055})

# sysbench reads a configuration line with fgets() into 256 bytes, and parses the rest of a longer
# line as another option.
_CONFIG_LINE_BYTES = 255


def config_file_text(endpoint: Endpoint) -> str:
    """The text of the option file, which holds only the password; empty without a password.

    The caller makes the file readable only by its owner. It has no comment, because sysbench takes
    any line with ``=`` for an option.

    Example:
        For the password ``s3cret`` it is ``mysql-password="s3cret"`` and a line break.

    Raises:
        ValueError: sysbench could not read the password back: it knows two kinds of quotes but no
            escapes, and reads a bare value up to a space or comma. The password is not quoted.
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

    Raises:
        ValueError: ``config_path`` is empty.
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
    """The host or, with TLS, a connection string of MariaDB's client library.

    sysbench 1.0.20's own ``--mysql-ssl`` takes files of fixed names from its working directory,
    among them a client's certificate, and never verifies the server's name. Debian's sysbench is
    linked with MariaDB Connector/C, which reads a host with ``=`` in it as ``key=value;...``.
    """
    if (tls := endpoint.tls) is None:
        return endpoint.host
    verified = "1" if tls.ca else "0"
    options = {"host": endpoint.host, "ssl-enforce": "1", "ssl-verify-server-cert": verified}
    if tls.ca:
        options["ssl-ca"] = str(tls.ca)
    words = [f"{name}={value}" for name, value in options.items()]
    # Without a certificate to verify, the library falls back to no TLS despite `ssl-enforce`.
    return ";".join(words if tls.ca else [*words, RESTRICTED_AUTH])


def measured(seconds: int, client: Client, ignore_errors: Sequence[int]) -> list[str]:
    """The last options of a run: its duration, what it prints, which errors it ignores.

    Args:
        ignore_errors: the server's errors after which a thread continues; replaces sysbench's list.

    Raises:
        ValueError: one of them is not an error number, or means a lost connection.

    Example:
        ``measured(60, Client(), (1213,))`` begins with ``["--mysql-ignore-errors=1213",
        "--time=60", ...]``.
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
        "--histogram=on",
        "run",
    ]


def at_rate(session: Session) -> list[str]:
    """``["--rate=480"]`` where transactions are sent at a rate; else nothing."""
    return [] if session.rate is None else [f"--rate={session.rate}"]


def chosen(client: Client, script: str | None) -> list[str]:
    """The distribution, and the report type's options as far as the script has them.

    Args:
        script: one of sysbench's own; None: the user's, which may have any option.

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
