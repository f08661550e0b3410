"""An existing server or cluster: Benchlab logs in and measures it, and leaves it alone otherwise.

It is never stopped, started, configured or restarted, and only one schema is touched: the campaign
makes it and marks it with a table of its own. A schema of that name without the mark is somebody
else's and is refused. There is no snapshot: a restore drops the tables and loads them again.

Example:
    ``CLASSES["tidb"](executor, instance, fill).check()`` raises an error if the server cannot be
    measured, and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path

from benchlab.engines import mariadb, tidb
from benchlab.engines.database import BackgroundJobs, Database, Deployed, is_version
from benchlab.engines.tidb.tidb import TiDB
from benchlab.errors import CommandError, TargetError
from benchlab.home import ID
from benchlab.hosts.executor import Executor
from benchlab.hosts.server_login import RESTRICTED_AUTH, ServerLogin, option
from benchlab.results.records import SideFacts

#: The table that marks a schema as a campaign's own.
MARK = "benchlab_campaign"
ASK_LIMIT_S = 30.0
# What loading, measuring and clearing away need, as GRANT writes it.
RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX")

_PRODUCTS = ("TiDB", "MariaDB")
# What a server is, as far as it says so: its number, and what its maker or packager appends.
_NUMBER = re.compile(r"(?:5\.5\.5-)?(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)[0-9A-Za-z.-]*)?)")
_TIDB_NUMBER = re.compile(r"v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+?)??)(?:-dirty|-log)*")
_WORD_OF_MYSQL = re.compile(
    "advanced|alpha|azure|beta|cloud|cluster|commercial|community|deb|debian|debug|dmr|el"
    "|enterprise|fc|ga|gpl|google|innovation|log|lts|m|ndb|percona|r|rc|rds|rel|server|standard|u"
    "|ubuntu|valgrind|wsrep",
    re.IGNORECASE,
)
# The comments of databases that call themselves MySQL and a number; some have only a number here.
_COMMENT_OF_OTHERS = re.compile(
    r"\d|.*(?:doris|dolt|memsql|oceanbase|polardb|proxysql|singlestore|starrocks|vitess)",
    re.IGNORECASE,
)
_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?:TABLE )?(?P<schema>\S+)\.\* TO (?P<to>\S+)", re.I)
# MySQL's exceptions from a right on all schemas (`partial_revokes`).
_REVOKE = re.compile(r"REVOKE (?P<rights>.+?) ON (?P<schema>\S+)\.\* FROM ", re.IGNORECASE)
_GRANT_OF_ROLE = re.compile(r"GRANT (?!.* ON ).+ TO ", re.IGNORECASE)
# Error numbers of the server and of MariaDB's client library, with what they mean.
_MEANINGS = {
    1007: "somebody else has just created the schema",
    1044: "the account may not use the schema",
    1045: "the server refuses the account or its password, or wants an encrypted connection "
    "(extra.ssl_mode)",
    1130: "the server accepts no account from this machine",
    1290: "the server is read-only",
    1524: "the account logs in by a plugin that the server has not loaded",
    1698: "the server refuses the account: it logs in without a password, on its own machine only",
    1820: "the account's password has expired",
    1836: "the server is read-only",
    1862: "the account's password has expired",
    2002: "nothing answers at its host and port",
    2003: "nothing answers at its host and port",
    2005: "its host name does not resolve",
    2013: "the connection was lost",
    2061: "the account logs in by caching_sha2_password or sha256_password, and this server takes "
    "such a password over an encrypted connection only: set extra.ssl_mode to VERIFY_IDENTITY "
    "(REQUIRED does not keep it from an impostor with a certificate of its own)",
    3118: "the account is locked",
    3159: "the server wants an encrypted connection: set extra.ssl_mode",
    4151: "the account is locked",
    5010: "the account logs in by sending its password, which this server gets only where its "
    "certificate is verified: set extra.ssl_mode to VERIFY_IDENTITY",
}
_DENIED, _TLS_ERROR, _UNENCRYPTED = 1045, 2026, 2061
# With these the server says no before it has done anything; the client library's are 2000 to 2999.
_REFUSALS = frozenset(number for number in _MEANINGS if not 2000 <= number < 3000) | {_UNENCRYPTED}
# Too many connections, a shutdown, a statement that was ended.
_IN_DISTRESS = frozenset((0, 1040, 1053, 1203, 1226, 1317))
# Its number is 1045, 2013 or 2059, as if the password were wrong or the connection lost.
_NO_PLUGIN = re.compile(r"[Pp]lugin '?(\w+)'? (?:could not|cannot) be loaded")
_NO_TLS = "the server offers no encrypted connection"
_TLS_MEANINGS = (
    ("Validation of SSL server certificate", "the server's certificate is of another host name"),
    ("does not support", _NO_TLS),
    ("certificate|issuer|self.signed", "the server's certificate is not signed by extra.ssl.ca"),
)


class NotYetError(TargetError):
    """A server does not answer, or with an error that may pass; it may have run the statement."""


class DeniedError(TargetError):
    """The server refuses the account or its password."""


@dataclass(frozen=True, kw_only=True)
class GivenInstance(Deployed):
    """One side's server.

    Attributes:
        version: as :func:`version_of` read it when the campaign was planned.
        campaign, home: whose schema it is; the home by its mark, because another home may have a
            campaign of the same id.
        login: how it is reached; has ``host``, ``port`` and ``password`` as well.
    """

    campaign: str
    home: str
    login: ServerLogin


class Given(Database):
    """One side's server, which somebody else runs.

    Args:
        executor: the client's host.
        instance: how it is reached, and what is expected there.
        fill: runs the client that loads the dataset.
    """

    def __init__(
        self, executor: Executor, instance: GivenInstance, fill: Callable[[], None]
    ) -> None:
        self.executor: Executor = executor
        self.instance: GivenInstance = instance
        self._fill = fill

    # Before anything is written

    def check(self) -> None:
        """Check that it can be measured by this account; nothing is written on the server.

        Raises:
            TargetError: it does not answer, offers no TLS though that is wanted, is of another
                version, has a schema of that name that is not the campaign's, or the account lacks
                a right; says which.
        """
        self._write_login()
        # Behind one address may be several servers.
        plain = self._ask("SHOW STATUS LIKE 'Ssl_cipher'") == [["Ssl_cipher", ""]]
        if plain and self.instance.login.tls is not None:
            raise TargetError(f"{self._name()}: {_NO_TLS}")
        if misfits := self.misfits():
            raise TargetError("\n".join(f"{self._name()}: {misfit}" for misfit in misfits))
        grants = self._grants()  # where none are shown, the rights are not known
        if grants and (missing := _missing_rights(grants, self.instance.database)):
            database, rights = self.instance.database, ", ".join(missing)
            (account,) = self.row("SELECT CURRENT_USER()")
            user, _, host = account.rpartition("@")
            of_roles = "; rights of a role count if it is one of the account's default roles"
            raise TargetError(
                f"{self._name()}: the account {account} lacks {rights} on the schema {database}: "
                f"GRANT {rights} ON {database}.* TO '{user}'@'{host}'"
                + of_roles
                * any(_GRANT_OF_ROLE.match(grant) for grant in grants)
            )
        self._refuse_foreign()

    def _grants(self) -> list[str]:
        """The lines of SHOW GRANTS for the account; empty if the server shows none.

        Asked without a name, the server includes the roles that are active after a login, as in a
        trial. TiDB v2 answers only with a name.
        """
        if rows := self._answers("SHOW GRANTS"):
            return [row[0] for row in rows]
        (account,) = self.row("SELECT CURRENT_USER()")
        user, _, host = account.rpartition("@")
        return [row[0] for row in self._answers(f"SHOW GRANTS FOR '{user}'@'{host}'")]

    def reported(self) -> str:
        """What the server calls itself; see :func:`version_of`. Raises as :meth:`check`."""
        self._write_login()
        try:
            return self.version()
        except CommandError as error:
            raise self._refused(error) from error

    def version(self) -> str:
        """What the server calls itself; a TiDB that hides its release gets it appended.

        TiDB's item ``server-version`` may hide it: ``8.0.11`` becomes ``8.0.11-TiDB-v7.5.0`` here.

        Raises:
            TargetError: it is another database with MySQL's protocol.
        """
        # Not verbatim `SELECT VERSION()`: ProxySQL answers that itself from 3.0.4 on.
        (called,) = self.row("SELECT VERSION() AS version", timeout_s=ASK_LIMIT_S)
        if release := re.search(r"Release Version: ([^\s\\]+)", self._said("tidb_version()")):
            is_said = f"TiDB-{release[1]}" in called
            return called if is_said else f"{called}-TiDB-{release[1]}"
        try:
            product = product_of(called)
        except TargetError as error:
            raise TargetError(f"{self._name()}: {error}") from error
        comment = self._said("@@version_comment") if product == "MySQL" else ""
        if _COMMENT_OF_OTHERS.match(comment):
            raise TargetError(f"{self._name()}: {_none_of_them(f'{called} ({comment})')}")
        return called

    def _said(self, what: str) -> str:
        """What the server answers to `SELECT what`; "" if it refuses that."""
        return "\n".join(cell for row in self._answers(f"SELECT {what}") for cell in row)

    def _answers(self, statement: str) -> list[list[str]]:
        """The rows that the server answers; none if it refuses the statement."""
        try:
            return self.sql(statement, timeout_s=ASK_LIMIT_S)
        except CommandError as error:
            if _is_no_answer(_number(error.output)):
                raise
            return []

    def _write_login(self) -> None:
        self._refuse_plain()
        self.executor.put(self.client_config, self._client_options(), private=True)

    def _refuse_plain(self) -> None:
        """Refuse a server without TLS before it is told a password.

        MariaDB's client library goes on without TLS if it does not verify the certificate. So it is
        made to verify it once, as user ``nobody``: without TLS that ends before the login.
        """
        login = self.instance.login
        if login.tls is None or login.tls.ca is not None:
            return
        options = [f"--host={login.host}", f"--port={login.port}", "--user=nobody", "--ssl"]
        asked = self.executor.run(
            ["mariadb", "--no-defaults", "--protocol=tcp", *options, "--ssl-verify-server-cert"],
            timeout_s=ASK_LIMIT_S,
            check=False,
        )
        if refusal(asked.stderr) == _NO_TLS:
            raise TargetError(f"{self._name()}: {_NO_TLS}")

    def _ask(self, statement: str) -> list[list[str]]:
        """Run SQL; raises TargetError if the server cannot be reached or refuses."""
        try:
            return self.sql(statement, timeout_s=ASK_LIMIT_S)
        except CommandError as error:
            raise self._refused(error) from error

    def _refused(self, error: CommandError) -> TargetError:
        return _kind_of(error)(f"{self._name()}: {refusal(error.output)}")

    # The schema

    def create_database(self) -> None:
        """Make the schema with the mark; if the campaign's own exists, drop its tables."""
        self._refuse_foreign()
        if self._tables() is None:
            self._make()
        if self._marked_by() is None:
            table = f"{self.instance.database}.{MARK}"
            self._ask(
                f"CREATE TABLE IF NOT EXISTS {table} (campaign VARCHAR(170) PRIMARY KEY);"
                f"INSERT INTO {table} VALUES ('{self._mark}')"
            )
            self._forget_making()
        self._empty()

    def remove(self) -> bool:
        """Drop the schema if it is the campaign's own, and return whether it was; repeatable.

        Raises:
            TargetError: the server does not answer, or refuses.
        """
        if self._marked_by() != self._mark and not self._is_half_made():
            return False
        self._ask(f"DROP DATABASE {self.instance.database}")
        self._forget_making()
        return True

    def _make(self) -> None:
        """Make the schema; until it has the mark, a note says that an empty one is the campaign's.

        Without the note, a schema left by an interruption would look like somebody else's.
        """
        self.executor.put(self._making, "")
        try:
            self._ask(f"CREATE DATABASE {self.instance.database}")
        except NotYetError:  # it may have been made, and the answer lost
            raise
        except TargetError:  # perhaps because somebody else has just made it
            self._forget_making()
            raise

    @property
    def _making(self) -> Path:
        return self.instance.directory / "making-schema"

    def _forget_making(self) -> None:
        self.executor.run(["rm", "-f", str(self._making)])

    def _is_half_made(self) -> bool:
        """Whether the campaign was interrupted after it had made the schema and before the mark."""
        noted = self.executor.run(["test", "-e", str(self._making)], check=False).exit_code == 0
        return noted and self._is_empty()

    def _is_empty(self) -> bool:
        """Whether the schema exists with nothing in it but, at most, an empty table for the mark.

        Routines and events are not tables, but are somebody's work as well.
        """
        tables, database = self._tables(), self.instance.database
        if tables is None or self._data() or self._marked_by() is not None:
            return False
        others = (("routines", "routine_schema"), ("events", "event_schema"))
        counts = (
            f"(SELECT COUNT(*) FROM information_schema.{table} WHERE {column} = '{database}')"
            for table, column in others
        )
        return self._ask(f"SELECT {' + '.join(counts)}") == [["0"]]

    def _refuse_foreign(self) -> None:
        if self._tables() is None or (owner := self._marked_by()) == self._mark:
            return
        database = self.instance.database
        if owner is None:
            if self._is_half_made():
                return
            what = "rename it, or measure another server"
            if self._is_empty():
                what = f"it is empty: if nobody needs it, DROP DATABASE {database}"
            raise TargetError(
                f"{self._name()}: the schema {database} exists and was not created by Benchlab; "
                f"nothing in it was touched: {what}"
            )
        if (mark := re.fullmatch(rf"({ID})/(baseline|candidate)/([0-9a-f]{{8}})", owner)) is None:
            raise TargetError(
                f"{self._name()}: the table {MARK} of the schema {database} has a mark that is not "
                "Benchlab's; nothing in it was touched: rename it, or measure another server"
            )
        campaign, side, home = mark.groups()
        other = home != self.instance.home
        where = f"in the home whose file `mark` says {home}, " * other
        raise TargetError(
            f"{self._name()}: the schema {database} is the {side}'s of campaign {campaign}"
            f"{' of another home' * other}: to drop it, run `benchlab give-back {campaign}` "
            f"{where}unless that campaign is still at work"
        )

    @property
    def _mark(self) -> str:
        # With the side: both sides may be one server, by mistake.
        return f"{self.instance.campaign}/{self.instance.side}/{self.instance.home}"

    def _marked_by(self) -> str | None:
        """The mark that the schema has; None: it has none, or there is no schema."""
        if MARK not in (self._tables() or ()):
            return None
        rows = self._ask(f"SELECT campaign FROM {self.instance.database}.{MARK}")
        return rows[0][0] if rows else None

    def _tables(self) -> list[str] | None:
        """The tables and views of the schema; None: there is no such schema."""
        database = self.instance.database
        where = f"FROM information_schema.schemata WHERE schema_name = '{database}'"
        if self._ask(f"SELECT COUNT(*) {where}") == [["0"]]:
            return None
        return [row[0] for row in self._ask(f"SHOW TABLES FROM {database}")]

    def _data(self) -> list[str]:
        return [table for table in self._tables() or () if table != MARK]

    def _empty(self) -> None:
        for table in self._data():
            self.sql(f"DROP TABLE {self.instance.database}.{table}")

    # What a campaign asks of every database

    def deploy(self) -> None:
        self.check()
        self.create_database()

    def start(self) -> None:
        """Wait until it answers: it may be down for a moment, and nobody here may start it."""
        self.wait_until_ready()

    def stop(self) -> None:
        """Do nothing: the server is not the campaign's to stop."""

    def running(self) -> bool:
        try:
            self.sql("SELECT 1", timeout_s=ASK_LIMIT_S)
        except CommandError:
            return False
        return True

    def gone(self, error: CommandError) -> str | None:
        """See :class:`Database`; a refusal is final, for example of a wrong password."""
        return refusal(error.output) if _is_final(error.output) else None

    def backup(self) -> None:
        """Do nothing: no snapshot can be taken of it."""

    def restore(self) -> None:
        """Drop the tables, load them again, and analyze them."""
        self.start()
        self.create_database()
        self._fill()
        self.analyze(self._data())

    def checksum(self, tables: Sequence[str]) -> str:
        """Row counts alone, since every restore loads other values: ``sbtest1:1000:0``."""
        return " ".join(f"{name}:{rows}:0" for name, rows in self.row_counts(tables).items())

    def misfits(self) -> list[str]:
        """One sentence if the server is not of the version that was planned; else none.

        A server that reports no version is taken to have the planned one.
        """
        planned, reported = self.instance.version, self.version()
        if is_version(planned, reported) or _version_in(reported) is None:
            return []
        return [f"the server is version {reported} now; the plan is of version {planned}"]

    def _wrong_versions(self) -> float | None:
        """See :class:`Database`; None if the server reports no version."""
        return super()._wrong_versions() if _version_in(self.version()) else None

    def limits(self) -> str | None:
        """As ``Database.caveat``, but by what the server reports."""
        return self.caveat

    def log_tail(self) -> str:
        return "(not read: the server is not the campaign's)"

    def _client_options(self) -> str:
        login = self.instance.login
        host, lines = login.host, ["skip-ssl"]
        if login.tls is not None and login.tls.ca is None:
            # As a connection string, which has what the client has no option for.
            host = f"host={host};{RESTRICTED_AUTH}"
            lines = ["ssl", "skip-ssl-verify-server-cert"]
        elif login.tls is not None:
            lines = [option("ssl-ca", str(login.tls.ca)), "ssl-verify-server-cert"]
        fields = {"host": host, "user": login.user, "password": login.password}
        lines = [*starmap(option, fields.items()), *lines]
        return "\n".join(["[client]", "default-character-set=utf8mb4", *lines, ""])

    def _name(self) -> str:
        return f"{self.instance.side} (connection {self.instance.login.connection})"


class GivenServer(Given):
    """MariaDB or MySQL."""

    name = mariadb.Engine.name
    title = mariadb.Engine.title
    retryable_errors = mariadb.Engine.retryable_errors

    def git_hash(self) -> str | None:
        """See :class:`Database`; as MariaDB reports it from 10.6 on."""
        rows = self.sql("SHOW GLOBAL VARIABLES LIKE 'version_source_revision'")
        return rows[0][1] if rows and len(rows[0]) > 1 else None


class GivenTiDB(Given, TiDB):
    """TiDB, as far as it can be asked by SQL; its hosts are out of reach."""

    counts = ()
    queries = None
    idle_s = 0.0

    def limits(self) -> str | None:
        """See :class:`Given`; figures from embedded storage have a caveat."""
        try:
            rows = self.sql("SELECT JSON_EXTRACT(@@tidb_config, '$.store')")
        except CommandError:  # hidden from accounts in security-enhanced mode
            return None
        return tidb.Engine.caveat if rows == [['"unistore"']] else None

    def facts(self) -> SideFacts:
        """See :class:`Database`; with configuration items if the account has CONFIG."""
        found = super().facts()
        return replace(found, variables=found.variables | self._items())

    def background_jobs(self) -> BackgroundJobs | None:
        """See :class:`TiDB`; None without a right on every schema, such as PROCESS.

        Without one, TiDB's history of DDL jobs lacks the jobs in schemas on which the account has
        no right (``appendJobToChunk`` in TiDB's ``executor``). Dynamic privileges, whose names have
        an underscore (BACKUP_ADMIN), do not count there.
        """
        granted = _grants(self._grants())
        everywhere = {right for rights, on, _ in granted if on == "*" for right in rights}
        sees_all = any(right != "USAGE" and "_" not in right for right in everywhere)
        return super().background_jobs() if sees_all else None

    def _items(self) -> dict[str, str]:
        """The configuration items of all components, by ``component.item``.

        If the servers of a component differ in an item, all its values are listed.
        """
        try:
            rows = self.sql("SHOW CONFIG")
        except CommandError:
            return {}
        values: dict[str, set[str]] = {}
        for component, _, name, value in (row for row in rows if len(row) == 4):
            values.setdefault(f"{component}.{name}", set()).add(value)
        return {name: " | ".join(sorted(found)) for name, found in values.items()}


CLASSES: dict[str, type[Given]] = {GivenServer.name: GivenServer, GivenTiDB.name: GivenTiDB}
"""For each engine whose existing servers can be measured, their class."""


def version_of(reported: str) -> str:
    """The version in what a server calls itself.

    A suffix of TiDB's is part of it: ``v7.1.3-serverless`` is another product than v7.1.3.

    Example:
        ``version_of("5.7.25-TiDB-v6.5.0")`` is ``"v6.5.0"``.

    Raises:
        TargetError: there is no version in it, or it is none of the known products.
    """
    if (version := _version_in(reported)) is not None:
        return version
    raise TargetError(
        f"the server calls itself {reported!r}, which has no version in it: write the version that "
        "it is in place of `running`"
    )


def _version_in(reported: str) -> str | None:
    """See :func:`version_of`; None if there is no version in it."""
    if product_of(reported) == "TiDB":
        of_tidb = _TIDB_NUMBER.fullmatch(reported.rpartition("TiDB-")[2])
        return f"v{of_tidb[1]}" if of_tidb else None
    found = _NUMBER.match(reported)
    return found[1] if found else None


def product_of(reported: str) -> str:
    """The product behind what a server calls itself: ``TiDB``, ``MariaDB`` or ``MySQL``.

    Raises:
        TargetError: it is another database with MySQL's protocol.
    """
    if named := next((product for product in _PRODUCTS if product in reported), None):
        return named
    words = re.findall("[A-Za-z]+", reported)
    if _NUMBER.match(reported) and all(map(_WORD_OF_MYSQL.fullmatch, words)):
        return "MySQL"
    raise TargetError(_none_of_them(reported))


def engine_of(reported: str) -> str:
    """The engine that measures a server: ``tidb``, or ``mariadb`` for MariaDB and MySQL.

    Raises as :func:`product_of`.
    """
    return TiDB.name if product_of(reported) == "TiDB" else mariadb.Engine.name


def _none_of_them(called: str) -> str:
    return (
        f"the server calls itself {called!r}: that is none of TiDB, MariaDB and MySQL, which can "
        "be measured"
    )


def _kind_of(error: CommandError) -> type[TargetError]:
    number, lacks_plugin = _number(error.output), _NO_PLUGIN.search(error.output)
    if number == _DENIED and not lacks_plugin:
        return DeniedError
    return TargetError if _is_final(error.output) or number == _TLS_ERROR else NotYetError


def _is_final(printed: str) -> bool:
    """Whether a login fails in the same way however often it is tried."""
    return _number(printed) in _REFUSALS or _NO_PLUGIN.search(printed) is not None


def refusal(printed: str) -> str:
    """Why a client could not log in, in plain words, from what it printed.

    Example:
        ``refusal("ERROR 3118 (HY000): ...")`` is ``"the account is locked"``.
    """
    number = _number(printed)
    if lacking := _NO_PLUGIN.search(printed):
        return (
            f"the account logs in by {lacking[1]}, and MariaDB's client library on the client's "
            "host has no such plugin: let the account log in by mysql_native_password, or by "
            "caching_sha2_password over an encrypted connection"
        )
    if number == _TLS_ERROR:
        for pattern, meaning in _TLS_MEANINGS:
            if re.search(pattern, printed, re.IGNORECASE):
                return meaning
        return "no encrypted connection could be made"
    known = _MEANINGS.get(number)
    if known:
        return known
    return f"the server answers with error {number}" if number else "it does not answer"


def _is_no_answer(number: int) -> bool:
    """Whether an error number is 0, the client library's, or of a server or cluster in distress."""
    return number in _IN_DISTRESS or 2000 <= number < 3000 or number >= 8000


def _number(printed: str) -> int:
    """The number of the error in what a client printed; 0: there is none, it got no answer."""
    found = re.search(r"\bERROR (\d+)|\berror (\d+)", printed)
    return int(found[1] or found[2]) if found else 0


def _missing_rights(grants: Sequence[str], database: str) -> list[str]:
    """Those of :data:`RIGHTS` that no line of SHOW GRANTS gives on a schema."""
    granted = set[str]()
    by_pattern = dict[str, set[str]]()
    exactly = dict[str, set[str]]()
    for rights, schema, to in _grants(grants):
        if schema == "*":
            granted |= rights
        elif schema == database:
            exactly.setdefault(to, set()).update(rights)
        elif _covers(schema, database):
            by_pattern.setdefault(to, set()).update(rights)
    for revoked in filter(None, map(_REVOKE.match, grants)):
        if _name_in(revoked) == database:
            granted -= _rights_in(revoked)
    # For each account or role, a grant on the schema's own name overrides grants by pattern.
    granted = granted.union(*{**by_pattern, **exactly}.values())
    if granted & {"ALL", "ALL PRIVILEGES"}:
        return []
    return [right for right in RIGHTS if right not in granted]


def _grants(lines: Sequence[str]) -> Iterator[tuple[set[str], str, str]]:
    """Split lines of SHOW GRANTS into rights, their schemas (``*`` for all) and who has them.

    Rights on a single table are left out.
    """
    for found in filter(None, map(_GRANT.match, lines)):
        yield _rights_in(found), _name_in(found), found["to"]


def _rights_in(found: re.Match[str]) -> set[str]:
    return {right.strip().upper() for right in found["rights"].split(",")}


def _name_in(found: re.Match[str]) -> str:
    return found["schema"].strip("`\"'")


def _covers(pattern: str, schema: str) -> bool:
    """Whether the pattern of schemas in a GRANT, with wildcards ``%`` and ``_``, matches one."""
    signs = re.findall(r"\\[_%]|.", pattern)
    wild = {"%": ".*", "_": "."}
    as_regex = "".join(wild.get(sign) or re.escape(sign.removeprefix("\\")) for sign in signs)
    return re.fullmatch(as_regex, schema, re.IGNORECASE) is not None
