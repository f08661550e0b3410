"""Options of sysbench 1.0.20, whichever script it runs: where it connects, what it survives."""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.plan.report_type import Client
from benchlab.workloads.client import Endpoint, at_least

# sysbench 1.0.20 crashes (SIGSEGV) when a server goes away while one of these is ignored.
_LOST_CONNECTION_ERRORS = frozenset({2006, 2013, 2055})

# sysbench reads a configuration line with fgets() into 256 bytes; the rest of a longer line is
# taken for another option.
_CONFIG_LINE_BYTES = 255


def config_file_text(endpoint: Endpoint) -> str:
    """The text of the file for ``config_path``: the password and nothing else.

    The caller writes it readable by its owner only. sysbench's reader knows quotes but no
    escapes, cuts an unquoted value at a comma or a blank, and takes any line with ``=`` for an
    option, a comment too; so there is no comment in the file.

    Raises ValueError, without quoting the password, if sysbench could not read it back.
    """
    password = endpoint.password
    if not password:
        return ""
    if any(char in password for char in "\n\r\0"):
        raise ValueError("password: sysbench cannot read one with a line break or a NUL in it")
    for quote in ("'", '"'):
        if quote not in password:
            line = f"mysql-password={quote}{password}{quote}\n"
            break
    else:
        # Both quotes occur: only an unquoted value can carry them.
        if password[0] in "'\"#" or any(char == "," or char.isspace() for char in password):
            raise ValueError(
                "password: sysbench cannot read one that has both kinds of quotes and also a "
                "comma or a blank, or begins with a quote or '#'"
            )
        line = f"mysql-password={password}\n"
    if len(line.encode()) > _CONFIG_LINE_BYTES:
        raise ValueError(
            f"password: longer than sysbench can read (its line has {len(line.encode())} bytes, "
            f"at most {_CONFIG_LINE_BYTES} are read)"
        )
    return line


def connection(endpoint: Endpoint, config_path: str) -> list[str]:
    """Where to connect; the password is in the file of :func:`config_file_text`.

    Raises ValueError if there is no such file.
    """
    if not config_path:
        raise ValueError("config_path: empty; sysbench would connect without a password")
    return [
        f"--config-file={config_path}",
        "--db-driver=mysql",
        f"--mysql-host={endpoint.host}",
        f"--mysql-port={endpoint.port}",
        f"--mysql-user={endpoint.user}",
        f"--mysql-db={endpoint.database}",
    ]


def measured(seconds: int, client: Client, ignore_errors: Sequence[int]) -> list[str]:
    """The end of a command that runs: for how long, what it prints, what it survives.

    A thread goes on after the server's ``ignore_errors``; sysbench replaces its own list by these.

    Raises ValueError if one is no error number, or a lost connection.
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
